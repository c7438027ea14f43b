"""How the loop's state moves, event by event."""

import pytest
from attrs import evolve

from agentscope_rx import event as ev
from agentscope_rx.agent._loop_state import (
    Act,
    Closing,
    Decision,
    LoopState,
    Pause,
    Reason,
    Remind,
    Step,
    Summarize,
)
from agentscope_rx.agent._transition import EMPTY_RESPONSE, apply, enter, heard, open_calls, resume
from agentscope_rx.agent._waiting import Waiting, about
from agentscope_rx.message import (
    SUSPENDED,
    AssistantMessage,
    Base64Source,
    ContentBlock,
    DataBlock,
    GenerateReason,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)


def state(**changes: object) -> LoopState:
    return LoopState(max_iters=3, **changes)  # type: ignore[arg-type]


PAUSED = {
    **about("child", "s/child/a", "reply-of-child"),
    **Waiting("s/child/a", GenerateReason.PERMISSION_ASKING).metadata(),
}


def call(id: str, state: ToolCallState = ToolCallState.PENDING) -> ToolUseBlock:
    return ToolUseBlock(id, "tool", state=state)


@pytest.mark.parametrize(
    ("before", "event", "after"),
    [
        (state(), ev.ToolCallStartEvent("r", "a", "tool"), state(calls=("a",))),
        (state(calls=("a",)), ev.ToolCallStartEvent("r", "a", "tool"), state(calls=("a",))),
        (state(calls=("a",)), ev.ToolCallStartEvent("r", "b", "tool"), state(calls=("a", "b"))),
        (state(), ev.ToolCallStartEvent("r", "a", "tool", source="main/sub"), state()),
        (state(calls=("a",)), ev.ModelCallStartEvent("r"), state(superseded=("a",))),
        (state(calls=("a", "b")), ev.ToolResultEndEvent("r", "a", "tool"), state(calls=("b",))),
        (
            state(superseded=("a",)),
            ev.ToolResultEndEvent("r", "a", "tool", ToolResultState.ERROR),
            state(),
        ),
        (
            state(calls=("a",)),
            ev.ToolResultEndEvent("r", "a", "tool", ToolResultState.RUNNING),
            state(calls=("a",), outside=frozenset("a")),
        ),
        (
            state(calls=("a",)),
            ev.ToolResultEndEvent("r", "a", "tool", ToolResultState.RUNNING, metadata={SUSPENDED: False}),
            state(calls=("a",)),
        ),
        (
            state(calls=("a",), outside=frozenset("a")),
            ev.ToolResultStartEvent("r", "a", "tool"),
            state(calls=("a",)),
        ),
        (
            state(calls=("a",)),
            ev.RequireUserConfirmEvent("r", [call("a"), call("stranger")]),
            state(calls=("a",), asking=frozenset("a")),
        ),
        (
            state(calls=("a",), asking=frozenset("a")),
            ev.RequireExternalExecutionEvent("r", [call("a"), call("stranger")]),
            state(calls=("a",), outside=frozenset("a")),
        ),
        (
            state(calls=("a",), asking=frozenset("a"), last=Step.ACTED),
            ev.UserConfirmResultEvent("r", [ev.ConfirmResult(True, call("a")), ev.ConfirmResult(True, None)]),
            state(calls=("a",)),
        ),
        (
            state(calls=("a", "b"), asking=frozenset({"a", "b"}), last=Step.ACTED),
            ev.UserConfirmResultEvent(
                "r", [ev.ConfirmResult(False, call("a")), ev.ConfirmResult(True, call("b"))]
            ),
            state(calls=("b",), denied=("a",)),
        ),
        (
            state(calls=("a",), asking=frozenset("a"), stop=GenerateReason.PERMISSION_ASKING),
            ev.UserConfirmResultEvent("r", [ev.ConfirmResult(True, call("a"))]),
            state(calls=("a",)),
        ),
        (
            state(calls=("a",), asking=frozenset("a"), stop=GenerateReason.MIDDLEWARE_STOP_REQUESTED),
            ev.UserConfirmResultEvent("r", [ev.ConfirmResult(True, call("a"))]),
            state(calls=("a",), stop=GenerateReason.MIDDLEWARE_STOP_REQUESTED),
        ),
        (
            state(calls=("a", "b"), asking=frozenset({"a", "b"}), last=Step.ACTED),
            ev.UserConfirmResultEvent("r", [ev.ConfirmResult(True, call("a"))]),
            state(calls=("a", "b"), asking=frozenset("b")),
        ),
        (
            state(calls=("a",), last=Step.ACTED),
            ev.UserConfirmResultEvent("r", [ev.ConfirmResult(False, call("a"))]),
            state(calls=("a",), last=Step.ACTED),
        ),
        (
            state(denied=("a",)),
            ev.ToolResultEndEvent("r", "a", "tool", ToolResultState.DENIED),
            state(),
        ),
        (
            state(calls=("a",), outside=frozenset("a")),
            ev.ExternalExecutionResultEvent("r", [ToolResultBlock("a", "tool")]),
            state(),
        ),
        (
            state(),
            ev.RequestStopEvent("enough", GenerateReason.REASONING_STOP_REQUESTED),
            state(stop=GenerateReason.REASONING_STOP_REQUESTED),
        ),
        (state(), ev.RequestStopEvent("enough", source="main/sub"), state()),
        (
            state(calls=("a", "b")),
            ev.ToolResultEndEvent("r", "a", "tool", ToolResultState.RUNNING, metadata=PAUSED),
            state(calls=("a", "b"), delegated={"a": GenerateReason.PERMISSION_ASKING}),
        ),
        (
            state(calls=("a", "b"), delegated={"a": GenerateReason.PERMISSION_ASKING}),
            ev.ToolResultStartEvent("r", "a", "tool"),
            state(calls=("a", "b")),
        ),
        (
            state(calls=("a", "b"), delegated={"a": GenerateReason.TOOL_SUSPENDED}),
            ev.ToolResultEndEvent("r", "a", "tool", ToolResultState.INTERRUPTED),
            state(calls=("b",)),
        ),
        (state(calls=("a",)), ev.TextBlockDeltaEvent("r", "text-1", "x"), state(calls=("a",))),
    ],
)
def test_apply_moves_the_state(before: LoopState, event: ev.AgentEvent, after: LoopState) -> None:
    assert after == apply(before, event)


