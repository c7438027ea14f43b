"""The agent's mind as a table: where a reply stands, and what comes next."""

import pytest

from agentscope_rx.agent._decide import DENIED, SKIPPED, SUPERSEDED, TOO_LATE, closings, decide
from agentscope_rx.agent._loop_state import (
    Act,
    Closing,
    Decision,
    Finish,
    LoopState,
    Output,
    Pause,
    Reason,
    Remind,
    Repair,
    Step,
    Summarize,
)
from agentscope_rx.message import GenerateReason, ToolResultState


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
        (state(iteration=1, last=Step.REASONED, silent=True), Remind()),
        (state(iteration=1, reminded=True), Reason()),
        (
            state(iteration=2, last=Step.REASONED, silent=True, reminded=True),
            Finish(GenerateReason.MODEL_STOP),
        ),
        (state(iteration=3, last=Step.REASONED, silent=True), Finish(GenerateReason.MODEL_STOP)),
        (
            state(iteration=1, last=Step.REASONED, silent=True, superseded=("a",)),
            Act(close=(Closing("a", SUPERSEDED),)),
        ),
        (state(iteration=1, last=Step.REASONED, silent=True, output=Output()), Repair()),
        (
            state(
                iteration=1,
                last=Step.REASONED,
                silent=True,
                stop=GenerateReason.MIDDLEWARE_STOP_REQUESTED,
            ),
            Finish(GenerateReason.MIDDLEWARE_STOP_REQUESTED),
        ),
        (state(iteration=3, last=Step.SUMMARIZED), Finish(GenerateReason.MAX_ITERATIONS)),
        (state(iteration=1, last=Step.REASONED, calls=("a", "b")), Act(("a", "b"))),
        (state(iteration=3, last=Step.REASONED, calls=("a",)), Act(("a",))),
        (state(calls=("a",)), Act(("a",))),
        (
            state(iteration=1, last=Step.REASONED, calls=("b",), superseded=("a",)),
            Act(("b",), close=(Closing("a", SUPERSEDED),)),
        ),
        (
            state(iteration=1, last=Step.REASONED, superseded=("a",)),
            Act(close=(Closing("a", SUPERSEDED),)),
        ),
        (state(iteration=1, last=Step.ACTED, calls=("a",)), Act(close=(Closing("a", SKIPPED),))),
        (state(iteration=3, last=Step.SUMMARIZED, calls=("a",)), Act(close=(Closing("a", TOO_LATE),))),
        (
            state(calls=("b",), denied=("a",)),
            Act(("b",), deny=(Closing("a", DENIED, ToolResultState.DENIED),)),
        ),
        (state(denied=("a",)), Act(deny=(Closing("a", DENIED, ToolResultState.DENIED),))),
        (
            state(last=Step.ACTED, denied=("a",)),
            Act(close=(Closing("a", DENIED, ToolResultState.DENIED),)),
        ),
        (
            state(iteration=1, last=Step.ACTED, calls=("a",), outside=frozenset("a")),
            Pause(GenerateReason.TOOL_SUSPENDED),
        ),
        (
            state(iteration=1, last=Step.ACTED, calls=("a", "b", "c"), asking=frozenset("a")),
            Pause(GenerateReason.PERMISSION_ASKING),
        ),
        (
            state(last=Step.ACTED, calls=("a", "b"), asking=frozenset("a"), outside=frozenset("b")),
            Pause(GenerateReason.PERMISSION_ASKING),
        ),
        (state(calls=("a", "b"), asking=frozenset("a")), Act(("a", "b"))),
        (state(calls=("a",), outside=frozenset("a")), Act(("a",))),
        (state(calls=("a",), delegated={"a": GenerateReason.PERMISSION_ASKING}), Act(("a",))),
        (
            state(last=Step.ACTED, calls=("a",), delegated={"a": GenerateReason.PERMISSION_ASKING}),
            Pause(GenerateReason.PERMISSION_ASKING),
        ),
        (
            state(
                last=Step.ACTED,
                calls=("a", "b", "c"),
                outside=frozenset("c"),
                delegated={"a": GenerateReason.ACTING_STOP_REQUESTED, "b": GenerateReason.PERMISSION_ASKING},
            ),
            Pause(GenerateReason.PERMISSION_ASKING),
        ),
        (
            state(
                last=Step.ACTED,
                calls=("a", "b"),
                delegated={"a": GenerateReason.ACTING_STOP_REQUESTED, "b": GenerateReason.TOOL_SUSPENDED},
            ),
            Pause(GenerateReason.TOOL_SUSPENDED),
        ),
        (
            state(last=Step.ACTED, calls=("a",), delegated={"a": GenerateReason.ACTING_STOP_REQUESTED}),
            Pause(GenerateReason.ACTING_STOP_REQUESTED),
        ),
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


def test_closings_are_for_all_that_has_no_result_and_a_denial_stays_a_denial() -> None:
    stands = state(calls=("b",), superseded=("a",), denied=("c",))

    assert closings(stands, "cut", ToolResultState.INTERRUPTED) == (
        Closing("a", "cut", ToolResultState.INTERRUPTED),
        Closing("b", "cut", ToolResultState.INTERRUPTED),
        Closing("c", DENIED, ToolResultState.DENIED),
    )
