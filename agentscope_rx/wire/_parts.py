"""A class of values, part by part: the one description from which all hooks are made."""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, Final, Union, final, get_args, get_origin, get_type_hints

from attrs import NOTHING, Attribute, Factory, fields_dict, frozen

from agentscope_rx.event import (
    AgentEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.wire._shapes import Shape, shape_of

__all__ = ["Part", "parts_of", "tag_of"]


@final
@frozen
class Part:
    """One attribute of a class on the wire.

    Attributes:
        name: the attribute.
        key: its key.
        java_key: its key under `java=True`; None if Java does not know it.
        also: another key from which it is read.
        type: its type, without None.
        blank: makes its value where the key is missing or null; None if it must be there.
        absent: whether an empty value means that there is none.
        read: whether it is read back (a property is only written).
    """

    name: str
    key: str
    java_key: str | None
    also: str | None
    type: Any
    blank: Callable[[], Any] | None
    absent: bool
    read: bool


# Java writes metadata of these before the source, since their constructors take it.
_METADATA_FIRST: Final = (
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
)


def tag_of(cls: type) -> str:
    """Return the name that a class has under `type`; empty if it has none."""
    tag = cls.__dict__.get("type")
    return str(tag) if isinstance(tag, str) else ""


def parts_of(cls: type) -> tuple[Part, ...]:
    """Describe a class, in the order of the wire."""
    shape = shape_of(cls)
    assert shape is not None, f"{cls.__name__} has no shape"
    attributes = fields_dict(cls)
    types = get_type_hints(cls)
    return tuple(
        _part(shape, name, attributes.get(name), types.get(name, int)) for name in _order(cls, shape)
    )


def _order(cls: type, shape: Shape) -> tuple[str, ...]:
    names = shape.order or tuple(fields_dict(cls))
    if not issubclass(cls, AgentEvent):
        return names
    own = tuple(name for name in names if name not in ("id", "created_at", "source", "metadata"))
    last = ("metadata", "source") if issubclass(cls, _METADATA_FIRST) else ("source", "metadata")
    return ("id", "created_at", *own, *last)


def _part(shape: Shape, name: str, attribute: Attribute[Any] | None, hint: Any) -> Part:
    key = shape.keys.get(name) or (name if shape.snake else _camel(name))
    return Part(
        name=name,
        key=key,
        java_key=None if name in shape.added else shape.java_keys.get(name, key),
        also=shape.also.get(name),
        type=_without_none(hint),
        blank=None if name in shape.required else _blank(shape, attribute, hint),
        absent=name in shape.absent,
        read=attribute is not None,
    )


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _blank(shape: Shape, attribute: Attribute[Any] | None, hint: Any) -> Callable[[], Any] | None:
    default: Any = NOTHING if attribute is None else attribute.default
    if isinstance(default, Factory):  # pyright: ignore[reportArgumentType] - typed as a function
        factory: Callable[[], Any] = default.factory
        return factory if shape.fresh or hint is not str else str
    if default is not NOTHING:
        return lambda: default
    if NoneType in get_args(hint):
        return lambda: None
    return hint if hint in (str, bool) else None


def _without_none(hint: Any) -> Any:
    if get_origin(hint) not in (Union, UnionType):
        return hint
    return Union[tuple(arg for arg in get_args(hint) if arg is not NoneType)]  # noqa: UP007 - built at run time
