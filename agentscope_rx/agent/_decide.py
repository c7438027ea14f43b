"""The agent's mind: what to do next, from where the reply stands. Pure."""

from __future__ import annotations

from typing import Final

from attrs import evolve

from agentscope_rx.agent._loop_state import (
    Act,
    Closing,
    Decision,
    Fail,
    Finish,
    LoopState,
    Pause,
    Reason,
    Remind,
    Repair,
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
       is repeated, and a subagent goes on. Those that the human has denied get their result, and those of a
       superseded attempt.
    3. After that, what waits for an answer pauses the reply; what does not was left out by a middleware and
       is closed; so are calls that one has put into the summary.
    4. Where there is to be a structured output, one that fits ends the reply when nothing is open; what does
       not fit, or lacks it, can be put right once. At the limit it comes with the summary, or not at all.
    5. A reasoning phase that called no tool was the answer; if it said nothing, the model is told so, once
       in a reply, and asked again.
    6. Else the model is asked again, until the limit; then once more for a summary.
    """
    if state.stop is not None:
        return Finish(state.stop)
    output = state.output
    match state.last:
        case Step.START | Step.REASONED if state.open_calls:
            return Act(
                state.calls,
                deny=tuple(Closing(call, DENIED, ToolResultState.DENIED) for call in state.denied),
                close=tuple(Closing(call, SUPERSEDED) for call in state.superseded),
            )
        case Step.ACTED | Step.CONCLUDED if state.waits is not None:
            return Pause(state.waits)
        case Step.ACTED | Step.CONCLUDED if state.open_calls:
            return Act(close=closings(state, SKIPPED))
        case Step.SUMMARIZED if state.open_calls:
            answers = tuple(call for call in state.calls if output is not None and call in output.calls)
            others = evolve(state, calls=tuple(call for call in state.calls if call not in answers))
            return Act(answers, close=closings(others, TOO_LATE))
        case Step.SUMMARIZED | Step.CONCLUDED:
            return Finish(GenerateReason.MAX_ITERATIONS) if output is None or output.given else Fail()
        case _ if output is not None and output.given:
            return Finish(GenerateReason.MODEL_STOP)
        case Step.REASONED if output is not None:
            return Fail() if output.attempts else Repair()
        case Step.ACTED if output is not None and output.attempts > 1:
            return Fail()
        case Step.REASONED if state.silent and not state.reminded and state.iteration < state.max_iters:
            return Remind()
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
