"""Hooks around questions, denials and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import reactivex as rx
from attrs import evolve
from reactivex import Observable, operators as ops
from reactivex.disposable import SerialDisposable

from agentscope_rx import event as ev
from agentscope_rx.agent import ConfirmResults, ReActAgent, RuntimeContext
from agentscope_rx.context import RuntimeContext as Context
from agentscope_rx.errors import MiddlewareProtocolWarning, ModelConnectionError
from agentscope_rx.message import GenerateReason, HintBlock, ToolUseBlock, UserMessage
from agentscope_rx.middleware import (
    ActingInput,
    AgentInput,
    MiddlewareBase,
    Phase,
    on_acting,
    on_agent,
    on_reasoning,
)
from agentscope_rx.operators import map_type
from agentscope_rx.permission import PermissionContextState, PermissionDecision
from agentscope_rx.testing import ScriptedModel, check_call, tool_call
from agentscope_rx.tool import tool
from tests.agent.asking import (
    CTX,
    Conversation,
    Desk,
    Home,
    allow,
    answered,
    asked,
    deny,
    ended,
    every,
    handed_out,
    only,
    outcomes,
    results,
    states,
    text_of,
)

Events = Observable[ev.AgentEvent]

TWO_WRITES = [tool_call("write", path="/a"), tool_call("write", path="/b")]


class Acting(MiddlewareBase):
    """A hook around acting that is a function of the input and of what comes next."""

    def __init__(self, hook: Callable[[ActingInput, Phase[ActingInput]], Events]) -> None:
        self._hook = hook

    def on_acting(self, agent: Any, ctx: Context, input: ActingInput, next: Phase[ActingInput]) -> Events:
        return self._hook(input, next)


def without(*kinds: type[ev.AgentEvent]) -> MiddlewareBase:
    return on_acting(ops.filter(lambda event: not isinstance(event, kinds)))


# Dropping.


def test_a_hook_that_drops_the_question_and_the_stop_has_skipped_the_calls() -> None:
    talk = Conversation(
        TWO_WRITES, "Fine.", middlewares=[without(ev.RequireUserConfirmEvent, ev.RequestStopEvent)]
    )
    record = talk.call("go")

    assert [(state, text) for _, state, text in results(record)] == [
        ("error", "Error: not run: a middleware skipped this call")
    ] * 2
    assert (ended(record), talk.desk.did) == (GenerateReason.MODEL_STOP, [])


def test_a_hook_that_drops_only_the_question_stops_and_nothing_given_comes_back_to_it() -> None:
    dropped: list[ev.AgentEvent] = []

    def first_one(event: ev.RequireUserConfirmEvent) -> ev.AgentEvent | None:
        dropped.append(event)
        return event if len(dropped) > 1 else None

    talk = Conversation(TWO_WRITES, middlewares=[on_acting(map_type(ev.RequireUserConfirmEvent, first_one))])
    record = talk.call("go")

    assert ended(record) is GenerateReason.PERMISSION_ASKING
    assert states(record) == [("write", "pending")] * 2
    assert len(asked(talk.call(None))) == 2


def test_a_hook_that_drops_only_the_stop_does_not_keep_the_call_from_pausing() -> None:
    talk = Conversation(TWO_WRITES, middlewares=[without(ev.RequestStopEvent)])

    assert len(asked(talk.call("go"))) == 2
    assert talk.desk.did == []


def test_a_hook_that_drops_the_results_of_denials_does_not_keep_them_from_the_model() -> None:
    of_a_denial = (ev.ToolResultStartEvent, ev.ToolResultTextDeltaEvent, ev.ToolResultEndEvent)
    talk = Conversation(TWO_WRITES, "ok", middlewares=[without(*of_a_denial)])
    resumed = talk.call(answered(talk.call("go"), False))

    assert [(state, text) for _, state, text in results(resumed)] == [
        ("denied", "Permission denied by user")
    ] * 2


def test_a_hook_that_drops_the_request_for_the_outside_has_skipped_the_call() -> None:
    talk = Conversation(
        [tool_call("pay", amount=1)],
        "ok",
        permission=None,
        middlewares=[without(ev.RequireExternalExecutionEvent)],
    )

    assert [state for _, state, _ in results(talk.call("go"))] == ["error"]


# Answering.


def answering(*confirmed: bool, keeps_stop: bool = False, rules: Any = None) -> MiddlewareBase:
    """A hook that answers a question at once; what it does not confirm or deny stays asked."""

    def answer(event: ev.AgentEvent) -> Events:
        if isinstance(event, ev.RequestStopEvent) and not keeps_stop:
            return rx.empty()
        if not isinstance(event, ev.RequireUserConfirmEvent):
            return rx.of(event)
        answers = [
            ev.ConfirmResult(yes, call, rules) for yes, call in zip(confirmed, event.tool_calls, strict=False)
        ]
        return rx.of(event, ev.UserConfirmResultEvent(event.reply_id, answers))

    return on_acting(ops.concat_map(answer))


def test_a_hook_may_answer_itself_and_the_call_runs_on_without_a_pause() -> None:
    talk = Conversation(TWO_WRITES, "Done.", middlewares=[answering(True, True)])
    record = talk.call("go")

    assert ended(record) is GenerateReason.MODEL_STOP
    assert talk.desk.did == ["write /a", "write /b"]
    assert [name for name in record.names if "Confirm" in name] == ["RequireUserConfirm", "UserConfirmResult"]
    assert states(record) == [("write", "finished")] * 2
    assert text_of(record) == "Done."


def test_a_hook_may_deny_itself() -> None:
    talk = Conversation(TWO_WRITES, "Then not.", middlewares=[answering(False, False)])
    record = talk.call("go")

    assert [state for _, state, _ in results(record)] == ["denied", "denied"]
    assert len(only(record, ev.AllToolsDeniedEvent).denied_tool_calls) == 2
    assert ended(record) is GenerateReason.MODEL_STOP


def test_a_hook_that_answers_some_leaves_the_others_to_the_human() -> None:
    talk = Conversation(
        TWO_WRITES, "Done.", middlewares=[answering_once(lambda calls: [ev.ConfirmResult(True, calls[0])])]
    )
    record = talk.call("go")

    assert talk.desk.did == ["write /a"]
    first, second = every(record, ev.RequireUserConfirmEvent)
    assert [call.input["path"] for call in first.tool_calls] == ["/a", "/b"]
    assert [call.input["path"] for call in second.tool_calls] == ["/b"]
    assert ended(record) is GenerateReason.PERMISSION_ASKING
    resumed = talk.call(ConfirmResults(ev.ConfirmResult(True, second.tool_calls[0])))
    assert talk.desk.did == ["write /a", "write /b"]
    assert ended(resumed) is GenerateReason.MODEL_STOP


def answering_once(answers: Callable[[Any], list[ev.ConfirmResult]]) -> MiddlewareBase:
    said: list[ev.AgentEvent] = []

    def answer(event: ev.AgentEvent) -> Events:
        if said and said[-1] is not event and isinstance(event, ev.RequestStopEvent) and len(said) == 1:
            said.append(event)
            return rx.empty()
        if not isinstance(event, ev.RequireUserConfirmEvent) or said:
            return rx.of(event)
        said.append(event)
        return rx.of(event, ev.UserConfirmResultEvent(event.reply_id, answers(event.tool_calls)))

    return on_acting(ops.concat_map(answer))


def test_an_answer_behind_the_stop_withdraws_it() -> None:
    def answer(event: ev.AgentEvent) -> Events:
        if isinstance(event, ev.RequireUserConfirmEvent):
            asked_for.append(event)
        if not isinstance(event, ev.RequestStopEvent):
            return rx.of(event)
        answers = [ev.ConfirmResult(True, call) for call in asked_for[-1].tool_calls]
        return rx.of(event, ev.UserConfirmResultEvent(event.reply_id, answers))

    asked_for: list[ev.RequireUserConfirmEvent] = []
    talk = Conversation(TWO_WRITES, "Done.", middlewares=[on_acting(ops.concat_map(answer))])
    record = talk.call("go")

    assert ended(record) is GenerateReason.MODEL_STOP
    assert talk.desk.did == ["write /a", "write /b"]


def test_an_answer_before_the_stop_leaves_the_stop_and_nothing_given_goes_on_unasked() -> None:
    talk = Conversation(TWO_WRITES, "Done.", middlewares=[answering(True, True, keeps_stop=True)])
    record = talk.call("go")

    assert ended(record) is GenerateReason.PERMISSION_ASKING
    assert states(record) == [("write", "allowed")] * 2
    resumed = talk.call(None)
    assert ended(resumed) is GenerateReason.MODEL_STOP
    assert talk.desk.did == ["write /a", "write /b"]


def test_rules_that_a_hook_accepts_are_kept(home: Home) -> None:
    talk = Conversation(
        TWO_WRITES[:1],
        TWO_WRITES[1:],
        "Done.",
        home=home,
        middlewares=[answering(True, rules=[allow("write")])],
    )
    record = talk.call("go")

    assert len(every(record, ev.RequireUserConfirmEvent)) == 1
    assert talk.state.permission_context.allow_rules == {"write": (allow("write"),)}


# Twice, and not at all.


def twice(input: ActingInput, next: Phase[ActingInput]) -> Events:
    return rx.concat(next(input), next(input))


def test_a_hook_that_calls_next_twice_asks_once_and_denies_once() -> None:
    talk = Conversation(
        [tool_call("read", path="/r"), *TWO_WRITES, tool_call("shell", command="x")],
        "Done.",
        middlewares=[Acting(twice)],
        permission=PermissionContextState(deny_rules={"shell": [deny("shell")]}),
    )
    paused = talk.call("go")
    assert len(asked(paused)) == 2
    assert paused.names.count("RequestStop") == 1
    assert [name for name, _, _ in results(paused)] == ["shell", "read"]

    resumed = talk.call(answered(paused, False))
    assert talk.desk.did == ["read /r"]
    assert len(every(resumed, ev.ToolResultEndEvent)) == 2


def test_a_hook_that_calls_next_twice_says_once_that_all_are_denied() -> None:
    talk = Conversation(TWO_WRITES, "Done.", middlewares=[Acting(twice)])
    resumed = talk.call(answered(talk.call("go"), False))

    assert len(only(resumed, ev.AllToolsDeniedEvent).denied_tool_calls) == 2


def test_a_hook_that_calls_next_twice_does_not_suspend_a_tool_twice() -> None:
    talk = Conversation(
        [tool_call("phone", number="112"), tool_call("pay", amount=1)],
        "Done.",
        middlewares=[Acting(twice)],
        permission=None,
    )
    paused = talk.call("go")

    assert sorted(call.name for call in handed_out(paused)) == ["pay", "phone"]
    assert talk.desk.did == ["phone 112"]
    assert ended(talk.call(outcomes(*handed_out(paused)))) is GenerateReason.MODEL_STOP


def test_a_hook_that_tries_again_asks_the_same_question() -> None:
    failures = [ModelConnectionError("down")]

    def fail_once(event: ev.AgentEvent) -> ev.AgentEvent:
        if isinstance(event, ev.RequestStopEvent) and failures:
            raise failures.pop()
        return event

    talk = Conversation(
        [tool_call("read", path="/r"), *TWO_WRITES],
        middlewares=[on_acting(lambda events: events.pipe(ops.map(fail_once), ops.retry(2)))],
    )
    paused = talk.call("go")

    assert len(asked(paused)) == 2
    assert talk.desk.did == ["read /r"]


def test_next_is_cold_also_as_to_permission() -> None:
    judged: list[str] = []

    def judge(input: Any, _: Any) -> PermissionDecision:
        judged.append(input["path"])
        return PermissionDecision.allow()

    @tool(check_permission=judge)
    def act(path: str) -> str:
        """Act."""
        return path

    def late(input: ActingInput, next: Phase[ActingInput]) -> Events:
        events = next(input)
        judged.append("nothing yet")
        return events

    talk = Conversation([tool_call("act", path="/a")], "ok", toolkit=[act], middlewares=[Acting(late)])
    talk.call("go")

    assert judged == ["nothing yet", "/a"]


def test_a_hook_that_does_not_call_next_leaves_nobody_asked_and_denials_are_given_all_the_same() -> None:
    silent: list[bool] = []

    def maybe(input: ActingInput, next: Phase[ActingInput]) -> Events:
        return rx.empty() if silent else next(input)

    talk = Conversation(TWO_WRITES, "ok", middlewares=[Acting(maybe)])
    paused = talk.call("go")
    silent.append(True)
    resumed = talk.call(answered(paused, True, False))

    assert [(state, text) for _, state, text in results(resumed)] == [
        ("error", "Error: not run: a middleware skipped this call"),
        ("denied", "Permission denied by user"),
    ]


def test_a_hook_may_ask_about_the_calls_one_by_one_and_all_are_answered_at_once() -> None:
    def one_by_one(input: ActingInput, next: Phase[ActingInput]) -> Events:
        return rx.concat(*[next(evolve(input, tool_calls=[call])) for call in input.tool_calls])

    talk = Conversation(TWO_WRITES, "ok", middlewares=[Acting(one_by_one)])
    paused = talk.call("go")
    questions = every(paused, ev.RequireUserConfirmEvent)
    assert [[call.input["path"] for call in question.tool_calls] for question in questions] == [
        ["/a"],
        ["/b"],
    ]
    answers = [ev.ConfirmResult(True, question.tool_calls[0]) for question in questions]
    talk.call(ConfirmResults(answers))

    assert talk.desk.did == ["write /a", "write /b"]


# Changing the calls.


def test_a_call_that_a_hook_leaves_out_is_not_asked_about_and_is_closed_in_the_end() -> None:
    def only_a(input: ActingInput, next: Phase[ActingInput]) -> Events:
        return next(evolve(input, tool_calls=[c for c in input.tool_calls if c.input["path"] == "/a"]))

    talk = Conversation(TWO_WRITES, "ok", middlewares=[Acting(only_a)])
    paused = talk.call("go")
    assert [call.input["path"] for call in asked(paused)] == ["/a"]
    resumed = talk.call(answered(paused, True))

    assert results(resumed) == [
        ("write", "success", "wrote /a"),
        ("write", "error", "Error: not run: a middleware skipped this call"),
    ]


def rewriting(**input: Any) -> MiddlewareBase:
    def rewritten(call: ToolUseBlock) -> ToolUseBlock:
        return evolve(call, input={**call.input, **input}, content=None)

    def hook(given: ActingInput, next: Phase[ActingInput]) -> Events:
        return next(evolve(given, tool_calls=[rewritten(call) for call in given.tool_calls]))

    return Acting(hook)


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/free/a", "success"), ("/etc/a", "denied"), ("/else", "asks")],
)
def test_permission_is_judged_on_the_arguments_that_next_receives(path: str, expected: str) -> None:
    talk = Conversation(
        [tool_call("write", path="/model/said")],
        "ok",
        middlewares=[rewriting(path=path)],
        permission=PermissionContextState(
            allow_rules={"write": [allow("write", "/free/**"), allow("write", "/model/**")]},
            deny_rules={"write": [deny("write", "/etc/**")]},
        ),
    )
    record = talk.call("go")

    if expected == "asks":
        (call,) = asked(record)
        assert call.input == {"path": path}
        talk.call(answered(record, True))
    else:
        assert [state for _, state, _ in results(record)] == [expected]
    assert talk.desk.did == ([] if expected == "denied" else [f"write {path}"])


def test_a_hook_may_send_a_call_to_another_tool_and_permission_is_that_tools() -> None:
    def elsewhere(input: ActingInput, next: Phase[ActingInput]) -> Events:
        return next(evolve(input, tool_calls=[evolve(call, name="read") for call in input.tool_calls]))

    talk = Conversation([tool_call("write", path="/a")], "ok", middlewares=[Acting(elsewhere)])

    assert results(talk.call("go")) == [("read", "success", "text of /a")]


# Around the whole call.


class Watching(MiddlewareBase):
    """Notes what each hook is given, and in which session."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self._name = name
        self._seen = seen

    def _note(self, hook: str, ctx: Context, more: object = "") -> None:
        self._seen.append(f"{self._name} {hook} {ctx.session_id} {more}".rstrip())

    def on_agent(self, agent: Any, ctx: Context, input: AgentInput, next: Any) -> Events:
        self._note("agent", ctx, " ".join(msg.text_content for msg in input.msgs))
        return next(input)

    def on_reasoning(self, agent: Any, ctx: Context, input: Any, next: Any) -> Events:
        self._note("reasoning", ctx)
        return next(input)

    def on_acting(self, agent: Any, ctx: Context, input: ActingInput, next: Any) -> Events:
        self._note("acting", ctx, " ".join(call.name for call in input.tool_calls))
        return next(input)

    def on_model_call(self, agent: Any, ctx: Context, input: Any, next: Any) -> Events:
        self._note("model_call", ctx)
        return next(input)

    def on_system_prompt(self, agent: Any, ctx: Context, prompt: str) -> str:
        self._note("system_prompt", ctx)
        return prompt


