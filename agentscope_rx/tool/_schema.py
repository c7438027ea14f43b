"""A function's signature, type hints and docstring, as what a model must give to call it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, final, get_type_hints

import msgspec
from attrs import frozen

from agentscope_rx._json_schema import check_schema
from agentscope_rx._typed_json import annotated_description, schema_of_type
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.tool._inject import UNSET, Injection, injection

__all__ = [
    "Parameter",
    "Signature",
    "as_json",
    "describe",
    "json_schema",
    "read_schema",
    "read_signature",
    "schema_of",
]


@final
@frozen
class Parameter:
    """One parameter of a tool.

    Attributes:
        type: its type hint; `Annotated` stays.
        required: whether it has no default.
        description: for the model.
        default: as JSON; None if there is none, or JSON cannot hold it.
        injected: what it gets from the call instead of from the model, or None.
        preset: what the application has fixed it to; `UNSET` if it has not.
    """

    name: str
    type: Any
    required: bool = True
    description: str = ""
    default: Any = None
    injected: Injection | None = None
    preset: Any = UNSET


@final
@frozen
class Signature:
    """What a tool can be called with.

    Attributes:
        open: whether it takes arguments that it does not name (`**kwargs`).
        method: whether it waits for the object that it is called on.
        schema: the JSON schema that the arguments are checked against, where there are no types to do it.
    """

    parameters: tuple[Parameter, ...] = ()
    open: bool = False
    method: bool = False
    schema: Mapping[str, Any] | None = None

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        """The parameters that the model fills in."""
        return tuple(p for p in self.parameters if p.injected is None and p.preset is UNSET)

    @property
    def judged(self) -> tuple[Parameter, ...]:
        """The parameters that are values: from the model, or fixed by the application."""
        return tuple(p for p in self.parameters if p.injected is None)


def read_signature(
    function: Callable[..., Any], *, local_names: Mapping[str, Any], descriptions: Mapping[str, str]
) -> Signature:
    """Read the parameters of a function.

    Errors: `ConfigurationError` names a parameter without a type hint, a hint that cannot be resolved, and
        one that neither the model nor the call can fill in.
    """
    name = _name(function)
    hints = _hints(function, local_names)
    found = list(inspect.signature(function).parameters.values())
    method = _is_method(function, found)
    parameters: list[Parameter] = []
    is_open = False
    for p in found[1:] if method else found:
        if p.kind is p.VAR_KEYWORD:
            is_open = True
            continue
        if p.kind in (p.VAR_POSITIONAL, p.POSITIONAL_ONLY):
            remedy = "make it a list" if p.kind is p.VAR_POSITIONAL else "remove the / behind it"
            raise ConfigurationError(
                f"parameter {p.name!r} of tool {name!r} cannot be given by name, as a model does: {remedy}"
            )
        if p.name not in hints:
            raise ConfigurationError(
                f"parameter {p.name!r} of tool {name!r} has no type hint: write one, as {p.name}: str"
            )
        hint = hints[p.name]
        required = p.default is p.empty
        parameters.append(
            Parameter(
                p.name,
                hint,
                required,
                annotated_description(hint) or descriptions.get(p.name, ""),
                None if required else as_json(p.default),
                injection(hint, p.name, name),
            )
        )
    return Signature(tuple(parameters), is_open, method)


def read_schema(schema: Mapping[str, Any]) -> Signature:
    """Read a JSON schema of an object that was written by hand.

    Errors: `ConfigurationError` if it is none.
    """
    check_schema(schema)
    properties: Mapping[str, Any] = schema.get("properties", {})
    required: Sequence[str] = schema.get("required", ())
    return Signature(
        tuple(Parameter(name, Any, name in required) for name in properties),
        schema.get("additionalProperties") is not False,
        schema=schema,
    )


def describe(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Read the docstring: what the function does, and what its parameters are (Google, NumPy, reST)."""
    doc = inspect.getdoc(function)
    if not doc:
        return "", {}
    import docstring_parser

    parsed = docstring_parser.parse(doc)
    text = "\n\n".join(part for part in (parsed.short_description, parsed.long_description) if part)
    return text, {p.arg_name: p.description for p in parsed.params if p.description}


def schema_of(signature: Signature, tool: str) -> dict[str, Any]:
    """Return the JSON schema of the object that the model gives: without references, unless a type recurs.

    Errors: `ConfigurationError` names a parameter whose type no JSON value fits.
    """
    definitions: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    for parameter in signature.arguments:
        schema, recurring = _schema_of_type(parameter, tool)
        if parameter.description:
            schema["description"] = parameter.description
        if not parameter.required and "default" not in schema and parameter.default is not None:
            schema["default"] = parameter.default
        properties[parameter.name] = schema
        definitions |= recurring
    required = [p.name for p in signature.arguments if p.required]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": signature.open,
        **({"$defs": definitions} if definitions else {}),
    }


def json_schema(hint: Any) -> dict[str, Any]:
    """Return the JSON schema of a type, as of a tool's parameter: `json_schema(list[Order])`.

    It stands in one piece; only of a class that holds itself there are `$defs`. Fields are described with
    `Annotated[str, "the city"]`.

    Errors: `ConfigurationError` if no JSON value can be read as the type.
    """
    try:
        schema, recurring = schema_of_type(hint)
    except (TypeError, NameError) as error:
        raise ConfigurationError(f"{hint!r} has no JSON schema: {error}") from error
    return {**schema, **({"$defs": recurring} if recurring else {})}


def _schema_of_type(parameter: Parameter, tool: str) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        return schema_of_type(parameter.type)
    except TypeError as error:
        raise ConfigurationError(
            f"parameter {parameter.name!r} of tool {tool!r} is of type {parameter.type!r}, which no JSON "
            "value can be read as: use str, int, float, bool, list, dict, Literal, an enum, a TypedDict, a "
            "dataclass, an attrs class or a pydantic model; or if the call is to fill it in, "
            "Annotated[…, Injected]"
        ) from error


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _hints(function: Callable[..., Any], local_names: Mapping[str, Any]) -> dict[str, Any]:
    while isinstance(function, partial):
        function = function.func
    hinted = function if inspect.isroutine(function) else type(function).__call__
    try:
        return get_type_hints(hinted, localns=dict(local_names), include_extras=True)
    except NameError as error:
        raise ConfigurationError(
            f"a type hint of tool {_name(function)!r} cannot be resolved: {error}. Define or import it "
            "before the tool, not only under TYPE_CHECKING"
        ) from error


def _is_method(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> bool:
    """Whether a function stands in a class body and waits for `self`."""
    owner = getattr(function, "__qualname__", "").rpartition(".")[0]
    in_class = inspect.isfunction(function) and owner != "" and not owner.endswith("<locals>")
    return in_class and bool(parameters) and parameters[0].annotation is inspect.Parameter.empty


def as_json(value: Any) -> Any:
    """Return a value as JSON; None if JSON cannot hold it."""
    try:
        return msgspec.to_builtins(value)
    except (TypeError, ValueError):
        return None
