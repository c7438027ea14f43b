"""What the loop knows of the reply it is working on: just enough to decide what comes next."""

from __future__ import annotations

from enum import Enum, auto
from typing import TypeAlias, final

from attrs import frozen

from agentscope_rx.message import GenerateReason, ToolResultState

__all__ = ["Act", "Closing", "Decision", "Finish", "LoopState", "Pause", "Reason", "Step", "Summarize"]


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
        last: the phase that ran last in this call, or since an answer has come.
        calls: tool calls made since the last ModelCallStart that have no result, in order.
        superseded: tool calls of an attempt before it that have no result.
        denied: tool calls that the human has denied and that have no result yet.
        asking: tool calls of `calls` that wait for the human.
        outside: tool calls of `calls` whose outcome comes from outside.
        stop: why to stop, if that was asked for.
    """

    max_iters: int
    iteration: int = 0
    last: Step = Step.START
    calls: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    asking: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()
    stop: GenerateReason | None = None

    @property
    def open_calls(self) -> tuple[str, ...]:
        """The tool calls that have no result."""
        return self.superseded + self.calls + self.denied


@final
@frozen
class Closing:
    """A call that will not run, what the model is told about it, and the state of its result."""

    call: str
    text: str
    state: ToolResultState = ToolResultState.ERROR


@final
@frozen
class Reason:
    """Ask the model."""


@final
@frozen
class Act:
    """Take care of tool calls.

    Attributes:
        run: calls to run, or to ask about, or to hand out, in order.
        deny: calls that the human has denied.
        close: calls that no hook is to see: they are closed.
    """

    run: tuple[str, ...] = ()
    deny: tuple[Closing, ...] = ()
    close: tuple[Closing, ...] = ()


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