@pytest.mark.parametrize("way", ["call", "stream_events", "reply"])
@pytest.mark.parametrize("ctx", [None, RuntimeContext("monday")])
def test_however_an_agent_is_called_the_same_hooks_run_in_the_same_order_with_the_session_bound(
    way: str, ctx: Any
) -> None:
    seen: list[str] = []
    desk = Desk()
    friday = ReActAgent(
        "Friday",
        model=ScriptedModel([tool_call("write", {"path": "/a"}, "c1")], "Done."),
        toolkit=[desk],
        permission="default",
        middlewares=[Watching("outer", seen), Watching("inner", seen)],
    )
    method: Any = getattr(friday, way)
    method("go", ctx).run()
    method(ConfirmResults(ev.ConfirmResult(True, ToolUseBlock("c1", "write"))), ctx).run()

    session = "Friday" if ctx is None else "monday"
    phases = ["agent {} go", "system_prompt {}", "reasoning {}", "model_call {}", "acting {} write"]
    resumed = ["agent {}", "acting {} write", "system_prompt {}", "reasoning {}", "model_call {}"]
    assert seen == [
        f"{name} {phase.format(session)}" for phase in (*phases, *resumed) for name in ("outer", "inner")
    ]
    assert desk.did == ["write /a"]


def test_on_agent_sees_the_answers_and_what_is_said_beside_them() -> None:
    seen: list[str] = []
    talk = Conversation(TWO_WRITES[:1], "ok", middlewares=[Watching("a", seen)])
    (call,) = asked(talk.call("go"))
    metadata = {"agentscope_confirm_results": [ev.ConfirmResult(True, call)]}
    talk.call(UserMessage("ann", "but hurry", metadata=metadata))

    assert [line for line in seen if "agent" in line] == ["a agent monday go", "a agent monday but hurry"]


