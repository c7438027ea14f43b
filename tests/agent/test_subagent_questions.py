"""What subagents ask: their parents pause, and the answers find them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import reactivex as rx
from attrs import evolve
from reactivex import Observable, operators as ops

from agentscope_rx import event as ev, wire
from agentscope_rx.agent import ConfirmResults, ExternalResults, ReActAgent, RuntimeContext, agent_tool
from agentscope_rx.errors import AnswerError, OpenCallsError, ToolSuspendError
from agentscope_rx.message import (
    GenerateReason,
    HintBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.permission import (
    PermissionBehavior,
    PermissionContextState,
    PermissionDecision,
    PermissionRule,
)
from agentscope_rx.state import AgentState
from agentscope_rx.store import InMemoryAgentStateStore, JsonFileAgentStateStore
from agentscope_rx.testing import (
    CallRecord,
    ScriptedCall,
    ScriptedModel,
    check_call,
    check_disposal,
    check_subagents,
    tool_call,
)
from agentscope_rx.tool import ToolEmitter, external_tool, tool

ran: list[str] = []
heard: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


def sure(_: Any, __: PermissionContextState) -> PermissionDecision:
    return PermissionDecision.ask("sure?")


@tool(check_permission=sure)
def remove(path: str) -> str:
    """Remove a file."""
    ran.append(path)
    return f"removed {path}"


pay = external_tool("pay", "Pay.", {"type": "object", "properties": {"sum": {"type": "integer"}}})


def agent(name: str, *calls: ToolUseBlock, says: str = "", **options: Any) -> ReActAgent:
    """An agent that makes calls, and says something when it has all their results; any number of times."""

    def step(asked: ScriptedCall) -> Any:
        return list(calls) if len(asked.results) < len(calls) else says or name.upper()

    return ReActAgent(name, model=ScriptedModel(step), **options)


def asks(name: str, id: str) -> ToolUseBlock:
    return tool_call(f"call_{name}", {"message": "go"}, id)


def removes(path: str, id: str = "r") -> ToolUseBlock:
    return tool_call("remove", {"path": path}, id)


def family(**options: Any) -> ReActAgent:
    """Three agents deep; the grandchild asks before it removes."""
    grand = agent("grand", removes("/x"), toolkit=[remove])
    child = agent("child", asks("grand", "k2"), toolkit=[grand])
    return agent("parent", asks("child", "k1"), toolkit=[child], **options)


def twins(*own: ToolUseBlock) -> ReActAgent:
    """Two children that ask under the same call id, and what the parent asks itself."""
    anna = agent("anna", removes("/a"), toolkit=[remove])
    bert = agent("bert", removes("/b"), toolkit=[remove])
    return agent("parent", asks("anna", "k1"), asks("bert", "k2"), *own, toolkit=[anna, bert, remove])


def questions(*records: CallRecord) -> dict[str | None, ev.RequireUserConfirmEvent]:
    """Return what was asked last, by who asked."""
    asked = [e for record in records for e in record.events if isinstance(e, ev.RequireUserConfirmEvent)]
    return {question.source: question for question in asked}


def yes(question: ev.RequireUserConfirmEvent, *, by_id: bool = False) -> ConfirmResults:
    answers = [ev.ConfirmResult(True, call) for call in question.tool_calls]
    return ConfirmResults(answers, None if by_id else question.reply_id)


def reason(record: CallRecord) -> GenerateReason | None:
    end = record.events[-1]
    assert isinstance(end, ev.AgentEndEvent)
    return end.generate_reason


def states(boss: ReActAgent, *paths: str) -> list[AgentState]:
    """Return what the parent remembers, and its children in the sessions of these paths."""
    found = [boss.get_agent_state()]
    for path in paths:
        subagent, session = boss, "parent"
        for name, call in zip(*[iter(path.split("/"))] * 2, strict=True):
            subagent, session = subagent.subagent(name), f"{session}/{name}/{call}"
        found.append(subagent.get_agent_state(RuntimeContext(session)))
    return found


def results(record: CallRecord) -> list[ToolResultBlock]:
    assert record.message is not None
    return record.message.get_content_blocks(ToolResultBlock)


def test_a_question_pauses_all_above_and_the_answer_finds_who_asked() -> None:
    boss = family()

    paused = check_call(boss, "hi")

    question = questions(paused)["main/child/grand"]
    assert [call.state for call in question.tool_calls] == [ToolCallState.ASKING]
    ends = [(e.source, e.generate_reason) for e in paused.events if isinstance(e, ev.AgentEndEvent)]
    assert ends == [
        ("main/child/grand", GenerateReason.PERMISSION_ASKING),
        ("main/child", GenerateReason.PERMISSION_ASKING),
        (None, GenerateReason.PERMISSION_ASKING),
    ]
    assert len({e.reply_id for e in paused.events if isinstance(e, ev.AgentEndEvent)}) == 3
    assert not any(isinstance(e, ev.RequireExternalExecutionEvent) for e in paused.events)
    assert ran == []

    answered = check_call(boss, yes(question))

    assert ran == ["/x"]
    assert reason(answered) is GenerateReason.MODEL_STOP
    assert answered.message is not None
    assert answered.message.text_content == "PARENT"
    starts = [e.reply_id for e in (*paused.events, *answered.events) if isinstance(e, ev.AgentStartEvent)]
    assert len(set(starts)) == 3, "each reply goes on under its id"
    messages = check_subagents(boss, [*paused.events, *answered.events])
    assert [m.text_content for m in messages["main/child/grand"]] == ["GRAND"]
    assert [m.text_content for m in messages["main/child"]] == ["CHILD"]


def as_results(question: ev.RequireUserConfirmEvent) -> Any:
    return yes(question, by_id=True)


def as_metadata(question: ev.RequireUserConfirmEvent) -> Any:
    answers = [{"confirmed": True, "toolCall": wire.to_dict(call)} for call in question.tool_calls]
    return UserMessage("go on", metadata={"agentscope_confirm_results": answers})


@pytest.mark.parametrize("answer", [as_results, as_metadata])
def test_the_ids_of_the_calls_say_who_asked_too(answer: Callable[[ev.RequireUserConfirmEvent], Any]) -> None:
    boss = family()
    paused = check_call(boss, "hi")

    answered = check_call(boss, answer(questions(paused)["main/child/grand"]))

    assert ran == ["/x"]
    assert reason(answered) is GenerateReason.MODEL_STOP


def test_of_two_that_ask_one_can_be_answered_and_the_other_asks_again() -> None:
    boss = twins()
    first = check_call(boss, "hi")
    assert set(questions(first)) == {"main/anna", "main/bert"}

    second = check_call(boss, yes(questions(first)["main/anna"]))

    assert ran == ["/a"]
    assert reason(second) is GenerateReason.PERMISSION_ASKING
    assert set(questions(second)) == {"main/bert"}, "the question is repeated"

    third = check_call(boss, yes(questions(first)["main/bert"]))

    assert ran == ["/a", "/b"]
    assert [result.text_content for result in results(third)] == ["ANNA", "BERT"]
    check_subagents(boss, [*first.events, *second.events, *third.events])


def test_ids_that_two_have_asked_about_are_refused_without_a_reply_id() -> None:
    boss = twins()
    paused = check_call(boss, "hi")
    before = states(boss, "anna/k1", "bert/k2")

    refused = check_call(boss, yes(questions(paused)["main/anna"], by_id=True))

    assert isinstance(refused.error, AnswerError)
    assert str(refused.error).startswith("more than one reply waits for an answer about 'r'")
    assert states(boss, "anna/k1", "bert/k2") == before


def test_parent_and_children_may_ask_at_once_and_be_answered_one_by_one_or_together() -> None:
    boss = twins(removes("/own", "own"))
    first = check_call(boss, "hi")
    assert set(questions(first)) == {"main/anna", "main/bert", None}

    second = check_call(boss, yes(questions(first)[None]))
    assert (ran, set(questions(second))) == (["/own"], {"main/anna", "main/bert"})

    boss = twins(removes("/own", "own"))
    first = check_call(boss, "hi")
    second = check_call(boss, yes(questions(first)["main/anna"]))
    assert (ran[1:], set(questions(second))) == (["/a"], {"main/bert", None})

    answers = [*yes(questions(second)[None]).results, *yes(questions(second)["main/bert"]).results]
    third = check_call(boss, ConfirmResults(answers))

    assert sorted(ran[2:]) == ["/b", "/own"]
    assert reason(third) is GenerateReason.MODEL_STOP
    check_subagents(boss, [*first.events, *second.events, *third.events])


def unknown(question: ev.RequireUserConfirmEvent) -> ConfirmResults:
    return ConfirmResults([ev.ConfirmResult(True, ToolUseBlock("nobody", "remove"))])


def stale(question: ev.RequireUserConfirmEvent) -> ConfirmResults:
    return evolve(yes(question), reply_id="long-gone")


def missing(question: ev.RequireUserConfirmEvent) -> ConfirmResults:
    return ConfirmResults(yes(question).results[:1], question.reply_id)


def twice(question: ev.RequireUserConfirmEvent) -> ConfirmResults:
    return ConfirmResults([*yes(question).results, *yes(question).results[:1]], question.reply_id)


def of_the_other_kind(question: ev.RequireUserConfirmEvent) -> ExternalResults:
    return ExternalResults([ToolResultBlock.text("done", id=question.tool_calls[0].id)])


def for_the_call_itself(question: ev.RequireUserConfirmEvent) -> ExternalResults:
    return ExternalResults([ToolResultBlock.text("done", id="k1")])


def nothing(question: ev.RequireUserConfirmEvent) -> ConfirmResults:
    return ConfirmResults([])


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (unknown, "no call 'nobody' asks; what asks: 'a', 'b'"),
        (stale, "the answers are for reply 'long-gone', but those that wait are"),
        (missing, "there is no answer for 'b'; a human answers all questions at once"),
        (twice, "there is more than one answer for 'a'; give one"),
        (of_the_other_kind, "no call 'a' waits for an outcome; nothing waits for an outcome"),
        (for_the_call_itself, "no call 'k1' waits for an outcome; nothing waits for an outcome"),
        (nothing, "there is no answer; what asks: 'a', 'b'"),
    ],
)
def test_answers_that_do_not_fit_are_refused_and_nothing_changes(answer: Any, words: str) -> None:
    child = agent("child", removes("/a", "a"), removes("/b", "b"), toolkit=[remove])
    boss = agent("parent", asks("child", "k1"), toolkit=[child])
    question = questions(check_call(boss, "hi"))["main/child"]
    before = states(boss, "child/k1")

    refused = check_call(boss, answer(question))

    assert isinstance(refused.error, AnswerError)
    assert words in str(refused.error)
    assert states(boss, "child/k1") == before
    assert reason(check_call(boss, yes(question))) is GenerateReason.MODEL_STOP


def test_ordinary_input_while_a_subagent_waits_is_refused_with_the_ways_on() -> None:
    boss = family()
    check_call(boss, "hi")

    refused = check_call(boss, "never mind")

    assert isinstance(refused.error, OpenCallsError)
    assert refused.error.tool_call_ids == ("k1",)


def test_a_denial_is_a_result_of_the_subagent_which_goes_on() -> None:
    boss = family()
    question = questions(check_call(boss, "hi"))["main/child/grand"]

    answered = check_call(
        boss, ConfirmResults(ev.ConfirmResult(False, question.tool_calls[0]), question.reply_id)
    )

    assert ran == []
    denied = next(e for e in answered.events if isinstance(e, ev.ToolResultEndEvent))
    assert (denied.source, denied.state) == ("main/child/grand", ToolResultState.DENIED)
    assert reason(answered) is GenerateReason.MODEL_STOP


def test_edited_arguments_and_accepted_rules_are_the_subagent_s() -> None:
    boss = family()
    (call,) = (question := questions(check_call(boss, "hi"))["main/child/grand"]).tool_calls
    rule = PermissionRule("remove", None, PermissionBehavior.ALLOW)
    edited = evolve(call, input={"path": "/y"}, content=None)

    check_call(boss, ConfirmResults(ev.ConfirmResult(True, edited, [rule]), question.reply_id))

    assert ran == ["/y"]
    parents, grands = states(boss, "child/k1/grand/k2")
    assert grands.permission_context.allow_rules == {"remove": (rule,)}
    assert parents.permission_context == PermissionContextState()


def test_none_repeats_the_questions() -> None:
    boss = family()
    first = check_call(boss, "hi")

    second = check_call(boss, None)

    assert reason(second) is GenerateReason.PERMISSION_ASKING
    again = questions(second)["main/child/grand"]
    assert again.tool_calls == questions(first)["main/child/grand"].tool_calls
    third = check_call(boss, yes(again))
    assert ran == ["/x"]
    check_subagents(boss, [*first.events, *second.events, *third.events])


def test_words_beside_an_answer_are_a_hint_for_the_parent() -> None:
    boss = family()
    question = questions(check_call(boss, "hi"))["main/child/grand"]
    message = UserMessage(
        "be quick", metadata={"agentscope_confirm_results": [ev.ConfirmResult(True, question.tool_calls[0])]}
    )

    answered = check_call(boss, [message])

    assert answered.message is not None
    (hint,) = answered.message.get_content_blocks(HintBlock)
    assert hint.hint == "be quick"
    assert [msg.text_content for msg in boss.get_agent_state().context] == ["hi", "PARENT"]


def outside(*, self_suspended: bool) -> ReActAgent:
    @tool(name="pay")
    def suspended(sum: int) -> str:
        """Pay."""
        raise ToolSuspendError

    calls = [tool_call("pay", {"sum": 1}, "a"), tool_call("pay", {"sum": 2}, "b")]
    child = agent("child", *calls, toolkit=[suspended if self_suspended else pay])
    return agent("parent", asks("child", "k1"), toolkit=[child])


def by_reply_id(reply_id: str, id: str) -> Any:
    return ExternalResults(ToolResultBlock.text("paid", id=id, name="pay"), reply_id)


def by_call_id(_: str, id: str) -> Any:
    return ExternalResults(ToolResultBlock.text("paid", id=id, name="pay"))


def by_message(_: str, id: str) -> Any:
    return ToolResultMessage(id, "pay", "paid")


@pytest.mark.parametrize("self_suspended", [False, True])
@pytest.mark.parametrize("outcome", [by_reply_id, by_call_id, by_message])
def test_outcomes_from_outside_find_the_subagent_one_by_one(outcome: Any, self_suspended: bool) -> None:
    boss = outside(self_suspended=self_suspended)

    first = check_call(boss, "hi")

    assert reason(first) is GenerateReason.TOOL_SUSPENDED
    (asked,) = [e for e in first.events if isinstance(e, ev.RequireExternalExecutionEvent)]
    assert (asked.source, [call.id for call in asked.tool_calls]) == ("main/child", ["a", "b"])

    second = check_call(boss, outcome(asked.reply_id, "b"))

    assert reason(second) is GenerateReason.TOOL_SUSPENDED
    (again,) = [e for e in second.events if isinstance(e, ev.RequireExternalExecutionEvent)]
    assert [call.id for call in again.tool_calls] == ["a"], "the request is repeated for the rest"

    third = check_call(boss, outcome(asked.reply_id, "a"))

    assert [result.text_content for result in results(third)] == ["CHILD"]
    check_subagents(boss, [*first.events, *second.events, *third.events])


def test_a_human_comes_before_the_outside() -> None:
    anna = agent("anna", removes("/a"), toolkit=[remove])
    bert = agent("bert", tool_call("pay", {"sum": 1}, "p"), toolkit=[pay])
    boss = agent("parent", asks("bert", "k1"), asks("anna", "k2"), toolkit=[anna, bert])

    first = check_call(boss, "hi")
    assert reason(first) is GenerateReason.PERMISSION_ASKING
    second = check_call(boss, yes(questions(first)["main/anna"]))
    assert reason(second) is GenerateReason.TOOL_SUSPENDED
    third = check_call(boss, by_call_id("", "p"))

    assert [result.text_content for result in results(third)] == ["BERT", "ANNA"]


@pytest.mark.parametrize("asked", ["once", "again"])
def test_another_process_goes_on_with_new_agents_over_the_same_store(asked: str, tmp_path: Path) -> None:
    ctx = RuntimeContext("s/1", "ann")
    store = JsonFileAgentStateStore(tmp_path)
    first = check_call(family(state_store=store), "hi", ctx)
    line = wire.dumps_event(questions(first)["main/child/grand"])
    store = JsonFileAgentStateStore(tmp_path)
    events = list(first.events)
    boss = family(state_store=store)
    boss.update_state(_as_it_is, ctx).run()
    if asked == "again":
        second = check_call(boss, None, ctx)
        events += second.events
        line = wire.dumps_event(questions(second)["main/child/grand"])
        boss = family(state_store=JsonFileAgentStateStore(tmp_path))
        boss.update_state(_as_it_is, ctx).run()
    question = wire.loads_event(line)
    assert isinstance(question, ev.RequireUserConfirmEvent)

    answered = check_call(boss, yes(question), ctx)

    assert ran == ["/x"]
    assert reason(answered) is GenerateReason.MODEL_STOP
    check_subagents(boss, [*events, *answered.events], ctx)


def _as_it_is(state: AgentState) -> AgentState:
    return state


def test_an_interrupt_of_a_paused_parent_closes_what_its_subagents_wait_with() -> None:
    boss = family()
    paused = check_call(boss, "hi")

    end = boss.interrupt().run()

    assert isinstance(end, ev.AgentEndEvent)
    assert (end.source, end.generate_reason) == (None, GenerateReason.INTERRUPTED)
    for state in states(boss, "child/k1", "child/k1/grand/k2"):
        (result,) = state.context[-1].get_content_blocks(ToolResultBlock)
        assert result.state is ToolResultState.INTERRUPTED
        assert state.checkpoint is None
    refused = check_call(boss, yes(questions(paused)["main/child/grand"]))
    assert isinstance(refused.error, AnswerError)
    assert reason(check_call(boss, "again")) is GenerateReason.PERMISSION_ASKING


def test_the_events_of_an_interrupt_of_a_paused_parent_end_well() -> None:
    boss = family()
    paused = check_call(boss, "hi")
    events: list[Any] = []

    boss.interrupt().subscribe(events.append)
    boss.update_state(_as_it_is).run()

    sources = [(e.source, e.generate_reason) for e in events if isinstance(e, ev.AgentEndEvent)]
    assert sources == [
        ("main/child/grand", GenerateReason.INTERRUPTED),
        ("main/child", GenerateReason.INTERRUPTED),
        (None, GenerateReason.INTERRUPTED),
    ]
    messages = check_subagents(boss, [*paused.events, *events])
    for (message,) in messages.values():
        assert message.generate_reason is GenerateReason.INTERRUPTED


async def interrupted(boss: ReActAgent, after: int) -> list[ev.AgentEvent]:
    """Call an agent, and interrupt it after so many events; return all that comes of both."""
    events: list[ev.AgentEvent] = []
    interrupts: list[Any] = []

    def take(event: ev.AgentEvent) -> None:
        events.append(event)
        if len(events) == after:
            interrupts.append(boss.interrupt())

    await boss.call("hi").pipe(ops.do_action(take))
    return [*events, *[event for event in await interrupts[0].pipe(ops.to_list()) if event not in events]]


@pytest.mark.asyncio
async def test_an_interrupt_at_any_event_leaves_nobody_waiting() -> None:
    count = len(await family().call("hi").pipe(ops.to_list()))

    for after in range(1, count + 1):
        boss = family()
        events = await interrupted(boss, after)

        for messages in check_subagents(boss, events).values():
            for message in messages:
                assert message.generate_reason is GenerateReason.INTERRUPTED
        assert boss.get_agent_state().checkpoint is None


def test_a_subagent_that_was_stopped_stops_its_parent_and_goes_on_with_it() -> None:
    @tool
    def halt(out: ToolEmitter) -> str:
        """Ask to stop."""
        ran.append("halt")
        out.request_stop("enough")
        return "halted"

    child = agent("child", tool_call("halt", {}, "h"), toolkit=[halt])
    boss = agent("parent", asks("child", "k1"), toolkit=[child])

    first = check_call(boss, "hi")
    assert reason(first) is GenerateReason.ACTING_STOP_REQUESTED
    second = check_call(boss, None)

    assert ran == ["halt"]
    assert [result.text_content for result in results(second)] == ["CHILD"]
    check_subagents(boss, [*first.events, *second.events])


def test_who_is_answered_directly_is_gone_on_with_by_none() -> None:
    boss = family()
    question = questions(check_call(boss, "hi"))["main/child/grand"]
    grand = boss.subagent("child").subagent("grand")

    check_call(grand, yes(question), RuntimeContext("parent/child/k1/grand/k2"))
    done = check_call(boss, None)

    assert ran == ["/x"]
    assert reason(done) is GenerateReason.MODEL_STOP
    assert [result.text_content for result in results(done)] == ["CHILD"]


def test_an_answer_that_comes_after_another_is_passed_over() -> None:
    boss = family()
    question = questions(check_call(boss, "hi"))["main/child/grand"]
    grand = boss.subagent("child").subagent("grand")
    check_call(grand, yes(question), RuntimeContext("parent/child/k1/grand/k2"))

    done = check_call(boss, yes(question))

    assert ran == ["/x"]
    assert [result.text_content for result in results(done)] == ["CHILD"]


def test_who_is_interrupted_directly_is_an_interrupted_result() -> None:
    boss = family()
    check_call(boss, "hi")

    boss.subagent("child").interrupt(RuntimeContext("parent/child/k1")).run()
    done = check_call(boss, None)

    (result,) = results(done)
    assert (result.state, result.text_content) == (
        ToolResultState.INTERRUPTED,
        "Error: interrupted by the user",
    )
    assert reason(done) is GenerateReason.MODEL_STOP


def test_an_interrupt_finds_nothing_to_close_where_somebody_has_closed_it() -> None:
    boss = family()
    check_call(boss, "hi")
    boss.subagent("child").interrupt(RuntimeContext("parent/child/k1")).run()

    end = boss.interrupt().run()

    assert isinstance(end, ev.AgentEndEvent)
    (result,) = boss.get_agent_state().context[-1].get_content_blocks(ToolResultBlock)
    assert result.state is ToolResultState.INTERRUPTED


class Asker:
    """An agent of somebody else's making, that asks before it answers."""

    name = "asker"

    def call(self, input: Any = None, ctx: RuntimeContext | None = None) -> Observable[ev.AgentEvent]:
        start = ev.AgentStartEvent(session_id=ctx and ctx.session_id, reply_id="r", name=self.name)
        if isinstance(input, ConfirmResults):
            if not input.results[0].confirmed:
                return rx.throw(AnswerError("I do not take no"))
            text = (ev.TextBlockStartEvent("r", "t"), ev.TextBlockDeltaEvent("r", "t", "thanks"))
            return rx.of(start, *text, ev.TextBlockEndEvent("r", "t"), ev.AgentEndEvent("r"))
        heard.append(input)
        asking = ToolUseBlock("q", "remove", state=ToolCallState.ASKING)
        calls = (ev.ToolCallStartEvent("r", "q", "remove"), ev.ToolCallEndEvent("r", "q", "remove"))
        question = ev.RequireUserConfirmEvent("r", [asking])
        return rx.of(start, *calls, question, ev.AgentEndEvent("r", GenerateReason.PERMISSION_ASKING))


