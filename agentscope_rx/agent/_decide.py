"""The agent's mind: what to do next, from where the reply stands. Pure."""

from __future__ import annotations

from typing import Final

from agentscope_rx.agent._loop_state import (
    Act,
    Closing,
    Decision,
    Finish,
    LoopState,
    Pause,
    Reason,
    Step,
    Summarize,
)
from agentscope_rx.message import GenerateReason, ToolResultState

__all__ = ["closings", "decide"]

SUPERSEDED: Final = "Error: not run: superseded by a retry of the model call"
SKIPPED: Final = "Error: not run: a middleware skipped this call"
TOO_LATE: Final = "Error: not run: the limit of rounds was reached"
DENIED: Final = "Permission denied by user"


def decide(state: LoopState) -> Decision:
    """Return what comes next.

    1. A stop that was asked for ends the call.
    2. Calls without a result are acted on, in a new call of the agent also those that wait: their question
       is repeated. Those that the human has denied get their result, and those of a superseded attempt.
    3. After that, what waits for an answer pauses the reply; what does not was left out by a middleware and
       is closed; so are calls that one has put into the summary.
    4. A reasoning phase that called no tool was the answer.
    5. Else the model is asked again, until the limit; then once more for a summary.
    """
    if state.stop is not None:
        return Finish(state.stop)
    match state.last:
        case Step.START | Step.REASONED if state.open_calls:
            return Act(
                state.calls,
                deny=tuple(Closing(call, DENIED, ToolResultState.DENIED) for call in state.denied),
                close=tuple(Closing(call, SUPERSEDED) for call in state.superseded),
            )
        case Step.ACTED if state.asking:
            return Pause(GenerateReason.PERMISSION_ASKING)
        case Step.ACTED if state.outside:
            return Pause(GenerateReason.TOOL_SUSPENDED)
        case Step.ACTED if state.open_calls:
            return Act(close=closings(state, SKIPPED))
        case Step.SUMMARIZED if state.open_calls:
            return Act(close=closings(state, TOO_LATE))
        case Step.SUMMARIZED:
            return Finish(GenerateReason.MAX_ITERATIONS)
        case Step.REASONED:
            return Finish(GenerateReason.MODEL_STOP)
        case _:
            return Reason() if state.iteration < state.max_iters else Summarize()


def closings(
    state: LoopState, text: str, result: ToolResultState = ToolResultState.ERROR
) -> tuple[Closing, ...]:
    """Return how to close all that has no result: with `text`, but for what the human has denied."""
    return (
        *(Closing(call, text, result) for call in state.superseded + state.calls),
        *(Closing(call, DENIED, ToolResultState.DENIED) for call in state.denied),
    )
