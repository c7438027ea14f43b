"""A function's signature, type hints and docstring, as what a model must give to call it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from types import UnionType
from typing import Annotated, Any, Final, Union, cast, final, get_args, get_origin, get_type_hints

import msgspec
from attrs import frozen

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.tool._emitter import ToolEmitter

__all__ = ["Parameter", "Signature", "describe", "is_pydantic", "read_signature", "schema_of"]

_INJECTED: Final[tuple[type, ...]] = (RuntimeContext, ToolEmitter)
_REF: Final = "#/$defs/"


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
                _annotated_description(hint) or descriptions.get(p.name, ""),
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
        schema, defs = _schema_of_type(parameter, tool)
        inlined = _inline(schema, defs, (), kept := set[str]())
        if parameter.description:
            inlined["description"] = parameter.description
        if not parameter.required and "default" not in inlined and parameter.default is not None:
            inlined["default"] = parameter.default
        properties[parameter.name] = inlined
        while missing := kept - definitions.keys():
            for name in sorted(missing):
                definitions[name] = _inline(defs[name], defs, (name,), kept)
    required = [p.name for p in signature.arguments if p.required]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": signature.open,
        **({"$defs": definitions} if definitions else {}),
    }


def is_pydantic(hint: Any) -> bool:
    """Whether a type is, or holds, a model of pydantic's, which then checks it."""
    if isinstance(hint, type) and hasattr(hint, "__pydantic_validator__"):
        return True
    return any(is_pydantic(part) for part in get_args(hint))


def _schema_of_type(parameter: Parameter, tool: str) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        if is_pydantic(parameter.type):
            adapter = import_module("pydantic").TypeAdapter(parameter.type)
            schema = cast("dict[str, Any]", adapter.json_schema())
            return schema, schema.pop("$defs", {})
        (schema,), defs = msgspec.json.schema_components([parameter.type], ref_template=_REF + "{name}")
    except TypeError as error:
        raise ConfigurationError(
            f"parameter {parameter.name!r} of tool {tool!r} is of type {parameter.type!r}, which no JSON "
            "value can be read as: use str, int, float, bool, list, dict, Literal, an enum, a TypedDict, a "
            "dataclass, an attrs class or a pydantic model"
        ) from error
    return schema, defs


def _inline(schema: Any, defs: Mapping[str, Any], inside: tuple[str, ...], kept: set[str]) -> Any:
    """Put definitions in the place of references; `kept` gets the names of those that hold themselves."""
    if isinstance(schema, list):
        return [_inline(item, defs, inside, kept) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("dict[str, Any]", schema)
    reference = members.get("$ref")
    if not isinstance(reference, str):
        return _typed({key: _inline(item, defs, inside, kept) for key, item in members.items()})
    name = reference.removeprefix(_REF)
    if name in inside:
        kept.add(name)
        return dict(members)
    rest = {key: _inline(item, defs, inside, kept) for key, item in members.items() if key != "$ref"}
    return {**_inline(defs[name], defs, (*inside, name), kept), **rest}


def _typed(schema: dict[str, Any]) -> dict[str, Any]:
    """Name the type of an enumeration of strings or of integers: some providers ask for it."""
    values = schema.get("enum")
    if not isinstance(values, list) or "type" in schema:
        return schema
    kinds = {type(value) for value in cast("list[object]", values)}
    name = "string" if kinds == {str} else "integer" if kinds == {int} else None
    return schema if name is None else {"type": name, **schema}


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


def _annotated_description(hint: Any) -> str:
    """The text in `Annotated[str, "the city"]`, or of a `Doc` in it."""
    notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    for note in notes:
        text = note if isinstance(note, str) else getattr(note, "documentation", None)
        if isinstance(text, str):
            return inspect.cleandoc(text)
    return ""


def _injected(hint: Any) -> type | None:
    parts: Iterable[Any] = get_args(hint) if get_origin(hint) in (Union, UnionType, Annotated) else (hint,)
    return next((part for part in parts if part in _INJECTED), None)


def _as_json(default: Any) -> Any:
    try:
        return msgspec.to_builtins(default)
    except (TypeError, ValueError):
        return None