def test_any_agent_may_ask() -> None:
    boss = agent("parent", asks("asker", "k1"), toolkit=[agent_tool(Asker())])

    first = check_call(boss, "hi")
    second = check_call(boss, None)
    third = check_call(boss, yes(questions(second)["main/asker"]))

    assert [reason(record) for record in (first, second, third)] == [
        GenerateReason.PERMISSION_ASKING,
        GenerateReason.PERMISSION_ASKING,
        GenerateReason.MODEL_STOP,
    ]
    assert [input and input.text_content for input in heard] == ["go", None]
    assert [result.text_content for result in results(third)] == ["thanks"]


def test_an_answer_that_another_agent_refuses_is_an_error_result() -> None:
    boss = agent("parent", asks("asker", "k1"), toolkit=[agent_tool(Asker())])
    (call,) = questions(check_call(boss, "hi"))["main/asker"].tool_calls

    record = check_call(boss, ConfirmResults(ev.ConfirmResult(False, call), "r"))

    assert [result.text_content for result in results(record)] == [
        "Error: Tool execution failed: AnswerError: I do not take no"
    ]


def test_an_interrupt_of_a_parent_whose_subagent_cannot_be_interrupted_ends_it() -> None:
    boss = agent("parent", asks("asker", "k1"), toolkit=[agent_tool(Asker())])
    check_call(boss, "hi")

    boss.interrupt().run()

    (result,) = boss.get_agent_state().context[-1].get_content_blocks(ToolResultBlock)
    assert result.state is ToolResultState.INTERRUPTED


