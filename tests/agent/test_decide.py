"""The agent's mind as a table: where a reply stands, and what comes next."""

import pytest

from agentscope_rx.agent._decide import SKIPPED, SUPERSEDED, TOO_LATE, decide
from agentscope_rx.agent._loop_state import Act, Decision, Finish, LoopState, Pause, Reason, Step, Summarize
from agentscope_rx.message import GenerateReason


def state(**changes: object) -> LoopState:
    return LoopState(max_iters=3, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stands", "next"),
    [
        (state(), Reason()),
        (state(iteration=2, last=Step.ACTED), Reason()),
        (state(iteration=3, last=Step.ACTED), Summarize()),
        (state(iteration=3), Summarize()),
        (state(iteration=1, last=Step.REASONED), Finish(GenerateReason.MODEL_STOP)),
        (state(iteration=3, last=Step.REASONED), Finish(GenerateReason.MODEL_STOP)),
        (state(iteration=3, last=Step.SUMMARIZED), Finish(GenerateReason.MAX_ITERATIONS)),
        (state(iteration=1, last=Step.REASONED, calls=("a", "b")), Act(("a", "b"))),
        (state(iteration=3, last=Step.REASONED, calls=("a",)), Act(("a",))),
        (state(calls=("a",)), Act(("a",))),
        (
            state(iteration=1, last=Step.REASONED, calls=("b",), superseded=("a",)),
            Act(("b",), (("a", SUPERSEDED),)),
        ),
        (state(iteration=1, last=Step.REASONED, superseded=("a",)), Act(close=(("a", SUPERSEDED),))),
        (state(iteration=1, last=Step.ACTED, calls=("a",)), Act(close=(("a", SKIPPED),))),
        (state(iteration=3, last=Step.SUMMARIZED, calls=("a",)), Act(close=(("a", TOO_LATE),))),
        (
            state(iteration=1, last=Step.ACTED, calls=("a",), waiting=frozenset("a")),
            Pause(GenerateReason.TOOL_SUSPENDED),
        ),
        (state(calls=("a", "b"), waiting=frozenset("a")), Act(("b",))),
        (
            state(
                iteration=1, last=Step.REASONED, calls=("a",), stop=GenerateReason.MIDDLEWARE_STOP_REQUESTED
            ),
            Finish(GenerateReason.MIDDLEWARE_STOP_REQUESTED),
        ),
        (
            state(iteration=1, last=Step.ACTED, stop=GenerateReason.ACTING_STOP_REQUESTED),
            Finish(GenerateReason.ACTING_STOP_REQUESTED),
        ),
    ],
)
def test_decide_says_what_comes_next(stands: LoopState, next: Decision) -> None:
    assert next == decide(stands)
