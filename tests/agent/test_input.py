"""A call's input, sorted: messages, answers, outcomes; also in the way of Java's programs."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from agentscope_rx import wire
from agentscope_rx.agent import ConfirmResults, ExternalResults
from agentscope_rx.agent._input import Given, given
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import ConfirmResult
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    DataBlock,
    Msg,
    MsgRole,
    SystemMessage,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultMessage,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.permission import PermissionRule

CALL = ToolUseBlock("c1", "write", {"path": "/x"}, '{"path": "/x"}', state=ToolCallState.ASKING)
YES = ConfirmResult(True, CALL, (PermissionRule("write", "/tmp/**"),))
NO = ConfirmResult(False, evolve(CALL, id="c2"))
PAID = ToolResultBlock("p1", "pay", "paid")
HI = UserMessage("hi")


def confirming(results: Any, text: str = "", **more: Any) -> Msg:
    metadata = {"agentscope_confirm_results": results, **more}
    return UserMessage(content=[TextBlock(text)] if text else [], name="ann", metadata=metadata)


def through_json(msg: Msg) -> Msg:
    return wire.loads_msg(wire.dumps_msg(msg))


@pytest.mark.parametrize(
    ("input", "sorted_input"),
    [
        (None, Given()),
        ([], Given()),
        ((), Given()),
        (HI, Given((HI,))),
        ([HI, HI], Given((HI, HI))),
        (ConfirmResults(YES), Given(answers=ConfirmResults([YES]))),
        (ExternalResults(PAID), Given(answers=ExternalResults([PAID]))),
        (confirming([YES, NO]), Given(answers=ConfirmResults([YES, NO]))),
        ([confirming([YES]), confirming([NO])], Given(answers=ConfirmResults([YES, NO]))),
        (ToolResultMessage("ann", PAID), Given(answers=ExternalResults([PAID]))),
        ([ToolResultMessage("ann", PAID), HI], Given((HI,), ExternalResults([PAID]))),
        # answers there are, but none is given: that is for the call to refuse
        (confirming([]), Given(answers=ConfirmResults([]))),
        (Msg("ann", MsgRole.TOOL), Given(answers=ExternalResults([]))),
    ],
)
def test_input_is_sorted(input: Any, sorted_input: Given) -> None:
    assert given(input) == sorted_input


def test_a_string_is_a_message_of_the_user() -> None:
    (msg,) = given("hi").msgs

    assert isinstance(msg, UserMessage)
    assert msg.text_content == "hi"


def test_answers_in_metadata_are_the_same_after_json() -> None:
    sent = confirming([YES, NO])

    assert given(through_json(sent)) == given(sent) == Given(answers=ConfirmResults([YES, NO]))


@pytest.mark.parametrize(
    "written",
    [
        {"confirmed": True, "toolCall": {"type": "tool_use", "id": "c1", "name": "write"}, "rules": None},
        {"confirmed": True, "toolCall": {"id": "c1", "name": "write", "state": "ASKING"}},
        {"confirmed": True, "toolCall": {"id": "c1", "name": "write", "state": "asking", "extra": 1}, "x": 2},
    ],
    ids=["as Java writes it", "without a type, the state in capitals", "with fields that nobody knows"],
)
def test_answers_are_read_generously(written: Any) -> None:
    answers = given(confirming([written])).answers

    assert isinstance(answers, ConfirmResults)
    (answer,) = answers.results
    assert (answer.confirmed, answer.tool_call and answer.tool_call.id) == (True, "c1")


def test_an_answer_that_does_not_say_so_confirms_nothing() -> None:
    answers = given(confirming([{"toolCall": {"id": "c1"}}])).answers

    assert isinstance(answers, ConfirmResults)
    assert not answers.results[0].confirmed


def test_what_else_a_message_with_answers_says_stays_and_so_does_its_other_metadata() -> None:
    sent = confirming([YES], "but hurry", kind="chat")
    (rest,) = given(sent).msgs

    assert (rest.id, rest.name, rest.text_content) == (sent.id, "ann", "but hurry")
    assert rest.metadata == {"kind": "chat"}


def test_what_else_a_message_of_results_says_is_the_users_word() -> None:
    (rest,) = given(ToolResultMessage("ann", PAID, TextBlock("the second one follows"))).msgs

    assert isinstance(rest, UserMessage)
    assert (rest.name, rest.text_content) == ("ann", "the second one follows")


def test_the_results_of_an_assistant_message_are_no_outcomes() -> None:
    spoken = AssistantMessage("friend", PAID)

    assert given(spoken) == Given((spoken,))


@pytest.mark.parametrize(
    ("input", "words"),
    [
        (5, "the input is 5; give a string"),
        (["hi"], "the input holds 'hi'; wrap text in UserMessage"),
        ([YES], "wrap answers in ConfirmResults"),
        ([PAID], "wrap outcomes in ExternalResults"),
        (YES, "wrap answers in ConfirmResults"),
        (PAID, "wrap outcomes in ExternalResults"),
        (SystemMessage("be kind"), "SYSTEM message; use sys_prompt="),
        ([confirming([YES]), ToolResultMessage("ann", PAID)], "both confirm results and tool results"),
        (confirming("yes"), "give a list of ConfirmResult"),
        (confirming({"confirmed": True}), "give a list of ConfirmResult"),
        (confirming(1), "give a list of ConfirmResult"),
        (confirming(["yes"]), "'yes', which is no ConfirmResult"),
        (confirming([{"confirmed": "yes"}]), "$.confirmed: expected bool, got str"),
        (confirming([{"confirmed": True, "toolCall": {"id": 1}}]), "$.toolCall.id"),
    ],
)
def test_what_is_no_input_is_refused_with_the_remedy(input: Any, words: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        given(input)

    assert words in str(refused.value)


@pytest.mark.parametrize("make", [ConfirmResults, ExternalResults])
@pytest.mark.parametrize("results", [None, 5, ["yes"], [DataBlock(Base64Source("image/png", "AAAA"))]])
def test_what_is_no_answer_is_refused_where_it_is_made(make: Any, results: Any) -> None:
    with pytest.raises(ConfigurationError):
        make(results)