@pytest.mark.parametrize("at", [ev.AgentStartEvent, ev.UserConfirmResultEvent, ev.HintBlockEvent])
def test_an_attempt_that_fails_at_the_opening_is_tried_again_and_takes_answers_and_words_once(
    at: Any,
) -> None:
    failing: list[bool] = []

    def fail_once(event: ev.AgentEvent) -> ev.AgentEvent:
        if failing and isinstance(event, at):
            failing.clear()
            raise ModelConnectionError("down")
        return event

    desk = Desk()
    friday = ReActAgent(
        "Friday",
        model=ScriptedModel(TWO_WRITES, "Done."),
        toolkit=[desk],
        permission="default",
        middlewares=[on_agent(lambda events: events.pipe(ops.map(fail_once), ops.retry(2)))],
    )
    paused = check_call(friday, "go", CTX, outer=True)
    failing.append(True)
    answers = [ev.ConfirmResult(True, call) for call in asked(paused)]
    words = UserMessage("ann", "but hurry", metadata={"agentscope_confirm_results": answers})
    resumed = check_call(friday, words, CTX, outer=True)

    assert resumed.error is None
    assert desk.did == ["write /a", "write /b"]
    stored = friday.get_agent_state(CTX).context[-1]
    assert [hint.hint for hint in stored.get_content_blocks(HintBlock)] == ["but hurry"]
    assert ended(resumed) is GenerateReason.MODEL_STOP


