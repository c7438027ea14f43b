"""Python types and JSON: the schema of a type, and JSON values read as one.

msgspec does it for dataclasses, attrs classes, TypedDicts, enums and the types of the standard library;
pydantic, which is not loaded before, for its own models.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from typing import (
    Annotated,
    Any,
    Final,
    NotRequired,
    Required,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from agentscope_rx._json import JSONError, loads, step

__all__ = ["MisfitError", "annotated_description", "is_pydantic", "json_as", "read_as", "schema_of_type"]

T = TypeVar("T")

_AT: Final = re.compile(r"^(?P<problem>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
_REF: Final = "#/$defs/"


class MisfitError(Exception):
    """A JSON value is none of a type; `problems` are pairs of a path, as `$.items[2].price`, and words."""

    def __init__(self, *problems: tuple[str, str]) -> None:
        super().__init__(*problems)
        self.problems = problems

    @property
    def path(self) -> str:
        """Where the first problem is."""
        return self.problems[0][0]

    @property
    def text(self) -> str:
        """All problems, each behind its path."""
        return "; ".join(f"{path}: {words}" for path, words in self.problems)


def read_as(hint: Any, value: Any, path: str = "$") -> Any:
    """Turn a JSON value into a value of a type.

    1. A value that fits is taken as it is.
    2. Else it is read generously where only one reading is possible: `"3"` and `3.0` for 3, `"true"` for
       true, `"null"` for null where null may be; the JSON text of an object or list for that.

    Args:
        hint: the type.
        value: what is read; it is not copied where it fits.
        path: where it stands.

    Errors: `MisfitError`; whatever a user's class raises when it is made.
    """
    return _or_its_text(lambda item: _convert(hint, item, path), value)


def json_as(hint: Any, value: Any, path: str = "$") -> Any:
    """Return a JSON value as `read_as` has read it: itself where it fits, else the one that it stands for.

    Errors: as `read_as`.
    """

    def fitting(item: Any) -> Any:
        made = _convert(hint, item, path)
        if is_pydantic(hint):  # its models may write other things than they read
            return item
        with suppress(msgspec.ValidationError):
            msgspec.convert(item, hint)
            return item
        return msgspec.to_builtins(made, str_keys=True)

    return _or_its_text(fitting, value)


def _or_its_text(read: Callable[[Any], T], value: Any) -> T:
    try:
        return read(value)
    except MisfitError:
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            with suppress(MisfitError, JSONError):
                return read(loads(value))
        raise


def _convert(hint: Any, value: Any, path: str) -> Any:
    return (_by_pydantic if is_pydantic(hint) else _by_msgspec)(hint, value, path)


def _by_msgspec(hint: Any, value: Any, path: str) -> Any:
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        with suppress(msgspec.ValidationError):
            return msgspec.convert(value, hint, strict=False)
        match = _AT.match(str(error))
        assert match is not None
        problem = match["problem"].replace("`", "")
        raise MisfitError((path + (match["path"] or ""), problem[:1].lower() + problem[1:])) from None


def _by_pydantic(hint: Any, value: Any, path: str) -> Any:
    pydantic = import_module("pydantic")
    try:
        return pydantic.TypeAdapter(hint).validate_python(value)
    except pydantic.ValidationError as error:
        problems = [(path + "".join(map(step, each["loc"])), each["msg"]) for each in error.errors()]
        raise MisfitError(*problems) from None


def is_pydantic(hint: Any) -> bool:
    """Whether a type is, or holds, a model of pydantic's, which then checks it."""
    if isinstance(hint, type) and hasattr(hint, "__pydantic_validator__"):
        return True
    return any(is_pydantic(part) for part in get_args(hint))


def schema_of_type(hint: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the JSON schema of a type, and the definitions that it refers to: those that hold themselves.

    Errors: `TypeError` if no JSON value can be read as the type, `NameError` if a class of it has a hint
        that cannot be resolved.
    """
    if is_pydantic(hint):
        schema = cast("dict[str, Any]", import_module("pydantic").TypeAdapter(hint).json_schema())
        defs: dict[str, Any] = schema.pop("$defs", {})
    else:
        try:
            (schema,), defs = msgspec.json.schema_components([hint], ref_template=_REF + "{name}")
        except NotImplementedError as error:  # an attrs class with a default that is made of the object
            raise TypeError(str(error)) from error
        except TypeError as error:  # what can be done about it in msgspec is no remedy here
            raise TypeError(str(error).splitlines()[-1]) from error
        _add_descriptions(hint, defs)
    inlined = _inline(schema, defs, (), kept := set[str]())
    definitions: dict[str, Any] = {}
    while missing := kept - definitions.keys():
        for name in sorted(missing):
            definitions[name] = _inline(defs[name], defs, (name,), kept)
    return inlined, definitions


def _add_descriptions(hint: Any, defs: Mapping[str, Any]) -> None:
    """Add what classes say of their fields with `Annotated[str, "the city"]`, which msgspec passes over."""
    for cls in _classes(hint, set()):
        properties = defs.get(cls.__name__, {}).get("properties", {})
        for name, field in _fields(cls).items():
            if name in properties and (text := annotated_description(field)):
                properties[name].setdefault("description", text)


def _classes(hint: Any, seen: set[type]) -> Iterator[type]:
    if isinstance(hint, type) and hint not in seen and get_origin(hint) is None:
        seen.add(hint)
        if fields := _fields(hint):
            yield hint
        for field in fields.values():
            yield from _classes(field, seen)
    for part in get_args(hint):
        yield from _classes(part, seen)


def _fields(cls: type) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True) if hasattr(cls, "__annotations__") else {}


def annotated_description(hint: Any) -> str:
    """Return the text in `Annotated[str, "the city"]`, or of a `Doc` in it; else the empty string."""
    if get_origin(hint) in (Required, NotRequired):
        (hint,) = get_args(hint)
    notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    for note in notes:
        text = note if isinstance(note, str) else getattr(note, "documentation", None)
        if isinstance(text, str):
            return inspect.cleandoc(text)
    return ""


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
