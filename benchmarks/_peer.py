"""agentscope's side: the same events as its own, its fold, and what the fold came to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agentscope import event as peer
from agentscope.message import AssistantMsg, Msg

from agentscope_rx.event import AgentEvent

__all__ = ["outline", "rebuild", "twins"]

_RENAMED = {"AgentStartEvent": "ReplyStartEvent", "AgentEndEvent": "ReplyEndEvent"}


def twins(events: Iterable[AgentEvent]) -> list[Any]:
    """Return the peer's events that say the same, under the same ids."""
    return [_twin(event) for event in events]


def _twin(event: AgentEvent) -> Any:
    name = type(event).__name__
    cls = getattr(peer, _RENAMED.get(name, name))
    fields = {name: getattr(event, name, None) for name in cls.model_fields if name != "type"}
    if cls is peer.ReplyEndEvent:
        fields["session_id"] = "session"
    return cls(**{name: value for name, value in fields.items() if value is not None})


def rebuild(events: Sequence[Any]) -> Msg:
    """Fold the peer's events of one reply into its message."""
    msg = AssistantMsg("assistant", [], id=events[0].reply_id)
    for event in events:
        msg.append_event(event)
    return msg


def outline(msg: Msg) -> list[tuple[str, ...]]:
    """Return the message's blocks as plain tuples, to be compared with ours."""
    return [_outline(block) for block in msg.content]


def _outline(block: Any) -> tuple[str, ...]:
    match block.type:
        case "text":
            return "text", block.text
        case "thinking":
            return "thinking", block.thinking
        case "tool_call":
            return "tool_use", block.id, block.name, block.input
        case "tool_result":
            return (
                "tool_result",
                block.id,
                block.name,
                str(block.state),
                *(part.text for part in block.output),
            )
        case other:
            raise TypeError(f"no outline for a block of type {other!r}")
