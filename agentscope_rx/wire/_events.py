"""How events are read, where that is more than part by part."""

from __future__ import annotations

from typing import Any, Final, get_args

from attrs import evolve
from cattrs import Converter

from agentscope_rx.errors import WireError
from agentscope_rx.event import (
    AgentEvent,
    AgentEventType,
    AnyAgentEvent,
    ModelCallEndEvent,
    ToolResultDataDeltaEvent,
    UnknownEvent,
)
from agentscope_rx.message import ChatUsage, ContentBlock
from agentscope_rx.wire._errors import at
from agentscope_rx.wire._parts import tag_of
from agentscope_rx.wire._reading import Hook, event_type, value_hook
from agentscope_rx.wire._scalars import a_str, an_int, an_object

__all__ = [
    "an_event_type",
    "an_unknown_event",
    "any_event_hook",
    "data_delta_hook",
    "model_call_end_hook",
]

_CLASSES: Final[dict[str, type[AgentEvent]]] = {
    tag_of(cls): cls for cls in get_args(AnyAgentEvent) if cls is not UnknownEvent
}


def an_event_type(value: Any, _: Any) -> AgentEventType:
    """Read the name of an event type."""
    name = event_type(a_str(value))
    if name is None:
        raise WireError(f"unknown AgentEventType {value!r}")
    return name


def any_event_hook(_: Any, converter: Converter) -> Hook:
    """Return the hook that reads an event of any type."""

    def read_event(value: Any, _: Any) -> AgentEvent:
        name = event_type(an_object(value).get("type"))
        cls = UnknownEvent if name is None else _CLASSES[name]
        return converter.get_structure_hook(cls)(value, cls)

    return read_event


def an_unknown_event(value: Any, _: Any) -> UnknownEvent:
    """Keep the object, and show what any event has where it has it in the right type."""
    members = an_object(value)

    def text(key: str) -> str | None:
        member = members.get(key)
        return member if isinstance(member, str) else None

    return UnknownEvent(
        members,
        reply_id=text("replyId") or "",
        id=text("id") or "",
        created_at=text("createdAt") or "",
        source=text("source"),
    )


def model_call_end_hook(cls: type[ModelCallEndEvent], converter: Converter) -> Hook:
    """Return the hook that reads the usage nested, as Java writes it, or flat, as the document has it."""
    read = value_hook(cls, converter)

    def read_model_call_end(value: Any, _: Any) -> ModelCallEndEvent:
        event: ModelCallEndEvent = read(value, cls)
        flat = {
            name: at(key, an_int, value[key])
            for name, key in (("input_tokens", "inputTokens"), ("output_tokens", "outputTokens"))
            if value.get(key) is not None
        }
        return evolve(event, usage=ChatUsage(**flat)) if flat and event.usage is None else event

    return read_model_call_end


def data_delta_hook(cls: type[ToolResultDataDeltaEvent], converter: Converter) -> Hook:
    """Return the hook that reads `data` as base64, if it is a text, and else as a whole block."""
    read_block = converter.get_structure_hook(ContentBlock)
    return value_hook(
        cls,
        converter,
        {
            "data": lambda value, _: value if isinstance(value, str) else "",
            "block": lambda value, _: None if isinstance(value, str) else read_block(value, ContentBlock),
        },
    )