def test_an_event_without_meaning_for_the_loop_gives_the_same_state() -> None:
    before = state(calls=("a",))

    assert apply(before, ev.TextBlockDeltaEvent("r", "text-1", "x")) is before


@pytest.mark.parametrize(
    ("before", "decision", "after"),
    [
        (state(), Reason(), state(last=Step.REASONED, iteration=1)),
        (
            state(superseded=("a",), last=Step.ACTED, iteration=1),
            Reason(),
            state(last=Step.REASONED, iteration=2),
        ),
        (state(calls=("a",)), Act(("a",)), state(calls=("a",), last=Step.ACTED)),
        (state(denied=("a",)), Act(deny=(Closing("a", "no"),)), state(denied=("a",), last=Step.ACTED)),
        (
            state(last=Step.REASONED, superseded=("a",)),
            Act(close=(Closing("a", "why"),)),
            state(last=Step.REASONED, superseded=("a",)),
        ),
        (state(), Summarize(), state(last=Step.SUMMARIZED)),
        (state(), Pause(GenerateReason.TOOL_SUSPENDED), state()),
    ],
)
def test_enter_begins_a_phase(before: LoopState, decision: Decision, after: LoopState) -> None:
    assert after == enter(before, decision)


def test_open_calls_are_those_that_have_no_final_result() -> None:
    done = call("a", ToolCallState.FINISHED)
    denied = call("d", ToolCallState.FINISHED)
    asking = call("c", ToolCallState.ASKING)
    half = call("e", ToolCallState.FINISHED)
    results = [
        ToolResultBlock("a", "tool", state=ToolResultState.SUCCESS),
        ToolResultBlock("e", "tool", "Permission den"),
    ]
    message = AssistantMessage([TextBlock("x"), done, call("b"), asking, denied, half, *results])

    assert tuple(block.id for block in open_calls(message)) == ("b", "c", "d", "e")


def test_a_resumed_reply_goes_on_where_it_stood() -> None:
    message = AssistantMessage(
        [
            call("a", ToolCallState.ASKING),
            call("b"),
            call("c", ToolCallState.SUBMITTED),
            call("d", ToolCallState.FINISHED),
            call("e", ToolCallState.ALLOWED),
            ToolResultBlock("e", "tool", state=ToolResultState.RUNNING),
        ]
    )

    expected = state(
        iteration=2,
        calls=("a", "b", "c", "e"),
        denied=("d",),
        asking=frozenset("a"),
        outside=frozenset({"c", "e"}),
    )
    assert expected == resume(message, {"e"}, 3, 2)
    assert resume(message, {"e"}, 3, 2, superseded={"a", "b", "d"}) == evolve(
        expected, calls=("c", "e"), superseded=("a", "b")
    )
    assert evolve(expected, iteration=0) == resume(message, {"e"}, 3, 0)


def test_a_resumed_reply_knows_the_subagents_that_wait() -> None:
    message = AssistantMessage(
        [
            *[call("a"), call("b"), call("c", ToolCallState.FINISHED)],
            ToolResultBlock("a", "tool", metadata=PAUSED, state=ToolResultState.RUNNING),
            ToolResultBlock("b", "tool", state=ToolResultState.RUNNING),
            ToolResultBlock("c", "tool", metadata=PAUSED, state=ToolResultState.SUCCESS),
        ]
    )

    assert resume(message, {"a", "b"}, 3, 1) == state(
        iteration=1,
        calls=("a", "b"),
        outside=frozenset("b"),
        delegated={"a": GenerateReason.PERMISSION_ASKING},
    )


def test_a_reminder_is_given_once_also_over_a_resume() -> None:
    reminded = enter(state(iteration=1, last=Step.REASONED, silent=True), Remind())

    assert reminded == state(iteration=1, silent=True, reminded=True)
    assert enter(reminded, Reason()) == state(iteration=2, last=Step.REASONED, reminded=True)
    hint = HintBlock("hint-1", "say something", EMPTY_RESPONSE)
    assert resume(AssistantMessage("me", hint), (), 3, 1).reminded
    assert not resume(AssistantMessage("me", HintBlock("hint-1", "hurry", "clock")), (), 3, 1).reminded


@pytest.mark.parametrize(
    ("blocks", "silent"),
    [
        ([], True),
        ([TextBlock("  \n"), ThinkingBlock("hm"), HintBlock("hint-1", "hurry")], True),
        ([TextBlock("hi")], False),
        ([ThinkingBlock("hm"), TextBlock(" "), TextBlock("hi")], False),
        ([DataBlock(Base64Source("image/png", "QUJD"))], False),
        ([call("a")], False),
    ],
)
def test_a_reasoning_phase_speaks_with_text_data_and_calls(blocks: list[ContentBlock], silent: bool) -> None:
    reasoned = state(iteration=1, last=Step.REASONED)

    assert heard(reasoned, blocks) == evolve(reasoned, silent=silent)
