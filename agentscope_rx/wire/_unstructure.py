"""From our values to JSON values: two cattrs converters, one for the whole form and one for Java's."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache, partial
from math import isfinite
from typing import Any, Final, TypeAlias

from attrs import evolve
from cattrs import Converter

from agentscope_rx.errors import WireError
from agentscope_rx.event import ModelCallEndEvent, ToolResultDataDeltaEvent, UnknownEvent
from agentscope_rx.message import Base64Source, ContentBlock, DataBlock, Msg, URLSource
from agentscope_rx.wire._errors import under
from agentscope_rx.wire._parts import parts_of, tag_of
from agentscope_rx.wire._shapes import GENERATE_REASON, shape_of

__all__ = ["unstructure"]

Hook: TypeAlias = Callable[[Any], Any]

_AS_IT_IS: Final = frozenset((str, int, bool, type(None)))


def unstructure(value: Any, java: bool = False) -> Any:
    """Write a value, an enum, or a list, tuple or mapping of them as a JSON value.

    Errors: `WireError` with the path of what JSON cannot hold.
    """
    return _hooks(java)[type(value)](value)


class _Hooks(dict[type, Hook]):
    """The hook of each class, asked of cattrs once: a level of nesting costs one frame, not five."""

    def __init__(self, java: bool) -> None:
        super().__init__()
        self.converter = Converter()
        hooks: dict[type[Any], Hook] = {
            str: str.__str__,
            int: int,
            bool: bool,
            type(None): lambda none: none,
            float: _finite,
            bytes: lambda data: b64encode(data).decode("ascii"),
            Enum: lambda member: self[type(member.value)](member.value),
            list: partial(_items, hooks=self),
            tuple: partial(_items, hooks=self),
            Mapping: partial(_members, hooks=self),
        }
        for cls, hook in hooks.items():
            self.converter.register_unstructure_hook(cls, hook)

        def value_hook(cls: type) -> Hook:
            return _value_hook(cls, java, self)

        self.converter.register_unstructure_hook_func(lambda _: True, _refuse)
        self.converter.register_unstructure_hook_factory(lambda cls: shape_of(cls) is not None, value_hook)

    def __missing__(self, cls: type) -> Hook:
        self[cls] = hook = self.converter.get_unstructure_hook(cls)
        return hook


_hooks = cache(_Hooks)


def _items(items: Iterable[Any], hooks: _Hooks) -> list[Any]:
    result: list[Any] = []
    for item in items:
        try:
            result.append(item if type(item) in _AS_IT_IS else hooks[type(item)](item))
        except WireError as error:
            raise under(len(result), error) from None
    return result


def _members(members: Mapping[Any, Any], hooks: _Hooks) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, item in members.items():
        if not isinstance(key, str):
            raise WireError(f"the key {key!r} is no str")
        try:
            result[key] = item if type(item) in _AS_IT_IS else hooks[type(item)](item)
        except WireError as error:
            raise under(key, error) from None
    return result


def _refuse(value: object) -> Any:
    raise WireError(f"a {type(value).__name__} is no JSON value; put a str, number, dict or list there")


def _finite(number: float) -> float:
    if not isfinite(number):
        raise WireError(f"{number} is no JSON number")
    return number


def _value_hook(cls: type, java: bool, hooks: _Hooks) -> Hook:
    """Return the hook that writes one class as an object."""
    write = _parts_writer(cls, java, hooks)
    if cls is UnknownEvent:
        return lambda event: _raw(event, hooks)
    if cls is ToolResultDataDeltaEvent and java:
        return lambda event: write(_with_block(event))
    if cls is ModelCallEndEvent and not java:
        return lambda event: write(event) | _flat_usage(event)
    if issubclass(cls, Msg):
        return lambda msg: _with_reason(msg, write(msg))
    return write


def _parts_writer(cls: type, java: bool, hooks: _Hooks) -> Hook:
    shape, tag = shape_of(cls), tag_of(cls)
    nulls = shape is not None and shape.nulls
    java_absent = shape.java_absent if java and shape is not None else frozenset[str]()
    plan = [
        (part.name, key, part.absent or part.name in java_absent, part.type is float)
        for part in parts_of(cls)
        if (key := part.java_key if java else part.key) is not None
    ]

    def write(value: Any) -> dict[str, Any]:
        members: dict[str, Any] = {"type": tag} if tag else {}
        for name, key, absent, is_float in plan:
            item = getattr(value, name)
            if item is None or (absent and not item):
                if nulls:
                    members[key] = None
            elif type(item) in _AS_IT_IS:
                members[key] = float(item) if is_float else item
            else:
                try:
                    members[key] = hooks[type(item)](item)
                except WireError as error:
                    raise under(key, error) from None
        return members

    return write


def _raw(event: UnknownEvent, hooks: _Hooks) -> dict[str, Any]:
    """Write an unknown event as it came, but for a `source` that `with_source` has set."""
    raw = _members(event.raw, hooks)
    given = raw.get("source")
    if event.source == (given if isinstance(given, str) else None):
        return raw
    raw.pop("source", None)
    return raw if event.source is None else raw | {"source": event.source}


def _with_block(event: ToolResultDataDeltaEvent) -> ToolResultDataDeltaEvent:
    """Put data or an address into a block, the only form that Java reads."""
    block: ContentBlock | None = event.block
    name = event.block_id or event.id
    if event.data:
        block = DataBlock(Base64Source(event.media_type or "application/octet-stream", event.data), name)
    elif event.url is not None:
        block = DataBlock(URLSource(event.url, event.media_type), name)
    return evolve(event, data="", url=None, media_type=None, block_id="", block=block)


def _flat_usage(event: ModelCallEndEvent) -> dict[str, Any]:
    if event.usage is None:
        return {}
    return {"inputTokens": event.input_tokens, "outputTokens": event.output_tokens}


def _with_reason(msg: Msg, members: dict[str, Any]) -> dict[str, Any]:
    if msg.generate_reason is not None:
        members["metadata"][GENERATE_REASON] = msg.generate_reason.value
    return members
