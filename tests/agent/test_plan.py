"""What a call is going to do, from its input and the session's state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentscope_rx import event as ev
from agentscope_rx.agent import ConfirmResults, ExternalResults
from agentscope_rx.agent._input import Given, given
from agentscope_rx.agent._plan import plan, resumable
from agentscope_rx.errors import AnswerError, ConfigurationError, OpenCallsError
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    DataBlock,
    GenerateReason,
    ToolCallState,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.operators import ReplyFold
from agentscope_rx.state import AgentState

HI = UserMessage("hi")
LATE = UserMessage("wait!")
ASKED = ToolUseBlock("a", "write", {"path": "/x"}, state=ToolCallState.ASKING)
HANDED = ToolUseBlock("x", "pay", state=ToolCallState.SUBMITTED)

START = (ev.AgentStartEvent("s", "r", "friend"), ev.ModelCallStartEvent("r"))
CALLS = (
    ev.ToolCallStartEvent("r", "a", "write"),
    ev.ToolCallDeltaEvent("r", "a", "write", '{"path": "/x"}'),
    ev.ToolCallEndEvent("r", "a", "write"),
    ev.ToolCallStartEvent("r", "x", "pay"),
    ev.ToolCallEndEvent("r", "x", "pay"),
    ev.ModelCallEndEvent("r"),
)
ASK = (*START, *CALLS, ev.RequireUserConfirmEvent("r", [ASKED]))
HAND_OUT = (
    *START,
    *CALLS,
    ev.ToolResultStartEvent("r", "a", "write"),
    ev.ToolResultEndEvent("r", "a", "write"),
    ev.RequireExternalExecutionEvent("r", [HANDED]),
)


def state(*events: ev.AgentEvent, after: tuple[Any, ...] = (), finished: bool = False) -> AgentState:
    """A session whose newest reply has come so far."""
    fold = ReplyFold("r")
    for event in events:
        fold.apply(event)
    return AgentState(
        "s",
        context=(HI, fold.message(), *after),
        reply_id="r",
        cur_iter=2,
        checkpoint=None if finished else fold.checkpoint(),
    )


FRESH = AgentState("s")
FINISHED = state(*START, ev.AgentEndEvent("r", GenerateReason.MODEL_STOP), finished=True)
CUT = state(*START)
OPEN = state(*START, *CALLS)
ASKING = state(*ASK, ev.AgentEndEvent("r", GenerateReason.PERMISSION_ASKING))
WAITING = state(*HAND_OUT, ev.AgentEndEvent("r", GenerateReason.TOOL_SUSPENDED))

YES = ConfirmResults(ev.ConfirmResult(True, ASKED))
PAID = ExternalResults(ToolResultBlock("x", "pay", "paid"))


@pytest.mark.parametrize(
    ("before", "resumed"),
    [(FRESH, False), (FINISHED, False), (CUT, True), (OPEN, True), (ASKING, True), (WAITING, True)],
)
def test_nothing_given_goes_on_with_an_unfinished_reply_and_else_begins_a_new_one(
    before: AgentState, resumed: bool
) -> None:
    planned = plan(before, given(None))

    assert (planned.reply_id == "r", planned.resumed is not None) == (resumed, resumed)
    assert planned.history == ((HI,) if resumed else before.context)
    assert planned.iteration == (2 if resumed else 0)
    assert planned.answers is None


@pytest.mark.parametrize(("before", "answers"), [(ASKING, YES), (WAITING, PAID)])
def test_answers_go_on_with_the_reply_that_waits(
    before: AgentState, answers: ConfirmResults | ExternalResults
) -> None:
    planned = plan(before, given(answers))

    assert planned.reply_id == "r"
    assert planned.answers == answers
    assert planned.resumed == before.context[1]
    assert (planned.history, planned.later, planned.msgs) == ((HI,), (), ())


def test_messages_that_came_behind_a_paused_reply_stay_behind_it() -> None:
    before = state(*ASK, after=(LATE,))

    assert plan(before, given(YES)).later == plan(before, given(None)).later == (LATE,)


def test_words_beside_answers_are_of_the_call_and_not_of_the_history() -> None:
    words = UserMessage("but hurry")
    planned = plan(ASKING, Given((words,), YES))

    assert (planned.msgs, planned.history) == ((words,), (HI,))


def test_other_things_than_words_beside_answers_are_refused() -> None:
    picture = UserMessage(DataBlock(Base64Source("image/png", "AAAA")))
    with pytest.raises(ConfigurationError, match="DataBlock, and becomes a hint"):
        plan(ASKING, Given((picture,), YES))


@pytest.mark.parametrize("before", [FRESH, FINISHED])
@pytest.mark.parametrize("answers", [YES, PAID])
def test_answers_are_stale_where_no_reply_waits(before: AgentState, answers: Any) -> None:
    with pytest.raises(AnswerError, match="no reply waits for answers"):
        plan(before, given(answers))


@pytest.mark.parametrize(
    ("before", "answers"), [(CUT, YES), (OPEN, YES), (OPEN, PAID), (ASKING, PAID), (WAITING, YES)]
)
def test_answers_of_the_other_kind_or_before_the_question_are_refused(
    before: AgentState, answers: Any
) -> None:
    with pytest.raises(AnswerError, match=r"; (nothing|what) (asks|waits)"):
        plan(before, given(answers))


@pytest.mark.parametrize(("before", "ids"), [(OPEN, ("a", "x")), (ASKING, ("a", "x")), (WAITING, ("x",))])
def test_ordinary_input_is_refused_while_calls_are_open(before: AgentState, ids: tuple[str, ...]) -> None:
    with pytest.raises(OpenCallsError) as refused:
        plan(before, given("hi again"))

    assert refused.value.tool_call_ids == ids


@pytest.mark.parametrize("before", [FRESH, FINISHED, CUT])
def test_ordinary_input_begins_a_new_reply(before: AgentState) -> None:
    again = UserMessage("hi again")
    planned = plan(before, given(again))

    assert planned.reply_id not in ("", "r")
    assert (planned.history, planned.msgs, planned.resumed) == (before.context, (again,), None)


def test_a_message_that_came_with_a_call_that_failed_is_not_taken_twice() -> None:
    assert plan(CUT, given(HI)).msgs == ()


def test_a_message_that_was_answered_may_be_said_once_more() -> None:
    (again,) = plan(FINISHED, given(HI)).msgs

    assert again.text_content == "hi"
    assert again.id != HI.id


def newest(state: AgentState) -> AssistantMessage:
    message = state.context[1]
    assert isinstance(message, AssistantMessage)
    return message


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (FRESH, lambda _: None),
        (FINISHED, lambda _: None),
        (CUT, newest),
        (ASKING, newest),
        (state(*ASK, after=(LATE, AssistantMessage("another", "bot"))), newest),
        (AgentState("s", context=(HI,), reply_id="r", checkpoint={}), lambda _: None),
    ],
)
def test_the_newest_reply_can_be_gone_on_with_until_it_is_finished(
    before: AgentState, expected: Callable[[AgentState], AssistantMessage | None]
) -> None:
    assert resumable(before) == expected(before)
