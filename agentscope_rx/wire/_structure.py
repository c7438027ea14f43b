"""From JSON values to ours: one cattrs converter, whose hooks are made once for each class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from inspect import isclass
from typing import Any, Final, get_origin

from cattrs import Converter

from agentscope_rx.event import (
    AgentEvent,
    AgentEventType,
    AnyAgentEvent,
    ModelCallEndEvent,
    ToolResultDataDeltaEvent,
    UnknownEvent,
)
from agentscope_rx.message import (
    ContentBlock,
    GenerateReason,
    MediaSource,
    Msg,
    MsgRole,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
)
from agentscope_rx.permission import PermissionBehavior, PermissionMode
from agentscope_rx.state import Task, TaskState
from agentscope_rx.wire._errors import unexpected
from agentscope_rx.wire._events import (
    an_event_type,
    an_unknown_event,
    any_event_hook,
    data_delta_hook,
    model_call_end_hook,
)
from agentscope_rx.wire._messages import block_hook, msg_hook, source_hook
from agentscope_rx.wire._reading import Hook, mapping_hook, sequence_hook, value_hook
from agentscope_rx.wire._scalars import a_bool, a_float, a_str, an_int, an_object_without_nulls, enum_hook
from agentscope_rx.wire._shapes import shape_of

__all__ = ["structure"]

_ENUMS: Final[tuple[type[Enum], ...]] = (
    MsgRole,
    GenerateReason,
    ToolCallState,
    ToolResultState,
    PermissionMode,
    PermissionBehavior,
    TaskState,
)


def structure(value: Any, cls: Any) -> Any:
    """Read a JSON value as a class, an enum, or a list, tuple or dict of them.

    Errors: `WireError` with the path.
    """
    if value is None:
        raise unexpected(getattr(cls, "__name__", str(cls)), value)
    return _converter().structure(value, cls)


@cache
def _converter() -> Converter:
    converter = Converter(detailed_validation=False)
    for scalar, hook in ((str, a_str), (int, an_int), (float, a_float), (bool, a_bool)):
        converter.register_structure_hook(scalar, hook)
    for enum in _ENUMS:
        converter.register_structure_hook(enum, enum_hook(enum))
    converter.register_structure_hook(AgentEventType, an_event_type)
    factories: tuple[tuple[Callable[[Any], bool], Callable[..., Hook]], ...] = (
        # What comes later is asked first.
        (lambda cls: get_origin(cls) in (list, tuple), sequence_hook),
        (lambda cls: get_origin(cls) in (dict, Mapping), mapping_hook),
        (lambda cls: isclass(cls) and shape_of(cls) is not None, value_hook),
        (lambda cls: cls in (ToolResultBlock, Task), _without_nulls_hook),
        (lambda cls: isclass(cls) and issubclass(cls, Msg), msg_hook),
        (lambda cls: cls is ContentBlock, block_hook),
        (lambda cls: cls == MediaSource, source_hook),
        (lambda cls: cls in (AgentEvent, AnyAgentEvent), any_event_hook),
        (lambda cls: cls is ModelCallEndEvent, model_call_end_hook),
        (lambda cls: cls is ToolResultDataDeltaEvent, data_delta_hook),
        (lambda cls: cls is UnknownEvent, lambda *_: an_unknown_event),
    )
    for asks, factory in factories:
        converter.register_structure_hook_factory(asks, factory)
    return converter


def _without_nulls_hook(cls: type, converter: Converter) -> Hook:
    return value_hook(cls, converter, {"metadata": an_object_without_nulls})
