"""A function's signature, type hints and docstring, as what a model must give to call it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import UnionType
from typing import Annotated, Any, Final, Union, final, get_args, get_origin, get_type_hints

import msgspec
from attrs import frozen

from agentscope_rx._typed_json import annotated_description, schema_of_type
from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.tool._emitter import ToolEmitter

__all__ = ["Parameter", "Signature", "describe", "read_signature", "schema_of"]

_INJECTED: Final[tuple[type, ...]] = (RuntimeContext, ToolEmitter)


@final
@frozen
class Parameter:
    """One parameter of a tool.

    Attributes:
        type: its type hint; `Annotated` stays.
        required: whether it has no default.
        description: for the model.
        default: as JSON; None if there is none, or JSON cannot hold it.
        injected: the type of what it gets from the call instead of from the model, or None.
    """

    name: str
    type: Any
    required: bool = True
    description: str = ""
    default: Any = None
    injected: type | None = None


@final
@frozen
class Signature:
    """What a tool can be called with.

    Attributes:
        open: whether it takes arguments that it does not name (`**kwargs`).
        method: whether it waits for the object that it is called on.
    """

    parameters: tuple[Parameter, ...] = ()
    open: bool = False
    method: bool = False

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        """The parameters that the model fills in."""
        return tuple(p for p in self.parameters if p.injected is None)


def read_signature(
    function: Callable[..., Any], *, local_names: Mapping[str, Any], descriptions: Mapping[str, str]
) -> Signature:
    """Read the parameters of a function.

    Errors: `ConfigurationError` names a parameter without a type hint, and a hint that cannot be resolved.
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
                None if required else _as_json(p.default),
                _injected(hint),
            )
        )
    return Signature(tuple(parameters), is_open, method)


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


def _schema_of_type(parameter: Parameter, tool: str) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        return schema_of_type(parameter.type)
    except TypeError as error:
        raise ConfigurationError(
            f"parameter {parameter.name!r} of tool {tool!r} is of type {parameter.type!r}, which no JSON "
            "value can be read as: use str, int, float, bool, list, dict, Literal, an enum, a TypedDict, a "
            "dataclass, an attrs class or a pydantic model"
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


def _injected(hint: Any) -> type | None:
    parts: Iterable[Any] = get_args(hint) if get_origin(hint) in (Union, UnionType, Annotated) else (hint,)
    return next((part for part in parts if part in _INJECTED), None)


def _as_json(default: Any) -> Any:
    try:
        return msgspec.to_builtins(default)
    except (TypeError, ValueError):
        return None
