"""The agent's mind: what to do next, from where the reply stands. Pure."""

from __future__ import annotations

from typing import Final

from agentscope_rx.agent._loop_state import Act, Decision, Finish, LoopState, Pause, Reason, Step, Summarize
from agentscope_rx.message import GenerateReason

__all__ = ["decide"]

SUPERSEDED: Final = "not run: superseded by a retry of the model call"
SKIPPED: Final = "not run: a middleware skipped this call"
TOO_LATE: Final = "not run: the limit of rounds was reached"

_NOT_RUN: Final = {Step.ACTED: SKIPPED, Step.SUMMARIZED: TOO_LATE}


def decide(state: LoopState) -> Decision:
    """Return what comes next.

    1. A stop that was asked for ends the call.
    2. Calls without a result run. Closed instead are those of a superseded attempt, those that are still
       without a result after acting, which a middleware has left out, and those that one has put into the
       summary.
    3. Calls that wait for an answer pause the reply.
    4. A reasoning phase that called no tool was the answer.
    5. Else the model is asked again, until the limit; then once more for a summary.
    """
    if state.stop is not None:
        return Finish(state.stop)
    ready = tuple(call for call in state.calls if call not in state.waiting)
    superseded = tuple((call, SUPERSEDED) for call in state.superseded)
    if ready and (reason := _NOT_RUN.get(state.last)):
        return Act(close=superseded + tuple((call, reason) for call in ready))
    if ready or superseded:
        return Act(ready, superseded)
    if state.calls:
        return Pause(GenerateReason.TOOL_SUSPENDED)
    match state.last:
        case Step.SUMMARIZED:
            return Finish(GenerateReason.MAX_ITERATIONS)
        case Step.REASONED:
            return Finish(GenerateReason.MODEL_STOP)
        case Step.START | Step.ACTED:
            return Reason() if state.iteration < state.max_iters else Summarize()
