"""text: what the agent says, as it says it."""

from __future__ import annotations

from typing import Any

from reactivex import Observable, operators as ops

from agentscope_rx.event import TextBlockDeltaEvent
from agentscope_rx.typing import Operator

__all__ = ["text"]


def text() -> Operator[Any, str]:
    """Emit the delta of each text event of the top-level reply.

    1. The text of subagents, reasoning and the output of tools are left out.
    2. Blocks are not kept apart: `blocks()` and `snapshots()` tell them from each other.

    Marble:
        -S-a-b-E-|            a, b = text deltas
        ---a-b---|            a, b = their strings
    Shape:  Observable[AgentEvent] → Observable[str], at most as many items.
    Errors: those of the source.
    """

    def operator(source: Observable[Any]) -> Observable[str]:
        return source.pipe(ops.filter(_is_text), ops.map(_delta))

    return operator


def _is_text(event: object) -> bool:
    return isinstance(event, TextBlockDeltaEvent) and not event.source


def _delta(event: TextBlockDeltaEvent) -> str:
    return event.delta
