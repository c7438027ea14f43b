"""Calls whose outcome comes from outside: of external tools, and of tools that suspend themselves."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from reactivex import operators as ops

from agentscope_rx import event as ev
from agentscope_rx.agent import ExternalResults
from agentscope_rx.errors import AnswerError, OpenCallsError
from agentscope_rx.message import (
    Base64Source,
    DataBlock,
    GenerateReason,
    HintBlock,
    TextBlock,
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.model import ToolSchema
from agentscope_rx.permission import PermissionContextState
from agentscope_rx.testing import tool_call
from agentscope_rx.tool import ToolEmitter, tool
from tests.agent.asking import (
    CTX,
    Conversation,
    Home,
    allow,
    answered,
    asked,
    deny,
    ended,
    every,
    handed_out,
    only,
    outcome,
    outcomes,
    results,
    states,
    text_of,
)
from tests.agent.stores import Watched

TWO_PAYMENTS = ["Paying. ", tool_call("pay", amount=1), tool_call("pay", amount=2)]


def talk_about(*script: Any, home: Home | None = None, **options: Any) -> Conversation:
    """A conversation in which nobody has to be asked."""
    return Conversation(*script, home=home, permission=options.pop("permission", None), **options)


# External tools.


def test_an_external_call_is_handed_out_and_has_no_result_before_its_outcome(home: Home) -> None:
    talk = talk_about(TWO_PAYMENTS, "Paid.", home=home)
    paused = talk.call("go")

    assert paused.names[-4:] == ["ModelCallEnd", "RequireExternalExecution", "AgentResult", "AgentEnd"]
    assert [call.input for call in handed_out(paused)] == [{"amount": 1}, {"amount": 2}]
    assert results(paused) == []
    assert states(paused) == [("pay", "submitted")] * 2
    assert paused.message is not None
    assert paused.message.generate_reason is GenerateReason.TOOL_SUSPENDED

    resumed = talk.call(outcomes(*handed_out(paused)))
    event = only(resumed, ev.ExternalExecutionResultEvent)
    assert resumed.names[:3] == ["AgentStart", "ExternalExecutionResult", "ModelCallStart"]
    assert event.reply_id == only(paused, ev.RequireExternalExecutionEvent).reply_id
    assert results(resumed) == [("pay", "success", "done")] * 2
    assert states(resumed) == [("pay", "finished")] * 2
    assert every(resumed, ev.ToolResultStartEvent) == []
    assert ended(resumed) is GenerateReason.MODEL_STOP
    assert text_of(resumed) == "Paid."


def test_an_outcome_is_taken_as_it_is(home: Home) -> None:
    talk = talk_about([tool_call("pay", amount=1)], "Hm.", home=home)
    (call,) = handed_out(talk.call("go"))
    picture = DataBlock(Base64Source("image/png", "AAAA"), "receipt")
    given = ToolResultBlock(
        call.id, "pay", [TextBlock("refused"), picture], {"code": 7}, ToolResultState.ERROR
    )
    resumed = talk.call(ExternalResults(given))

    assert resumed.message is not None
    assert resumed.message.get_content_blocks(ToolResultBlock) == [given]


@pytest.mark.parametrize("state", [ToolResultState.RUNNING, ToolResultState.ERROR])
def test_the_suspended_result_itself_may_be_filled_in_and_the_model_gets_to_see_it(
    state: ToolResultState, home: Home
) -> None:
    talk = talk_about([tool_call("phone", number="112")], "ok", home=home)
    paused = talk.call("go")
    assert paused.message is not None
    [waiting] = paused.message.get_content_blocks(ToolResultBlock)
    resumed = talk.call(ExternalResults(evolve(waiting, output=[TextBlock("busy")], state=state)))

    kept = "success" if state is ToolResultState.RUNNING else "error"
    assert results(resumed) == [("phone", kept, "busy")]
    [told] = talk.model.calls[1].messages[-1].get_content_blocks(ToolResultBlock)
    assert (told.text_content, told.is_suspended) == ("busy", False)


def test_partial_outcomes_are_kept_and_the_rest_is_requested_again(home: Home) -> None:
    talk = talk_about(TWO_PAYMENTS, "Paid.", home=home)
    one, two = handed_out(talk.call("go"))
    paused = talk.call(outcomes(two))

    assert [call.id for call in handed_out(paused)] == [one.id]
    assert results(paused) == [("pay", "success", "done")]
    assert len(talk.model.calls) == 1
    resumed = talk.call(outcomes(one))
    assert ended(resumed) is GenerateReason.MODEL_STOP
    assert results(resumed) == [("pay", "success", "done")] * 2


def test_an_outcome_that_comes_twice_is_refused_and_the_first_one_stays(home: Home) -> None:
    talk = talk_about(TWO_PAYMENTS, "Paid.", home=home)
    one, two = handed_out(talk.call("go"))
    talk.call(ExternalResults(outcome(one, "first")))
    before = talk.state
    refused = talk.call(ExternalResults([outcome(one, "second"), outcome(two)]))

    assert isinstance(refused.error, AnswerError)
    assert refused.error.tool_call_ids == (one.id,)
    assert talk.state == before
    assert results(talk.call(outcomes(two))) == [("pay", "success", "first"), ("pay", "success", "done")]


def test_outcomes_are_stored_when_their_event_goes_out() -> None:
    store, seen = Watched(), []

    def see(event: ev.AgentEvent) -> None:
        if isinstance(event, ev.ExternalExecutionResultEvent):
            seen.append(store.newest)

    talk = talk_about(TWO_PAYMENTS, "Paid.", state_store=store)
    one, _ = handed_out(talk.call("go"))
    talk.agent.call(outcomes(one), CTX).pipe(ops.do_action(see)).run()

    (stored,) = seen
    [result] = stored.context[-1].get_content_blocks(ToolResultBlock)
    assert (result.id, result.state) == (one.id, ToolResultState.SUCCESS)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda one, two: outcomes(one, two, evolve(one, id="z")),
        lambda one, two: outcomes(one, one),
        lambda one, two: outcomes(evolve(one, id="")),
        lambda one, two: outcomes(),
        lambda one, two: ExternalResults(outcome(one), "old"),
        lambda one, two: ToolResultMessage("ann", []),
    ],
    ids=["unknown", "duplicate", "nameless", "empty", "stale", "empty, in a message"],
)
def test_outcomes_that_do_not_fit_are_refused_as_a_whole_and_change_nothing(wrong: Any, home: Home) -> None:
    talk = talk_about(TWO_PAYMENTS, "Paid.", home=home)
    calls = handed_out(talk.call("go"))
    before = talk.state
    refused = talk.call(wrong(*calls))

    assert isinstance(refused.error, AnswerError)
    assert talk.state == before
    assert ended(talk.call(outcomes(*calls))) is GenerateReason.MODEL_STOP


def test_nothing_given_requests_the_same_again(home: Home) -> None:
    talk = talk_about(TWO_PAYMENTS, home=home)
    paused = talk.call("go")
    again = talk.call(None)

    assert again.names == ["AgentStart", "RequireExternalExecution", "AgentResult", "AgentEnd"]
    assert handed_out(again) == handed_out(paused)


def test_ordinary_input_is_refused_while_an_outcome_is_awaited(home: Home) -> None:
    talk = talk_about(TWO_PAYMENTS, home=home)
    calls = handed_out(talk.call("go"))
    before = talk.state
    refused = talk.call("something else")

    assert isinstance(refused.error, OpenCallsError)
    assert refused.error.tool_call_ids == tuple(call.id for call in calls)
    assert "ExternalResults" in str(refused.error)
    assert talk.state == before


def test_outcomes_may_come_as_a_message_of_results_with_words_beside_them(home: Home) -> None:
    talk = talk_about(TWO_PAYMENTS, "Paid.", home=home)
    one, two = handed_out(talk.call("go"))
    paused = talk.call([ToolResultMessage("bank", outcome(one)), UserMessage("ann", "the other one follows")])
    resumed = talk.call(ToolResultMessage("bank", outcome(two)))

    assert [call.id for call in handed_out(paused)] == [two.id]
    assert resumed.message is not None
    [hint] = resumed.message.get_content_blocks(HintBlock)
    assert (hint.hint, hint.source) == ("the other one follows", "ann")
    assert results(resumed) == [("pay", "success", "done")] * 2


def test_a_schema_in_a_toolkit_is_an_external_tool_too(home: Home) -> None:
    schema = ToolSchema(
        "photo",
        "Take a photo.",
        {"type": "object", "properties": {"of": {"type": "string"}}, "required": ["of"]},
    )
    talk = talk_about([tool_call("photo", of="a cat")], "Nice.", home=home, toolkit=[schema])
    (call,) = handed_out(talk.call("go"))

    assert call.input == {"of": "a cat"}
    assert text_of(talk.call(outcomes(call))) == "Nice."


@pytest.mark.parametrize("permission", [None, "default", "dont_ask"])
@pytest.mark.parametrize("arguments", ['{"amount": "much"}', "{oops", "{}", '{"amount": 1, "x": 2}'])
def test_an_external_call_whose_arguments_do_not_fit_is_not_handed_out(
    arguments: str, permission: Any
) -> None:
    talk = talk_about([ToolUseBlock("c1", "pay", content=arguments)], "Again.", permission=permission)
    record = talk.call("go")

    [(name, state, _)] = results(record)
    assert (name, state) == ("pay", "error")
    assert every(record, ev.RequireExternalExecutionEvent) == []
    assert ended(record) is GenerateReason.MODEL_STOP


# With questions.


def test_what_is_allowed_waits_while_another_call_asks(home: Home) -> None:
    talk = Conversation(
        [tool_call("pay", amount=1), tool_call("write", path="/a")],
        "Done.",
        home=home,
        permission=PermissionContextState(allow_rules={"pay": [allow("pay")]}),
    )
    paused = talk.call("go")
    assert [call.name for call in asked(paused)] == ["write"]
    assert every(paused, ev.RequireExternalExecutionEvent) == []
    assert states(paused) == [("pay", "pending"), ("write", "asking")]

    waiting = talk.call(answered(paused, True))
    assert [call.name for call in handed_out(waiting)] == ["pay"]
    assert talk.desk.did == ["write /a"]
    resumed = talk.call(outcomes(*handed_out(waiting)))
    assert results(resumed) == [("write", "success", "wrote /a"), ("pay", "success", "done")]


def test_an_external_call_may_be_asked_about_before_it_is_handed_out(home: Home) -> None:
    talk = Conversation(TWO_PAYMENTS, "Done.", home=home)
    waiting = talk.call(answered(talk.call("go"), True, False))

    assert [call.input["amount"] for call in handed_out(waiting)] == [1]
    assert states(waiting) == [("pay", "submitted"), ("pay", "finished")]
    resumed = talk.call(outcomes(*handed_out(waiting)))
    assert results(resumed) == [("pay", "denied", "Permission denied by user"), ("pay", "success", "done")]


def test_an_external_call_that_a_rule_denies_is_not_handed_out() -> None:
    talk = talk_about(
        [tool_call("pay", amount=1)],
        "ok",
        permission=PermissionContextState(deny_rules={"pay": [deny("pay")]}),
    )

    assert results(talk.call("go")) == [("pay", "denied", "Permission denied by rules")]


def test_all_denied_of_external_calls_is_said_too() -> None:
    talk = Conversation(TWO_PAYMENTS, "ok")
    resumed = talk.call(answered(talk.call("go"), False))

    assert len(only(resumed, ev.AllToolsDeniedEvent).denied_tool_calls) == 2


# Tools that suspend themselves.


def test_a_tool_that_suspends_itself_ends_running_and_is_named_in_the_request(home: Home) -> None:
    talk = talk_about([tool_call("phone", number="112")], "They come.", home=home)
    paused = talk.call("go")

    end = only(paused, ev.ToolResultEndEvent)
    assert (end.state, end.is_suspended) == (ToolResultState.RUNNING, True)
    assert every(paused, ev.ToolResultTextDeltaEvent) == []
    assert [call.name for call in handed_out(paused)] == ["phone"]
    assert results(paused) == [("phone", "running", "")]

    resumed = talk.call(ExternalResults(outcome(handed_out(paused)[0], "on our way")))
    assert results(resumed) == [("phone", "success", "on our way")]
    assert talk.desk.did == ["phone 112"]


def test_a_suspended_tool_does_not_run_again_when_the_request_is_repeated(home: Home) -> None:
    talk = talk_about([tool_call("phone", number="112"), tool_call("pay", amount=1)], "ok", home=home)
    talk.call("go")
    again = talk.call(None)
    waiting = talk.call(outcomes(handed_out(again)[0]))
    resumed = talk.call(outcomes(*handed_out(waiting)))

    assert sorted(call.name for call in handed_out(again)) == ["pay", "phone"]
    assert talk.desk.did == ["phone 112"]
    assert ended(resumed) is GenerateReason.MODEL_STOP


def test_a_suspended_tool_waits_while_another_call_asks_and_does_not_run_again(home: Home) -> None:
    talk = Conversation(
        [tool_call("phone", number="112"), tool_call("write", path="/a")],
        "Done.",
        home=home,
        permission=PermissionContextState(allow_rules={"phone": [allow("phone")]}),
    )
    paused = talk.call("go")
    assert [call.name for call in asked(paused)] == ["write"]
    waiting = talk.call(answered(paused, True))
    assert [call.name for call in handed_out(waiting)] == ["phone"]
    resumed = talk.call(ExternalResults(outcome(handed_out(waiting)[0], "hello")))

    assert results(resumed) == [("phone", "success", "hello"), ("write", "success", "wrote /a")]
    assert talk.desk.did == ["phone 112", "write /a"]


def test_the_outcome_of_a_suspended_tool_may_come_before_the_answer_of_the_human(home: Home) -> None:
    talk = Conversation(
        [tool_call("phone", number="112"), tool_call("write", path="/a")],
        "Done.",
        home=home,
        permission=PermissionContextState(allow_rules={"phone": [allow("phone")]}),
    )
    paused = talk.call("go")
    assert paused.message is not None
    phone = paused.message.get_content_blocks(ToolUseBlock)[0]
    still = talk.call(ExternalResults(outcome(phone, "hello")))

    assert [call.name for call in asked(still)] == ["write"]
    assert every(still, ev.RequireExternalExecutionEvent) == []
    resumed = talk.call(answered(still, False))
    assert results(resumed) == [
        ("phone", "success", "hello"),
        ("write", "denied", "Permission denied by user"),
    ]


def test_what_a_tool_had_given_before_it_suspended_itself_makes_way_for_the_outcome(home: Home) -> None:
    @tool
    async def dictate(out: ToolEmitter) -> ToolResultBlock:
        """Say half of it."""
        out.emit("half of it")
        return ToolResultBlock.suspended(ToolUseBlock("", ""))

    talk = talk_about([tool_call("dictate")], "ok", home=home, toolkit=[dictate])
    paused = talk.call("go")

    assert results(paused) == [("dictate", "running", "half of it")]
    assert results(talk.call(outcomes(*handed_out(paused)))) == [("dictate", "success", "done")]


# Everything in one batch.


def test_a_mixed_batch_runs_what_it_may_asks_and_hands_out_the_rest(home: Home) -> None:
    talk = Conversation(
        [
            tool_call("read", path="/r"),
            tool_call("write", path="/asked"),
            tool_call("write", path="/etc/x"),
            tool_call("pay", amount=1),
            tool_call("nowhere"),
            ToolUseBlock("", "write", content='{"path": '),
            tool_call("phone", number="112"),
            tool_call("shell", command="ls"),
        ],
        "Done.",
        home=home,
        permission=PermissionContextState(
            allow_rules={name: [allow(name)] for name in ("pay", "phone")},
            deny_rules={"write": [deny("write", "/etc/**")]},
        ),
    )
    paused = talk.call("go")

    confirm = paused.names.index("RequireUserConfirm")
    assert "ToolResultEnd" not in paused.names[confirm:]
    assert [(call.name, dict(call.input)) for call in asked(paused)] == [
        ("write", {"path": "/asked"}),
        ("shell", {"command": "ls"}),
    ]
    assert sorted((name, state) for name, state, _ in results(paused)) == [
        ("nowhere", "error"),
        ("phone", "running"),
        ("read", "success"),
        ("write", "denied"),
        ("write", "error"),
    ]
    assert sorted(talk.desk.did) == ["phone 112", "read /r"]

    waiting = talk.call(answered(paused, True, False))
    assert every(waiting, ev.AllToolsDeniedEvent) == []
    assert sorted(call.name for call in handed_out(waiting)) == ["pay", "phone"]
    assert sorted(talk.desk.did) == ["phone 112", "read /r", "write /asked"]

    resumed = talk.call(outcomes(*handed_out(waiting)))
    assert ended(resumed) is GenerateReason.MODEL_STOP
    assert states(resumed) == [
        (name, "finished") for name in ("read", "write", "write", "pay", "nowhere", "write", "phone", "shell")
    ]
    assert sorted((name, state) for name, state, _ in results(resumed)) == [
        ("nowhere", "error"),
        ("pay", "success"),
        ("phone", "success"),
        ("read", "success"),
        ("shell", "denied"),
        ("write", "denied"),
        ("write", "error"),
        ("write", "success"),
    ]
    told = [
        block.id for msg in talk.model.calls[1].messages for block in msg.get_content_blocks(ToolResultBlock)
    ]
    assert len(told) == len(set(told)) == 8


@pytest.mark.parametrize("after", range(1, 40))
def test_a_call_with_everything_in_it_may_be_left_behind_any_event(after: int) -> None:
    """Whatever came of it is there once, and what was begun but not finished is done in the end."""
    talk = Conversation(
        [
            "So. ",
            tool_call("read", path="/r"),
            tool_call("write", path="/a"),
            tool_call("pay", amount=1),
            tool_call("phone", number="112"),
        ],
        *["Done."] * 3,
        permission=PermissionContextState(allow_rules={name: [allow(name)] for name in ("pay", "phone")}),
    )
    record = talk.left("go", after=after)
    for _ in range(6):
        if record.events and isinstance(record.events[-1], ev.AgentEndEvent):
            reason = ended(record)
            if reason is GenerateReason.MODEL_STOP:
                break
            if reason is GenerateReason.PERMISSION_ASKING:
                record = talk.call(answered(record, True))
                continue
            if reason is GenerateReason.TOOL_SUSPENDED:
                record = talk.call(outcomes(*handed_out(record)))
                continue
        record = talk.call(None)

    assert ended(record) is GenerateReason.MODEL_STOP
    assert record.message is not None
    calls = {call.name for call in record.message.get_content_blocks(ToolUseBlock)}
    assert sorted(name for name, _, _ in results(record)) == sorted(calls)
    assert all(state in ("success", "error") for _, state, _ in results(record))
    for did in set(talk.desk.did):
        assert talk.desk.did.count(did) <= 2, "once, and once more where it was torn"
    ends = [event for one in talk.records for event in every(one, ev.ToolResultEndEvent)]
    finished = [event.tool_call_id for event in ends if event.state is not ToolResultState.RUNNING]
    assert len(finished) == len(set(finished))