def test_a_hook_around_the_call_that_hides_the_question_does_not_answer_it() -> None:
    friday = ReActAgent(
        "Friday",
        model=ScriptedModel(TWO_WRITES, "Done."),
        toolkit=[Desk()],
        permission="default",
        middlewares=[on_agent(ops.filter(lambda e: not isinstance(e, ev.RequireUserConfirmEvent)))],
    )
    paused = check_call(friday, "go", outer=True)

    assert "RequireUserConfirm" not in paused.names
    assert states_of(friday) == ["asking", "asking"]


def states_of(agent: ReActAgent) -> list[str]:
    message = agent.get_agent_state().context[-1]
    return [call.state.value for call in message.get_content_blocks(ToolUseBlock)]


# Attempts that were superseded.


def test_calls_of_an_attempt_that_was_tried_again_do_not_run_when_the_call_is_left_and_gone_on_with() -> None:
    def fail_once(event: ev.AgentEvent) -> ev.AgentEvent:
        if isinstance(event, ev.ModelCallEndEvent) and failures:
            raise failures.pop()
        return event

    desk, failures = Desk(), [ModelConnectionError("down")]
    friday = ReActAgent(
        "Friday",
        model=ScriptedModel([tool_call("write", path="/first")], [tool_call("write", path="/second")], "ok"),
        toolkit=[desk],
        middlewares=[on_reasoning(lambda events: events.pipe(ops.map(fail_once), ops.retry(2)))],
    )
    with pytest.warns(MiddlewareProtocolWarning):
        left = asyncio.run(left_at_the_end_of_reasoning(friday))
    assert len([event for event in left if isinstance(event, ev.ToolCallEndEvent)]) == 2
    resumed = check_call(friday)

    assert desk.did == ["write /second"]
    assert [(state, text) for _, state, text in results(resumed)] == [
        ("error", "Error: not run: superseded by a retry of the model call"),
        ("success", "wrote /second"),
    ]


async def left_at_the_end_of_reasoning(agent: ReActAgent) -> list[ev.AgentEvent]:
    """Call an agent, and leave it behind the second attempt of its model call."""
    events: list[ev.AgentEvent] = []

    def take(event: ev.AgentEvent) -> None:
        events.append(event)
        if isinstance(event, ev.ModelCallEndEvent) and len(agent.model.calls) == 2:
            subscription.dispose()

    subscription = SerialDisposable()
    subscription.disposable = agent.call("go").subscribe(take)
    while not subscription.is_disposed:
        await asyncio.sleep(0.001)
    return events
