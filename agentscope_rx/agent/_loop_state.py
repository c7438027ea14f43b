"""What the loop knows of the reply it is working on: just enough to decide what comes next."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import TypeAlias, final

from attrs import field, frozen

from agentscope_rx._frozen import EMPTY
from agentscope_rx.message import GenerateReason, ToolResultState

__all__ = [
    "Act",
    "Closing",
    "Decision",
    "Fail",
    "Finish",
    "LoopState",
    "Output",
    "Pause",
    "Reason",
    "Remind",
    "Repair",
    "Step",
    "Summarize",
]


class Step(Enum):
    """The phase that ran last; a summary is concluded when the structured output in it was acted on."""

    START = auto()
    REASONED = auto()
    ACTED = auto()
    SUMMARIZED = auto()
    CONCLUDED = auto()


@final
@frozen
class Output:
    """How it stands with the structured output that a reply is to give.

    Attributes:
        calls: tool calls that give it and have no result.
        given: whether there is one that fits.
        failures: rounds before this one that gave none that fits.
        failed: whether a call of this round gave one that does not fit.
    """

    calls: frozenset[str] = frozenset()
    given: bool = False
    failures: int = 0
    failed: bool = False

    @property
    def attempts(self) -> int:
        """Rounds that gave none that fits."""
        return self.failures + self.failed


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
        delegated: tool calls of `calls` whose subagent has paused or was stopped, and why.
        output: the structured output; None if there is to be none.
        stop: why to stop, if that was asked for.
        silent: whether the last reasoning phase said nothing.
        reminded: whether the model was told so, once in a reply.
    """

    max_iters: int
    iteration: int = 0
    last: Step = Step.START
    calls: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    asking: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()
    delegated: Mapping[str, GenerateReason] = field(default=EMPTY, hash=False)
    output: Output | None = None
    stop: GenerateReason | None = None
    silent: bool = False
    reminded: bool = False

    @property
    def open_calls(self) -> tuple[str, ...]:
        """The tool calls that have no result."""
        return self.superseded + self.calls + self.denied

    @property
    def waits(self) -> GenerateReason | None:
        """Why the reply cannot go on before somebody does something, humans first; None if it can."""
        reasons = (
            *((GenerateReason.PERMISSION_ASKING,) if self.asking else ()),
            *((GenerateReason.TOOL_SUSPENDED,) if self.outside else ()),
            *self.delegated.values(),
        )
        asked = (GenerateReason.PERMISSION_ASKING, GenerateReason.TOOL_SUSPENDED)
        return next((reason for reason in asked if reason in reasons), next(iter(reasons), None))

    @property
    def is_answered(self) -> bool:
        """Whether the model has ended an answer in which nothing is left to be acted on."""
        return self.last in (Step.REASONED, Step.SUMMARIZED) and not self.open_calls


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
class Remind:
    """Tell the model that it has said nothing."""


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
class Repair:
    """Tell the model that its answer is not the structured output, to ask it once more."""


@final
@frozen
class Fail:
    """End the call with an error: the structured output has not come."""


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


Decision: TypeAlias = Reason | Remind | Act | Summarize | Repair | Fail | Pause | Finish
"""What the loop does next."""
