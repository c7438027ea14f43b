"""What the loop knows of the reply it is working on: just enough to decide what comes next."""

from __future__ import annotations

from enum import Enum, auto
from typing import TypeAlias, final

from attrs import frozen

from agentscope_rx.message import GenerateReason

__all__ = ["Act", "Decision", "Finish", "LoopState", "Pause", "Reason", "Step", "Summarize"]


class Step(Enum):
    """The phase that ran last."""

    START = auto()
    REASONED = auto()
    ACTED = auto()
    SUMMARIZED = auto()


@final
@frozen
class LoopState:
    """Where a reply stands.

    Attributes:
        max_iters: how many reasoning phases the reply may have.
        iteration: how many it has begun, over all calls that worked on it.
        last: the phase that ran last in this call.
        calls: tool calls made since the last ModelCallStart that have no result, in order.
        superseded: tool calls of an attempt before it that have no result.
        waiting: tool calls of `calls` that wait for an answer or an outcome from outside.
        stop: why to stop, if that was asked for.
    """

    max_iters: int
    iteration: int = 0
    last: Step = Step.START
    calls: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    waiting: frozenset[str] = frozenset()
    stop: GenerateReason | None = None

    @property
    def has_open_calls(self) -> bool:
        """Whether a tool call has no result."""
        return bool(self.calls or self.superseded)


@final
@frozen
class Reason:
    """Ask the model."""


@final
@frozen
class Act:
    """Run tool calls.

    Attributes:
        run: calls to run, in order.
        close: calls that will never run, with the reason to tell the model.
    """

    run: tuple[str, ...] = ()
    close: tuple[tuple[str, str], ...] = ()


@final
@frozen
class Summarize:
    """Ask the model for a last answer, without tools: the limit is reached."""


@final
@frozen
class Pause:
    """End the call; the reply goes on when what it waits for has come."""

    reason: GenerateReason


@final
@frozen
class Finish:
    """End the call."""

    reason: GenerateReason


Decision: TypeAlias = Reason | Act | Summarize | Pause | Finish
"""What the loop does next."""
