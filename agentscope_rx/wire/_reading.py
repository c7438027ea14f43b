"""Hooks that read an object part by part, and collections item by item.

cattrs' own generated functions stop at the first missing key, and take a null for the string `'None'`; these
hooks give what is missing or null its blank value, and say where something is wrong. They cost one frame per
level of nesting, so that all that the limits let through can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast, get_args, get_origin

from cattrs import Converter

from agentscope_rx._json import step
from agentscope_rx.errors import ConfigurationError, WireError
from agentscope_rx.event import AgentEventType
from agentscope_rx.wire._errors import at, under, unexpected
from agentscope_rx.wire._parts import parts_of, tag_of
from agentscope_rx.wire._scalars import an_object

__all__ = [
    "Hook",
    "build",
    "event_type",
    "mapping_hook",
    "parts_reader",
    "read_items",
    "sequence_hook",
    "value_hook",
]

Hook: TypeAlias = Callable[[Any, Any], Any]
"""Reads a JSON value as a type; cattrs' form."""

_NONE: Final[Mapping[str, Hook]] = MappingProxyType({})


def value_hook(cls: type, converter: Converter, hooks: Mapping[str, Hook] = _NONE) -> Hook:
    """Return the hook that reads one class; `hooks` replaces those of single attributes."""
    read, tag = parts_reader(cls, converter, hooks), tag_of(cls)

    def read_value(value: Any, _: Any) -> Any:
        if tag:
            at("type", _check_tag, an_object(value).get("type"), tag)
        return build(cls, read(value))

    return read_value


def parts_reader(
    cls: type, converter: Converter, hooks: Mapping[str, Hook] = _NONE
) -> Callable[[Any], dict[str, Any]]:
    """Return the function from an object to the arguments of a class."""
    plan = [
        (part, hooks.get(part.name) or converter.get_structure_hook(part.type))
        for part in parts_of(cls)
        if part.read
    ]

    def read(value: Any) -> dict[str, Any]:
        members = an_object(value)
        arguments: dict[str, Any] = {}
        for part, hook in plan:
            key, member = part.key, members.get(part.key)
            if member is None and part.also is not None:
                key, member = part.also, members.get(part.also)
            if member is not None:
                try:
                    arguments[part.name] = hook(member, part.type)
                except WireError as error:
                    raise under(key, error) from None
            elif part.blank is not None:
                arguments[part.name] = part.blank()
            else:
                raise WireError(f"missing; a {cls.__name__} needs it", f"${step(part.key)}")
        return arguments

    return read


def build(cls: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call a constructor; what it refuses is an error of the wire."""
    try:
        return cls(**arguments)
    except ConfigurationError as error:
        raise WireError(str(error)) from None


def _check_tag(value: Any, tag: str) -> None:
    if value is not None and value != tag and event_type(value) != tag:
        raise WireError(f"expected {tag!r}, got {value!r}")


def event_type(value: Any) -> AgentEventType | None:
    """Return the event type of a name, Java's older names included; None if it is none."""
    try:
        return AgentEventType(value)
    except ValueError:
        return None


def read_items(value: Any, hook: Hook, item_type: Any) -> list[Any]:
    """Read an array."""
    if not isinstance(value, list | tuple):
        raise unexpected("array", value)
    result: list[Any] = []
    for item in cast("Sequence[Any]", value):
        try:
            result.append(hook(item, item_type))
        except WireError as error:
            raise under(len(result), error) from None
    return result


def sequence_hook(cls: Any, converter: Converter) -> Hook:
    """Return the hook of `tuple[X, ...]` or `list[X]`."""
    make, item_type = get_origin(cls), get_args(cls)[0]
    hook = converter.get_structure_hook(item_type)
    return lambda value, _: make(read_items(value, hook, item_type))


def mapping_hook(cls: Any, converter: Converter) -> Hook:
    """Return the hook of `Mapping[str, X]` or `dict[str, X]`; a null in the place of a list is left out."""
    member_type = get_args(cls)[1]
    if member_type is Any:
        return an_object
    hook = converter.get_structure_hook(member_type)
    null_is_none = get_origin(member_type) is tuple

    def read_mapping(value: Any, _: Any) -> dict[str, Any]:
        return {
            key: at(key, hook, member, member_type)
            for key, member in an_object(value).items()
            if member is not None or not null_is_none
        }

    return read_mapping
