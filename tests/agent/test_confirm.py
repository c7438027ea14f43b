"""A call asks, waits for the human, and goes on: in the same agent, or in another process."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import evolve
from reactivex import operators as ops

from agentscope_rx import event as ev, wire
from agentscope_rx.agent import ConfirmResults, ReActAgent, RuntimeContext
from agentscope_rx.errors import AnswerError, OpenCallsError
from agentscope_rx.message import (
    ChatUsage,
    GenerateReason,
    HintBlock,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.middleware import on_acting
from agentscope_rx.operators import ReplyFold, map_type
from agentscope_rx.permission import PermissionContextState, PermissionRule
from agentscope_rx.state import AgentState
from agentscope_rx.testing import CallRecord, ScriptedModel, acheck_call, check_call, tool_call
from agentscope_rx.tool import tool
from tests.agent.asking import (
    CTX,
    Conversation,
    Desk,
    Home,
    allow,
    answered,
    ask,
    asked,
    deny,
    edited,
    ended,
    every,
    only,
    results,
    states,
    text_of,
)
from tests.agent.stores import Watched

CASES: Final = Path(__file__).parents[1] / "cases" / "events"

TWO_WRITES = ["Let me ", tool_call("write", path="/a"), tool_call("write", path="/b")]


# The question.


def test_a_call_asks_with_the_state_the_rules_and_a_stop_and_runs_nothing() -> None:
    talk = Conversation(TWO_WRITES)
    paused = talk.call("go")

    assert paused.names[-5:] == [
        "ModelCallEnd",
        "RequireUserConfirm",
        "RequestStop",
        "AgentResult",
        "AgentEnd",
    ]
    confirm = only(paused, ev.RequireUserConfirmEvent)
    assert [(call.name, call.input, call.state) for call in confirm.tool_calls] == [
        ("write", {"path": "/a"}, ToolCallState.ASKING),
        ("write", {"path": "/b"}, ToolCallState.ASKING),
    ]
    assert list(confirm.suggested_rules) == [call.id for call in confirm.tool_calls]
    assert only(paused, ev.RequestStopEvent).generate_reason is GenerateReason.PERMISSION_ASKING
    assert ended(paused) is GenerateReason.PERMISSION_ASKING
    assert paused.message is not None
    assert paused.message.generate_reason is GenerateReason.PERMISSION_ASKING
    assert states(paused) == [("write", "asking")] * 2
    assert talk.desk.did == []


def test_a_call_that_only_reads_is_not_asked_about() -> None:
    talk = Conversation([tool_call("read", path="/a")], "done")

    assert results(talk.call("go")) == [("read", "success", "text of /a")]


def test_suggested_rules_are_narrow_and_each_alone_avoids_the_question() -> None:
    script = [tool_call("write", path="/notes/a"), tool_call("shell", command="git status")]
    talk = Conversation(script)
    confirm = only(talk.call("go"), ev.RequireUserConfirmEvent)

    rules = list(confirm.suggested_rules.values())
    assert rules == [
        (PermissionRule("write", "/notes/**", source="suggested"),),
        (PermissionRule("shell", "git status", source="suggested"),),
    ]
    for (rule,) in rules:
        again = Conversation(
            script, "x", permission=PermissionContextState(allow_rules={rule.tool_name: [rule]})
        )
        assert rule.tool_name not in {call.name for call in asked(again.call("go"))}


# The answer.


def test_what_is_confirmed_runs_and_the_reply_goes_on_under_its_id(home: Home) -> None:
    talk = Conversation(TWO_WRITES, "Both are written.", home=home)
    paused = talk.call("go")
    resumed = talk.call(answered(paused, True))

    assert resumed.names[:2] == ["AgentStart", "UserConfirmResult"]
    assert (
        only(resumed, ev.UserConfirmResultEvent).reply_id == only(paused, ev.RequireUserConfirmEvent).reply_id
    )
    assert talk.desk.did == ["write /a", "write /b"]
    assert results(resumed) == [("write", "success", "wrote /a"), ("write", "success", "wrote /b")]
    assert states(resumed) == [("write", "finished")] * 2
    assert ended(resumed) is GenerateReason.MODEL_STOP
    hi, reply = talk.state.context
    assert (hi.text_content, reply.text_content) == ("go", "Let me \nBoth are written.")


def test_what_is_denied_has_a_denied_result_and_the_model_is_told(home: Home) -> None:
    talk = Conversation(TWO_WRITES, "Then not.", home=home)
    resumed = talk.call(answered(talk.call("go"), True, False))

    b = asked(talk.records[0])[1].id
    triple = [
        event for event in resumed.events if isinstance(event, ev.ToolEvent) and event.tool_call_id == b
    ]
    assert [type(event) for event in triple] == [
        ev.ToolResultStartEvent,
        ev.ToolResultTextDeltaEvent,
        ev.ToolResultEndEvent,
    ]
    assert results(resumed) == [
        ("write", "denied", "Permission denied by user"),
        ("write", "success", "wrote /a"),
    ]
    assert talk.desk.did == ["write /a"]
    told = talk.model.calls[1].messages[-1].get_content_blocks(ToolResultBlock)
    assert {result.text_content for result in told} == {"Permission denied by user", "wrote /a"}


def test_a_call_runs_with_the_arguments_that_the_human_has_edited(home: Home) -> None:
    talk = Conversation([tool_call("write", path="/etc/a", text="x")], "ok", home=home)
    (call,) = asked(talk.call("go"))
    resumed = talk.call(edited(call, input={"path": "/tmp/a", "text": "x"}))

    assert talk.desk.did == ["write /tmp/a x"]
    assert resumed.message is not None
    [shown] = resumed.message.get_content_blocks(ToolUseBlock)
    assert (shown.input, shown.content) == ({"path": "/tmp/a", "text": "x"}, '{"path":"/tmp/a","text":"x"}')
    (answer,) = only(resumed, ev.UserConfirmResultEvent).confirm_results
    assert answer.tool_call is not None
    assert answer.tool_call.input["path"] == "/tmp/a"


@pytest.mark.parametrize(
    ("changes", "did"),
    [
        ({"content": '{"path": "/tmp/a"}', "input": {}}, "write /tmp/a"),
        ({"content": None, "input": {"path": "/tmp/a"}}, "write /tmp/a"),
        ({"content": '{"path": "/etc/a"}', "input": {"path": "/tmp/a"}}, "write /tmp/a"),
        ({"content": None, "input": {}}, "write /etc/a"),
        ({"content": None, "input": {}, "name": ""}, "write /etc/a"),
        ({"name": "shell", "content": None, "input": {"command": "ls"}}, "shell ls"),
    ],
    ids=["raw text alone", "input alone", "input beside the old text", "nothing", "no name", "another tool"],
)
def test_an_edit_counts_as_far_as_it_goes(changes: dict[str, Any], did: str) -> None:
    talk = Conversation([tool_call("write", path="/etc/a")], "ok")
    (call,) = asked(talk.call("go"))
    talk.call(edited(call, **changes))

    assert talk.desk.did == [did]


def test_an_edit_that_does_not_fit_has_an_error_result() -> None:
    talk = Conversation([tool_call("write", path="/etc/a")], "ok")
    (call,) = asked(talk.call("go"))
    resumed = talk.call(edited(call, content=None, input={"path": 1}))

    [(name, state, text)] = results(resumed)
    assert (name, state) == ("write", "error")
    assert "$.path" in text
    assert talk.desk.did == []


def test_an_edit_into_a_tool_that_a_rule_denies_is_denied() -> None:
    talk = Conversation(
        [tool_call("write", path="/a")],
        "ok",
        permission=PermissionContextState(deny_rules={"shell": [deny("shell", "rm:*")]}),
    )
    (call,) = asked(talk.call("go"))
    resumed = talk.call(edited(call, name="shell", content=None, input={"command": "rm -r /"}))

    assert results(resumed) == [("shell", "denied", "Permission denied by rules")]
    assert talk.desk.did == []


def test_an_answer_whose_call_was_rebuilt_from_json_is_recognised_by_its_id() -> None:
    talk = Conversation([tool_call("write", path="/a")], "ok")
    (call,) = asked(talk.call("go"))
    rebuilt = wire.from_dict(
        ToolUseBlock, {"type": "tool_use", "id": call.id, "name": "write", "state": "ASKING", "extra": [1]}
    )
    resumed = talk.call(ConfirmResults(ev.ConfirmResult(True, rebuilt)))

    assert talk.desk.did == ["write /a"]
    assert every(resumed, ev.RequireUserConfirmEvent) == []


def test_the_arguments_of_a_question_that_differ_from_the_streamed_ones_are_what_runs() -> None:
    """A hook has rewritten the call before it was asked about."""

    def clean(event: ev.RequireUserConfirmEvent) -> ev.RequireUserConfirmEvent:
        calls = [evolve(call, input={"path": "/clean"}, content=None) for call in event.tool_calls]
        return evolve(event, tool_calls=calls)

    talk = Conversation(
        [tool_call("write", path="/dirty")],
        "ok",
        middlewares=[on_acting(map_type(ev.RequireUserConfirmEvent, clean))],
    )
    resumed = talk.call(answered(talk.call("go"), True))

    assert talk.desk.did == ["write /clean"]
    assert resumed.message is not None
    assert resumed.message.get_content_blocks(ToolUseBlock)[0].input == {"path": "/clean"}


def test_reply_gives_the_whole_message_of_a_resumed_reply() -> None:
    talk = Conversation(["Let me ", tool_call("write", path="/a")], "Done.")
    paused = talk.reply("go")
    [call] = paused.get_content_blocks(ToolUseBlock)
    message = talk.reply(ConfirmResults(ev.ConfirmResult(True, call)))

    assert paused.generate_reason is GenerateReason.PERMISSION_ASKING
    assert message == talk.state.context[-1]
    assert message.text_content == "Let me \nDone."
    assert results(message) == [("write", "success", "wrote /a")]


def test_a_reply_may_pause_any_number_of_times_under_one_id(home: Home) -> None:
    steps = [["Step. ", tool_call("write", path=f"/{i}"), ChatUsage(1, 2)] for i in range(5)]
    talk = Conversation(*steps, ["End.", ChatUsage(1, 2)], home=home)
    record = talk.call("go")
    for _ in range(5):
        record = talk.call(answered(record, True))

    assert ended(record) is GenerateReason.MODEL_STOP
    assert record.message is not None
    assert record.message.usage == ChatUsage(6, 12)
    assert talk.desk.did == [f"write /{i}" for i in range(5)]
    assert len(talk.state.context) == 2
    assert len({id(one) for one in talk.records}) == 6
    ids = [block.id for block in record.message.get_content_blocks(ToolUseBlock)]
    assert len(set(ids)) == 5
    assert len({event.id for one in talk.records for event in one.events}) == sum(
        len(one.events) for one in talk.records
    )


def test_the_count_of_rounds_goes_on_over_pauses(home: Home) -> None:
    talk = Conversation(
        *[[tool_call("write", path=f"/{i}")] for i in range(2)], "In short.", home=home, max_iters=2
    )
    resumed = talk.call(answered(talk.call(answered(talk.call("go"), True)), True))

    assert ended(resumed) is GenerateReason.MAX_ITERATIONS
    assert resumed.names.count("ExceedMaxIters") == 1
    assert text_of(resumed) == "In short."


def test_the_session_goes_on_after_a_reply_that_had_paused(home: Home) -> None:
    talk = Conversation([tool_call("write", path="/a")], "one", "two", home=home)
    talk.call(answered(talk.call("go"), True))
    record = talk.call("and now?")

    assert text_of(record) == "two"
    assert [msg.role for msg in talk.state.context] == ["USER", "ASSISTANT"] * 2


# Rules that come with an answer.


def test_an_accepted_rule_holds_from_the_next_call_of_the_tool_on(home: Home) -> None:
    talk = Conversation(
        [tool_call("write", path="/notes/a")],
        [tool_call("write", path="/notes/b"), tool_call("write", path="/etc/c")],
        "done",
        [tool_call("write", path="/notes/d")],
        "done",
        home=home,
    )
    paused = talk.call("go")
    (rules,) = only(paused, ev.RequireUserConfirmEvent).suggested_rules.values()
    paused = talk.call(answered(paused, True, rules=rules))

    assert [call.input["path"] for call in asked(paused)] == ["/etc/c"]
    talk.call(answered(paused, False))
    assert ended(talk.call("once more")) is GenerateReason.MODEL_STOP
    assert talk.desk.did == ["write /notes/a", "write /notes/b", "write /notes/d"]
    assert talk.state.permission_context.allow_rules == {"write": rules}


def test_accepted_rules_are_of_the_session_alone() -> None:
    talk = Conversation([tool_call("write", path="/a")], "done", [tool_call("write", path="/a")])
    talk.call(answered(talk.call("go"), True, rules=[allow("write")]))
    elsewhere = check_call(talk.agent, "go", RuntimeContext("tuesday", "ann"))

    assert len(asked(elsewhere)) == 1


def test_a_rule_is_kept_once_and_the_applications_own_rules_are_not_kept_with_the_session() -> None:
    own = PermissionContextState(allow_rules={"read": [allow("read")]}, ask_rules={"shell": [ask("shell")]})
    talk = Conversation(
        [tool_call("write", path="/a"), tool_call("shell", command="ls")],
        [tool_call("shell", command="ls")],
        "done",
        permission=own,
    )
    rules = [allow("write"), allow("write"), allow("shell")]
    paused = talk.call(answered(talk.call("go"), True, rules=rules))

    assert talk.state.permission_context.allow_rules == {
        "write": (allow("write"),),
        "shell": (allow("shell"),),
    }
    assert talk.state.permission_context.ask_rules == {}
    assert [call.name for call in asked(paused)] == ["shell"], "an accepted rule does not end an ask rule"


def test_a_denial_may_deny_for_the_future_but_allows_nothing(home: Home) -> None:
    talk = Conversation(
        [tool_call("write", path="/a")],
        [tool_call("write", path="/a"), tool_call("shell", command="ls")],
        home=home,
    )
    rules = [allow("shell"), deny("write", "/a")]
    paused = talk.call(answered(talk.call("go"), False, rules=rules))

    assert results(paused) == [
        ("write", "denied", "Permission denied by user"),
        ("write", "denied", "Permission denied by rules"),
    ]
    assert [call.name for call in asked(paused)] == ["shell"]
    assert talk.desk.did == []


def test_rules_are_kept_also_if_the_call_fails_afterwards(home: Home) -> None:
    talk = Conversation([tool_call("write", path="/a")], RuntimeError("the model is down"), home=home)
    failed = talk.call(answered(talk.call("go"), True, rules=[allow("write")]))

    assert isinstance(failed.error, RuntimeError)
    assert talk.state.permission_context.allow_rules == {"write": (allow("write"),)}


# Java's way to answer.


@pytest.mark.parametrize("through_json", [False, True], ids=["as objects", "after JSON"])
def test_answers_may_come_in_the_metadata_of_a_message(through_json: bool, home: Home) -> None:
    talk = Conversation(TWO_WRITES, "ok", home=home)
    calls = asked(talk.call("go"))
    answers = [ev.ConfirmResult(True, calls[0], [allow("write")]), ev.ConfirmResult(False, calls[1])]
    message = UserMessage(content=[], name="user", metadata={"agentscope_confirm_results": answers})
    resumed = talk.call(wire.loads_msg(wire.dumps_msg(message)) if through_json else message)

    assert talk.desk.did == ["write /a"]
    assert every(resumed, ev.HintBlockEvent) == []
    assert talk.state.permission_context.allow_rules == {"write": (allow("write"),)}


def test_answers_may_be_spread_over_messages() -> None:
    talk = Conversation(TWO_WRITES, "ok")
    answers = [ev.ConfirmResult(True, call) for call in asked(talk.call("go"))]
    talk.call([UserMessage(content=[], metadata={"agentscope_confirm_results": [each]}) for each in answers])

    assert talk.desk.did == ["write /a", "write /b"]


def test_what_is_said_beside_answers_becomes_a_hint_that_the_model_sees(home: Home) -> None:
    talk = Conversation([tool_call("write", path="/a")], "ok", home=home)
    (call,) = asked(talk.call("go"))
    message = UserMessage(
        "ann", "but hurry", metadata={"agentscope_confirm_results": [ev.ConfirmResult(True, call)]}
    )
    resumed = talk.call(message)

    assert resumed.names[1:3] == ["UserConfirmResult", "HintBlock"]
    assert resumed.message is not None
    [hint] = resumed.message.get_content_blocks(HintBlock)
    assert (hint.hint, hint.source) == ("but hurry", "ann")
    assert len(talk.state.context) == 2
    seen = talk.model.calls[1].messages[-1]
    assert [type(block) for block in seen.content] == [ToolUseBlock, ToolResultBlock, HintBlock]


# Nothing given, or something else.


def test_nothing_given_asks_the_same_again(home: Home) -> None:
    talk = Conversation(TWO_WRITES, "ok", home=home)
    paused = talk.call("go")
    again = talk.call(None)

    assert again.names == ["AgentStart", "RequireUserConfirm", "RequestStop", "AgentResult", "AgentEnd"]
    assert asked(again) == asked(paused)
    assert only(again, ev.RequireUserConfirmEvent).suggested_rules == (
        only(paused, ev.RequireUserConfirmEvent).suggested_rules
    )
    assert talk.desk.did == []
    talk.call(answered(paused, True))
    assert talk.desk.did == ["write /a", "write /b"]


def test_ordinary_input_is_refused_while_a_call_asks_and_names_the_ways_on(home: Home) -> None:
    talk = Conversation(TWO_WRITES, home=home)
    calls = asked(talk.call("go"))
    before = talk.state
    refused = talk.call("something else")

    assert isinstance(refused.error, OpenCallsError)
    assert refused.error.tool_call_ids == tuple(call.id for call in calls)
    assert all(word in str(refused.error) for word in ("ConfirmResults", "None", "interrupt"))
    assert (refused.events, talk.state) == ((), before)


def of(*answers: tuple[bool, str | None]) -> Any:
    """Answers about the first call, `a`, the second, `b`, one without an id, `-`, or others."""

    def make(a: ToolUseBlock, b: ToolUseBlock) -> ConfirmResults:
        def call(id: str | None) -> ToolUseBlock | None:
            named = {"a": a, "b": b, "-": evolve(a, id=""), None: None}
            return named[id] if id in named else evolve(a, id=id)

        return ConfirmResults([ev.ConfirmResult(yes, call(id)) for yes, id in answers])

    return make


WRONG_ANSWERS = {
    "unknown": of((True, "a"), (True, "b"), (True, "z")),
    "duplicate": of((True, "a"), (True, "a"), (True, "b")),
    "duplicate, and contradicts itself": of((True, "a"), (False, "a"), (True, "b")),
    "missing": of((True, "b")),
    "nameless": of((True, "a"), (True, "b"), (True, "-")),
    "without a call": of((True, "a"), (True, "b"), (True, None)),
    "empty": of(),
    "stale": lambda a, b: evolve(of((True, "a"), (True, "b"))(a, b), reply_id="old"),
    "empty, in a message": lambda a, b: UserMessage(content=[], metadata={"agentscope_confirm_results": []}),
}


@pytest.mark.parametrize("wrong", WRONG_ANSWERS)
def test_answers_that_do_not_fit_are_refused_as_a_whole_and_change_nothing(wrong: str, home: Home) -> None:
    talk = Conversation(TWO_WRITES, "ok", home=home)
    paused = talk.call("go")
    before = talk.state
    refused = talk.call(WRONG_ANSWERS[wrong](*asked(paused)))

    assert isinstance(refused.error, AnswerError)
    assert (refused.events, talk.desk.did) == ((), [])
    assert talk.call(None).error is None
    assert evolve(talk.state, checkpoint=None) == evolve(before, checkpoint=None)
    assert ended(talk.call(answered(paused, True))) is GenerateReason.MODEL_STOP


def test_an_answer_that_comes_twice_is_refused_and_runs_nothing_again(home: Home) -> None:
    talk = Conversation(TWO_WRITES, "ok", home=home)
    answers = answered(talk.call("go"), True)
    talk.call(answers)
    refused = talk.call(answers)

    assert isinstance(refused.error, AnswerError)
    assert "stale" in str(refused.error)
    assert talk.desk.did == ["write /a", "write /b"]


def test_an_answer_that_comes_twice_while_the_reply_waits_for_another_is_refused() -> None:
    talk = Conversation([tool_call("write", path="/a")], [tool_call("write", path="/b")])
    answers = answered(talk.call("go"), True)
    talk.call(answers)
    refused = talk.call(answers)

    assert isinstance(refused.error, AnswerError)
    assert talk.desk.did == ["write /a"]


def test_of_two_answers_at_once_the_first_counts() -> None:
    async def main() -> None:
        desk = Desk()
        agent = ReActAgent(
            "Friday", model=ScriptedModel(TWO_WRITES, "ok"), toolkit=[desk], permission="default"
        )
        paused = await acheck_call(agent, "go")
        yes, no = answered(paused, True), answered(paused, False)
        first, second = agent.call(yes), agent.call(no)
        errors: list[Exception] = []
        done = asyncio.Event()
        first.subscribe(on_error=errors.append)
        second.subscribe(on_error=lambda error: (errors.append(error), done.set()))
        await asyncio.wait_for(done.wait(), 10)

        assert [type(error) for error in errors] == [AnswerError]
        assert desk.did == ["write /a", "write /b"]

    asyncio.run(main())


def test_a_provider_that_uses_its_ids_again_in_every_reply_is_answered_for_the_newest(home: Home) -> None:
    def call(path: str) -> list[Any]:
        return [tool_call("write", {"path": path}, "call_0")]

    talk = Conversation(call("/a"), "one", call("/b"), "two", home=home)
    first = talk.call("go")
    talk.call(answered(first, True))
    second = talk.call("again")
    refused = talk.call(evolve(answered(first, True), reply_id=only(first, ev.AgentStartEvent).reply_id))
    resumed = talk.call(answered(second, False))

    assert [call.id for call in (*asked(first), *asked(second))] == ["call_0", "call_0"]
    assert isinstance(refused.error, AnswerError)
    assert results(resumed) == [("write", "denied", "Permission denied by user")]
    assert talk.desk.did == ["write /a"]


def test_the_ids_of_one_reply_are_unique_so_that_each_answer_finds_its_call(home: Home) -> None:
    def call(path: str, id: str = "call_0") -> Any:
        return tool_call("write", {"path": path}, id)

    talk = Conversation([call("/a")], [call("/b"), call("/c", "call_1")], "done", home=home)
    paused = talk.call(answered(talk.call("go"), True))
    b, c = asked(paused)
    resumed = talk.call(ConfirmResults([ev.ConfirmResult(False, b), ev.ConfirmResult(True, c)]))

    assert len({call.id for call in (*asked(talk.records[0]), b, c)}) == 3
    assert talk.desk.did == ["write /a", "write /c"]
    assert [text for _, _, text in results(resumed)] == ["wrote /a", "Permission denied by user", "wrote /c"]


def test_the_attempts_of_a_recorded_pause_are_refused_and_accepted_as_its_case_says() -> None:
    case = json.loads((CASES / "E14-hitl-paused.json").read_text(encoding="utf-8"))
    fold = ReplyFold()
    for event in case["events"]:
        fold.apply(wire.from_dict(ev.AgentEvent, event))
    ran: list[str] = []
    tools = [noting("rm", ran), noting("mv", ran)]
    talk = Conversation("Done.", toolkit=tools)
    paused = AgentState(
        "monday", "ann", context=[fold.message()], reply_id="r1", checkpoint=fold.checkpoint()
    )
    talk.agent.update_state(lambda _: paused, CTX).run()

    for attempt in case["resume_attempts"]:
        metadata = {"agentscope_confirm_results": attempt["confirmResults"]}
        record = check_call(talk.agent, UserMessage(content=[], metadata=metadata), CTX)
        if attempt["expect"] == "reject":
            assert isinstance(record.error, AnswerError), attempt["reason"]
            assert talk.state == paused
        else:
            assert only(record, ev.UserConfirmResultEvent).reply_id == case["expected"]["replyId"]
            assert sorted(results(record)) == [
                ("mv", "denied", "Permission denied by user"),
                ("rm", "success", "rm ran"),
            ]
    assert ran == ["rm"]


def noting(name: str, ran: list[str]) -> Any:
    def body() -> str:
        ran.append(name)
        return f"{name} ran"

    return tool(name=name, description=name)(body)


# All denied.


def stop_when_all_are_denied(event: ev.AllToolsDeniedEvent) -> ev.AgentEvent:
    return ev.RequestStopEvent("all denied", GenerateReason.ALL_TOOLS_DENIED)


def test_when_all_are_denied_an_event_says_so_and_without_a_hook_the_model_is_asked_again(home: Home) -> None:
    talk = Conversation(TWO_WRITES, "Then not.", home=home)
    resumed = talk.call(answered(talk.call("go"), False))

    denied = only(resumed, ev.AllToolsDeniedEvent)
    assert [call.id for call in denied.denied_tool_calls] == [call.id for call in asked(talk.records[0])]
    names = resumed.names
    assert names.index("AllToolsDenied") > max(i for i, name in enumerate(names) if name == "ToolResultEnd")
    assert text_of(resumed) == "Then not."
    assert ended(resumed) is GenerateReason.MODEL_STOP


def test_a_hook_in_acting_may_stop_when_all_are_denied(home: Home) -> None:
    talk = Conversation(
        TWO_WRITES,
        "not asked",
        home=home,
        middlewares=[on_acting(map_type(ev.AllToolsDeniedEvent, stop_when_all_are_denied))],
    )
    resumed = talk.call(answered(talk.call("go"), False))

    assert ended(resumed) is GenerateReason.ALL_TOOLS_DENIED
    assert resumed.message is not None
    assert resumed.message.generate_reason is GenerateReason.ALL_TOOLS_DENIED
    assert [state for _, state, _ in results(resumed)] == ["denied", "denied"]
    assert len(talk.model.calls) == 1


@pytest.mark.parametrize(
    ("calls", "confirmed", "denied"),
    [
        ([tool_call("write", path="/a"), tool_call("write", path="/b")], (True, False), None),
        ([tool_call("write", path="/a"), tool_call("read", path="/b")], (False,), None),
        ([tool_call("write", path="/a"), tool_call("nowhere")], (False,), None),
        ([tool_call("write", path="/a"), tool_call("shell", command="x")], (False,), ["write", "shell"]),
        ([tool_call("shell", command="x"), tool_call("write", path="/a")], (False,), ["shell", "write"]),
    ],
    ids=["one allowed", "one that reads", "one unknown", "one denied by rule", "a rule's denial first"],
)
def test_the_event_comes_only_if_every_call_of_the_step_was_denied(
    calls: list[Any], confirmed: tuple[bool, ...], denied: list[str] | None
) -> None:
    talk = Conversation(calls, "ok", permission=PermissionContextState(deny_rules={"shell": [deny("shell")]}))
    resumed = talk.call(answered(talk.call("go"), *confirmed))

    found = every(resumed, ev.AllToolsDeniedEvent)
    assert [[call.name for call in event.denied_tool_calls] for event in found] == (
        [denied] if denied else []
    )


def test_denials_by_rule_alone_are_no_such_event() -> None:
    talk = Conversation(
        [tool_call("write", path="/a")],
        "ok",
        permission=PermissionContextState(deny_rules={"write": [deny("write")]}),
    )
    record = talk.call("go")

    assert results(record) == [("write", "denied", "Permission denied by rules")]
    assert every(record, ev.AllToolsDeniedEvent) == []


def test_a_step_behind_one_that_was_allowed_may_be_denied() -> None:
    talk = Conversation([tool_call("write", path="/a")], [tool_call("write", path="/b")], "ok")
    resumed = talk.call(answered(talk.call(answered(talk.call("go"), True)), False))

    (denied,) = only(resumed, ev.AllToolsDeniedEvent).denied_tool_calls
    assert denied.input == {"path": "/b"}


# Left, and gone on with.


def test_a_call_that_is_left_right_behind_the_question_still_asks(home: Home) -> None:
    talk = Conversation(TWO_WRITES, "ok", home=home)
    left = talk.left("go", after=ev.RequireUserConfirmEvent)
    calls = only(left, ev.RequireUserConfirmEvent).tool_calls
    answers = ConfirmResults([ev.ConfirmResult(True, call) for call in calls])

    assert ended(talk.call(answers)) is GenerateReason.MODEL_STOP
    assert talk.desk.did == ["write /a", "write /b"]


def test_a_call_that_is_left_right_behind_the_answer_goes_on_unasked(home: Home) -> None:
    talk = Conversation(TWO_WRITES, "ok", home=home)
    left = talk.left(answered(talk.call("go"), True, False), after=ev.UserConfirmResultEvent)
    assert left.names == ["AgentStart", "UserConfirmResult"]
    resumed = talk.call(None)

    assert every(resumed, ev.RequireUserConfirmEvent) == []
    assert [state for _, state, _ in results(resumed)] == ["denied", "success"]
    assert talk.desk.did == ["write /a"]


def test_a_denied_call_has_its_result_also_if_the_call_was_left_before_it(home: Home) -> None:
    talk = Conversation(TWO_WRITES, "ok", "ok", home=home)
    talk.left(answered(talk.call("go"), False), after=ev.ToolResultEndEvent)
    resumed = talk.call(None)

    assert [text for _, _, text in results(resumed)] == ["Permission denied by user"] * 2
    if home.backend is None:  # else the second denial may be stored with the first
        assert len(every(resumed, ev.ToolResultEndEvent)) == 1
        assert len(only(resumed, ev.AllToolsDeniedEvent).denied_tool_calls) == 2


@pytest.mark.parametrize("after", range(1, 15))
def test_a_resumed_call_may_be_left_behind_any_event_and_runs_nothing_twice(after: int) -> None:
    talk = Conversation(
        [tool_call("write", path="/a"), tool_call("write", path="/b"), tool_call("read", path="/c")],
        "Done.",
        "Done.",
    )
    talk.left(answered(talk.call("go"), True, False), after=after)
    resumed = talk.call(None)
    if every(resumed, ev.RequireUserConfirmEvent):
        resumed = talk.call(answered(resumed, True, False))

    assert ended(resumed) is GenerateReason.MODEL_STOP
    assert sorted(results(resumed)) == [
        ("read", "success", "text of /c"),
        ("write", "denied", "Permission denied by user"),
        ("write", "success", "wrote /a"),
    ]
    assert talk.desk.did.count("read /c") == 1
    ends = [event.tool_call_id for one in talk.records for event in every(one, ev.ToolResultEndEvent)]
    assert len(set(ends)) == 3


def test_answers_and_their_rules_are_stored_when_their_event_goes_out() -> None:
    store, seen = Watched(), []

    def see(event: ev.AgentEvent) -> None:
        if isinstance(event, ev.UserConfirmResultEvent):
            seen.append(store.newest)

    talk = Conversation(TWO_WRITES, "ok", state_store=store)
    answers = answered(talk.call("go"), True, False, rules=[allow("read")])
    talk.agent.call(answers, CTX).pipe(ops.do_action(see)).run()

    (stored,) = seen
    calls = stored.context[-1].get_content_blocks(ToolUseBlock)
    assert [call.state for call in calls] == [ToolCallState.ALLOWED, ToolCallState.FINISHED]
    assert stored.permission_context.allow_rules == {"read": (allow("read"),)}


# Sessions side by side.


def test_two_sessions_that_ask_at_once_about_the_same_ids_do_not_meet() -> None:
    async def main() -> None:
        desk = Desk()

        def answer(asked_for: Any) -> Any:
            if asked_for.results:
                return asked_for.results[-1].text_content
            return [tool_call("write", {"path": f"/{asked_for.text}"}, "call_0")]

        agent = ReActAgent("Friday", model=ScriptedModel(answer), toolkit=[desk], permission="default")
        names = [f"s{number}" for number in range(20)]
        contexts = {name: RuntimeContext(name) for name in names}

        async def talk(name: str) -> None:
            paused = await recorded(agent, name, contexts[name])
            [call] = asked(paused)
            assert (call.id, call.input) == ("call_0", {"path": f"/{name}"})
            await asyncio.sleep(0)
            resumed = await recorded(
                agent, answered(paused, name != "s7", rules=[allow("write", f"/{name}")]), contexts[name]
            )
            expected = "Permission denied by user" if name == "s7" else f"wrote /{name}"
            assert text_of(resumed) == expected

        await asyncio.gather(*map(talk, names))
        assert sorted(desk.did) == sorted(f"write /{name}" for name in names if name != "s7")
        for name in names:
            rules = agent.get_agent_state(contexts[name]).permission_context.allow_rules
            assert rules == ({} if name == "s7" else {"write": (allow("write", f"/{name}"),)})

    asyncio.run(main())


async def recorded(agent: ReActAgent, input: Any, ctx: RuntimeContext) -> CallRecord:
    """A call among others: their tasks are not its own, so that it is only recorded."""
    events: list[ev.AgentEvent] = []
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    agent.call(input, ctx).subscribe(events.append, done.set_exception, lambda: done.set_result(None))
    await asyncio.wait_for(done, 10)
    return CallRecord(tuple(events), None, None)


def test_messages_that_were_observed_while_a_call_asks_stand_behind_the_reply(home: Home) -> None:
    talk = Conversation([tool_call("write", path="/a")], "ok", home=home)
    paused = talk.call("go")
    talk.agent.observe("by the way", CTX).run()
    talk.call(answered(paused, True))

    assert [msg.text_content for msg in talk.state.context] == ["go", "ok", "by the way"]
    seen = talk.model.calls[1].messages
    assert [msg.text_content for msg in seen] == ["go", "", "by the way"]
    assert isinstance(seen[1].content[-1], ToolResultBlock)


def test_the_text_before_the_question_is_there_but_once() -> None:
    talk = Conversation(["Let me ", tool_call("write", path="/a")], "see.")
    resumed = talk.call(answered(talk.call("go"), True))

    assert resumed.message is not None
    assert [block.text for block in resumed.message.get_content_blocks(TextBlock)] == ["Let me ", "see."]