def test_a_call_that_asks_and_whose_subagent_asks_is_answered_twice() -> None:
    grand = agent("child", removes("/x"), toolkit=[remove])
    boss = agent("parent", asks("child", "k1"), toolkit=[grand], permission="default")

    first = check_call(boss, "hi")
    assert set(questions(first)) == {None}
    second = check_call(boss, yes(questions(first)[None]))
    assert set(questions(second)) == {"main/child"}
    third = check_call(boss, yes(questions(second)["main/child"]))

    assert ran == ["/x"]
    assert [result.text_content for result in results(third)] == ["CHILD"]


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "stored"])
def test_an_answered_call_can_be_disposed_at_any_event_and_gone_on_with(stored: bool) -> None:
    def paused() -> tuple[ReActAgent, CallRecord]:
        boss = family(**({"state_store": InMemoryAgentStateStore()} if stored else {}))
        return boss, check_call(boss, "hi")

    boss, first = paused()
    count = len(check_call(boss, yes(questions(first)["main/child/grand"])).events)

    for after in range(1, count):
        ran.clear()
        boss, first = paused()
        question = questions(first)["main/child/grand"]
        second = check_disposal(boss, yes(question), after=after)
        third = check_call(boss, None)
        records = [first, second, third]
        if reason(third) is GenerateReason.PERMISSION_ASKING:
            records.append(check_call(boss, yes(questions(third)["main/child/grand"])))

        assert len(ran) in (1, 2), "one that had not ended runs again"
        assert reason(records[-1]) is GenerateReason.MODEL_STOP
        assert records[-1].message is not None
        assert records[-1].message.text_content.endswith("PARENT")
        if not stored:
            check_subagents(boss, [event for record in records for event in record.events])
