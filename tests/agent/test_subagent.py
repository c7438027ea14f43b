"""Agents as tools: their events in their parent's stream, their sessions, and how they end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import reactivex as rx
from attrs import evolve
from reactivex import Observable, operators as ops

from agentscope_rx import event as ev, operators as agent_ops
from agentscope_rx.agent import ReActAgent, RuntimeContext, agent_tool
from agentscope_rx.errors import ConfigurationError, ModelConnectionError
from agentscope_rx.message import (
    Base64Source,
    DataBlock,
    GenerateReason,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.middleware import ActingInput, MiddlewareBase, on_acting, on_agent
from agentscope_rx.store import InMemoryAgentStateStore
from agentscope_rx.testing import (
    CallRecord,
    ScriptedCall,
    ScriptedModel,
    acheck_call,
    check_call,
    check_disposal,
    check_subagents,
    pause,
    tool_call,
)
from agentscope_rx.tool import ToolGroup, Toolkit, tool


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@tool
async def wait(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "waited"


def agent(name: str, *script: Any, **options: Any) -> ReActAgent:
    return ReActAgent(name, model=ScriptedModel(*script), **options)


def asks(name: str, id: str = "k1", message: str = "do it") -> ToolUseBlock:
    return tool_call(f"call_{name}", {"message": message}, id)


def parent(child: Any, *script: Any, **options: Any) -> ReActAgent:
    return agent("parent", *(script or (asks("child"), "PARENT")), toolkit=[child], **options)


def results(record: CallRecord) -> list[ToolResultBlock]:
    assert record.message is not None
    return record.message.get_content_blocks(ToolResultBlock)


def of(record: CallRecord, path: str) -> list[ev.AgentEvent]:
    return rx.from_iterable(record.events).pipe(agent_ops.by_source(path), ops.to_list()).run()


def errors(record: CallRecord) -> list[str]:
    return [result.text_content for result in results(record) if result.state is ToolResultState.ERROR]


def test_three_agents_deep_every_event_passes_with_its_path() -> None:
    """Java's transcript A38 lost the grandchild, and the replies of the child."""
    grand = agent("grand", "GRAND")
    child = agent("child", tool_call("call_grand", {"message": "go"}, "k2"), "CHILD", toolkit=[grand])
    boss = parent(child)

    record = check_call(boss, "hi")

    assert [
        f"{type(e).__name__.removesuffix('Event')}{f'@{e.source}' if e.source else ''}" for e in record.events
    ] == [
        *["AgentStart", "ModelCallStart", "ToolCallStart", "ToolCallDelta", "ToolCallDelta", "ToolCallEnd"],
        *["ModelCallEnd", "ToolResultStart"],
        *["AgentStart@main/child", "ModelCallStart@main/child", "ToolCallStart@main/child"],
        *["ToolCallDelta@main/child", "ToolCallDelta@main/child", "ToolCallEnd@main/child"],
        *["ModelCallEnd@main/child", "ToolResultStart@main/child"],
        *["AgentStart@main/child/grand", "ModelCallStart@main/child/grand"],
        *["TextBlockStart@main/child/grand", "TextBlockDelta@main/child/grand"],
        *["TextBlockEnd@main/child/grand", "ModelCallEnd@main/child/grand"],
        *["AgentResult@main/child/grand", "AgentEnd@main/child/grand"],
        *["ToolResultTextDelta@main/child", "ToolResultEnd@main/child", "ModelCallStart@main/child"],
        *["TextBlockStart@main/child", "TextBlockDelta@main/child", "TextBlockEnd@main/child"],
        *["ModelCallEnd@main/child", "AgentResult@main/child", "AgentEnd@main/child"],
        *["ToolResultTextDelta", "ToolResultEnd", "ModelCallStart"],
        *["TextBlockStart", "TextBlockDelta", "TextBlockEnd", "ModelCallEnd", "AgentResult", "AgentEnd"],
    ]
    messages = check_subagents(boss, record.events)
    assert [m.text_content for m in messages["main/child"]] == ["CHILD"]
    assert [m.text_content for m in messages["main/child/grand"]] == ["GRAND"]
    assert [result.text_content for result in results(record)] == ["CHILD"]


def test_events_of_a_subagent_keep_their_ids_times_and_reply_id() -> None:
    seen: list[ev.AgentEvent] = []
    boss = parent(agent("child", "hello there", middlewares=[on_agent(ops.do_action(seen.append))]))

    record = check_call(boss, "hi")

    assert of(record, "main/child") == seen
    starts = [event for event in record.events if isinstance(event, ev.AgentStartEvent)]
    assert len({start.reply_id for start in starts}) == 2
    assert len({event.id for event in record.events}) == len(record.events)


@pytest.mark.asyncio
async def test_events_of_a_subagent_come_while_it_works() -> None:
    heard = asyncio.Event()

    @tool
    async def listen() -> str:
        """Wait until somebody has heard something."""
        await heard.wait()
        return "heard"

    child = agent("child", ["Listen: ", tool_call("listen")], "over", toolkit=[listen])

    def hear(event: ev.AgentEvent) -> None:
        if isinstance(event, ev.TextBlockDeltaEvent) and event.source == "main/child":
            heard.set()

    await asyncio.wait_for(parent(child).call("hi").pipe(ops.do_action(hear)), 5)


def test_a_subagent_serves_the_same_user_in_a_session_of_its_own() -> None:
    seen: list[RuntimeContext] = []

    @tool
    def look(ctx: RuntimeContext) -> str:
        """Look around."""
        seen.append(ctx)
        return "seen"

    grand = agent("grand", tool_call("look"), "GRAND", toolkit=[look])
    child = agent("child", tool_call("call_grand", {"message": "go"}, "k2"), "CHILD", toolkit=[grand])
    boss, key = parent(child), object()

    check_call(boss, "hi", RuntimeContext("s/1", "ann", {"tenant": 7}, [key]))

    (ctx,) = seen
    assert (ctx.session_id, ctx.user_id) == ("s/1/child/k1/grand/k2", "ann")
    assert ctx.attributes["tenant"] == 7
    assert key in ctx.objects
    assert ctx.get(ReActAgent) is grand
    inner = RuntimeContext("s/1/child/k1", "ann")
    assert [msg.text_content for msg in boss.subagent("child").get_agent_state(inner).context] == [
        "do it",
        "CHILD",
    ]


def test_two_subagents_of_one_name_side_by_side_fold_apart() -> None:
    def child(asked: ScriptedCall) -> list[Any]:
        return [f"{asked.text} a ", pause(0.01), f"{asked.text} b"]

    calls = [asks("child", "k1", "one"), asks("child", "k2", "two")]
    boss = parent(agent("child", child), calls, "PARENT")

    record = check_call(boss, "hi")

    deltas = [event for event in of(record, "main/child") if isinstance(event, ev.TextBlockDeltaEvent)]
    assert {delta.block_id for delta in deltas} == {"text-1"}
    replies = [delta.reply_id for delta in deltas]
    assert replies != sorted(replies, key=replies.index), "their deltas come in turns"
    messages = check_subagents(boss, record.events)["main/child"]
    assert sorted(message.text_content for message in messages) == ["one a one b", "two a two b"]
    assert [result.text_content for result in results(record)] == ["one a one b", "two a two b"]


def test_what_a_subagent_says_last_is_the_result() -> None:
    picture = DataBlock(Base64Source("image/png", "AAAA"))
    child = agent("child", ["Let me see. ", tool_call("add", a=1, b=2)], ["3", picture], toolkit=[add])

    (result,) = results(check_call(parent(child), "hi"))

    assert result.text_content == "3"
    assert [block.source for block in result.output if isinstance(block, DataBlock)] == [picture.source]
    assert result.metadata["subagent_name"] == "child"
    assert result.metadata["subagent_session_id"] == "parent/child/k1"
    assert result.metadata["subagent_reply_id"]


def test_the_result_is_what_the_subagent_lets_others_see() -> None:
    def mask(event: ev.TextBlockDeltaEvent) -> ev.AgentEvent:
        return evolve(event, delta="***")

    hide = on_agent(agent_ops.map_type(ev.TextBlockDeltaEvent, mask))

    (result,) = results(check_call(parent(agent("child", "secret", middlewares=[hide])), "hi"))

    assert result.text_content == "***"


def test_a_subagent_that_fails_is_an_error_result_and_its_events_end_well() -> None:
    child = agent("child", ["I am ", ModelConnectionError("no route")])
    boss = parent(child)

    record = check_call(boss, "hi")

    assert record.error is None
    assert errors(record) == ["Error: Tool execution failed: ModelConnectionError: no route"]
    assert record.message is not None
    assert record.message.text_content == "PARENT"
    end = of(record, "main/child")[-1]
    assert isinstance(end, ev.AgentEndEvent)
    assert end.error == ev.ErrorInfo("ModelConnectionError", "no route")
    check_subagents(boss, record.events)


def test_a_subagent_at_its_limit_returns_its_summary() -> None:
    child = agent("child", tool_call("add", a=1, b=2), "so far: 3", toolkit=[add], max_iters=1)

    (result,) = results(check_call(parent(child), "hi"))

    assert (result.text_content, result.state) == ("so far: 3", ToolResultState.SUCCESS)


def test_a_subagent_that_says_nothing_is_said_to() -> None:
    silent = agent("child", [], [])

    (result,) = results(check_call(parent(silent), "hi"))

    assert result.text_content == "child has said nothing."


def test_a_subagent_whose_time_is_over_ends_well_before_its_call_does() -> None:
    child = agent("child", ["Wait. ", tool_call("wait", {"seconds": 5}, "w")], toolkit=[wait])
    boss = agent("parent", asks("child"), "PARENT", toolkit=Toolkit(child, timeout=0.05))

    record = check_call(boss, "hi")

    assert errors(record) == ["Error: Tool execution failed: it took longer than 0.05 s"]
    end = of(record, "main/child")[-1]
    assert isinstance(end, ev.AgentEndEvent)
    assert end.generate_reason is GenerateReason.INTERRUPTED
    (message,) = check_subagents(boss, record.events)["main/child"]
    assert message.get_content_blocks(ToolResultBlock)[0].state is ToolResultState.INTERRUPTED
    last = max(i for i, event in enumerate(record.events) if event.source)
    assert isinstance(record.events[last + 2], ev.ToolResultEndEvent)


@pytest.mark.asyncio
@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "stored"])
async def test_an_interrupt_ends_the_subagents_first_and_well(stored: bool) -> None:
    store = InMemoryAgentStateStore() if stored else None
    grand = agent("grand", ["Wait. ", tool_call("wait", {"seconds": 5}, "w")], toolkit=[wait])
    child = agent("child", tool_call("call_grand", {"message": "go"}, "k2"), toolkit=[grand])
    calls = [asks("child"), tool_call("wait", {"seconds": 5}, "w")]
    boss = agent("parent", calls, toolkit=[child, wait], state_store=store)

    def interrupt(event: ev.AgentEvent) -> None:
        if isinstance(event, ev.ToolResultStartEvent) and event.source == "main/child/grand":
            boss.interrupt(msg="stop that")

    boss_events: list[ev.AgentEvent] = []
    before = asyncio.all_tasks()
    started = asyncio.get_running_loop().time()
    await boss.call("hi").pipe(ops.do_action(interrupt), ops.do_action(boss_events.append))

    assert asyncio.get_running_loop().time() - started < 1
    assert asyncio.all_tasks() <= before
    ends = [event for event in boss_events if isinstance(event, ev.AgentEndEvent)]
    assert [(end.source, end.generate_reason) for end in ends] == [
        ("main/child/grand", GenerateReason.INTERRUPTED),
        ("main/child", GenerateReason.INTERRUPTED),
        (None, GenerateReason.INTERRUPTED),
    ]
    rx.from_iterable(boss_events).pipe(agent_ops.well_formed()).run()
    for messages in check_subagents(boss, boss_events).values():
        for message in messages:
            (result,) = message.get_content_blocks(ToolResultBlock)
            assert result.state is ToolResultState.INTERRUPTED
    reply, said = boss.get_agent_state().context[-2:]
    states = [result.state for result in reply.get_content_blocks(ToolResultBlock)]
    assert states == [ToolResultState.INTERRUPTED] * 2
    assert said.text_content == "stop that"


@pytest.mark.asyncio
async def test_a_subagent_that_is_interrupted_directly_is_an_interrupted_result() -> None:
    child = agent("child", ["Wait. ", tool_call("wait", {"seconds": 5}, "w")], toolkit=[wait])
    boss = parent(child)

    def interrupt(event: ev.AgentEvent) -> None:
        if isinstance(event, ev.ToolResultStartEvent) and event.source == "main/child":
            child.interrupt(RuntimeContext("parent/child/k1"))

    message = await boss.call("hi").pipe(ops.do_action(interrupt), agent_ops.to_msg())

    assert message.text_content == "PARENT"
    (result,) = message.get_content_blocks(ToolResultBlock)
    assert (result.state, result.text_content) == (
        ToolResultState.INTERRUPTED,
        "Error: interrupted by the user",
    )


class Odd(BaseException):
    """What no `except Exception` catches."""


@pytest.mark.parametrize("error", [ValueError("mine"), Odd("mine")], ids=["error", "exit"])
def test_an_operator_that_lets_an_exception_escape_ends_the_call_and_the_subagents_well(
    error: BaseException,
) -> None:
    """An operator written by hand, as those of RxPY let none escape."""

    def raises(source: Observable[ev.AgentEvent]) -> Observable[ev.AgentEvent]:
        def subscribe(observer: Any, scheduler: Any = None) -> Any:
            def on_next(event: ev.AgentEvent) -> None:
                observer.on_next(event)
                if event.source and isinstance(event, ev.ToolResultStartEvent):
                    raise error

            return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

        return Observable(subscribe)

    child = agent("child", ["Wait. ", tool_call("wait", {"seconds": 5}, "w")], toolkit=[wait])
    boss = parent(child, middlewares=[on_acting(raises)])

    record = check_call(boss, "hi")

    assert record.error is error or (record.error is not None and record.error.__cause__ is error)
    (message,) = check_subagents(boss, record.events)["main/child"]
    assert message.generate_reason is GenerateReason.INTERRUPTED


def nested() -> ReActAgent:
    grand = agent("grand", ["Hm. ", tool_call("add", {"a": 1, "b": 2}, "a")], "GRAND", toolkit=[add])
    child = agent(
        "child",
        [tool_call("call_grand", {"message": "go"}, "k2"), tool_call("add", {"a": 3, "b": 4}, "a")],
        "CHILD",
        toolkit=[grand, add],
    )
    return parent(child)


def test_a_call_can_be_disposed_at_any_event_of_a_subagent() -> None:
    count = len(check_call(nested(), "hi").events)

    for after in range(1, count + 1):
        boss = nested()
        record = check_disposal(boss, "hi", after=after)
        check_subagents(boss, record.events)


def test_after_a_disposal_everybody_goes_on_where_they_were() -> None:
    count = len(check_call(nested(), "hi").events)

    def script(name: str, calls: list[ToolUseBlock]) -> Callable[[ScriptedCall], Any]:
        return lambda asked: name if len(asked.results) >= len(calls) else calls

    for after in range(1, count):
        grand = agent("grand", script("GRAND", [tool_call("add", {"a": 1, "b": 2}, "a")]), toolkit=[add])
        calls = [tool_call("call_grand", {"message": "go"}, "k2"), tool_call("add", {"a": 3, "b": 4}, "a")]
        child = agent("child", script("CHILD", calls), toolkit=[grand, add])
        boss = agent("parent", script("PARENT", [asks("child")]), toolkit=[child])

        first = check_disposal(boss, "hi", after=after)
        if isinstance(first.events[-1], ev.AgentEndEvent) and not first.events[-1].source:
            continue
        second = check_call(boss, None)

        assert second.message is not None
        assert second.message.text_content.endswith("PARENT")
        messages = check_subagents(boss, [*first.events, *second.events])
        for message in messages.get("main/child", []):
            assert message.text_content.endswith("CHILD")
        sessions = {
            start.session_id
            for start in (*first.events, *second.events)
            if isinstance(start, ev.AgentStartEvent) and start.source == "main/child"
        }
        assert len(sessions) == (0 if errors(second) else 1), "half a call has no subagent"
        for session in sessions:
            told = boss.subagent("child").get_agent_state(RuntimeContext(session)).context
            assert [msg.text_content for msg in told][:-1] == ["do it"], "it is told once"


def test_a_tool_of_a_subagent_that_has_ended_is_not_run_again() -> None:
    ran: list[str] = []

    @tool
    def note(text: str) -> str:
        """Note it."""
        ran.append(text)
        return "noted"

    child = agent("child", tool_call("note", text="x"), "CHILD", "CHILD", toolkit=[note])
    boss = parent(child)
    full = check_call(parent(agent("child", tool_call("note", text="x"), "CHILD", toolkit=[note])), "hi")
    ran.clear()
    ended = next(i for i, e in enumerate(full.events) if isinstance(e, ev.ToolResultEndEvent) and e.source)

    check_disposal(boss, "hi", after=ended + 1)
    record = check_call(boss, None)

    assert ran == ["x"]
    assert record.message is not None
    assert record.message.text_content == "PARENT"


def test_a_subagent_that_had_ended_before_its_call_did_is_not_asked_again() -> None:
    child, boss = agent("child", "CHILD"), None
    boss = parent(child)
    full = check_call(parent(agent("child", "CHILD")), "hi")
    ended = max(i for i, e in enumerate(full.events) if e.source)

    check_disposal(boss, "hi", after=ended + 1)
    record = check_call(boss, None)

    assert [result.text_content for result in results(record)] == ["CHILD"]
    assert not any(event.source for event in record.events)


def test_a_call_id_that_comes_again_in_a_later_reply_gets_a_session_of_its_own() -> None:
    def child(asked: ScriptedCall) -> str:
        return f"{len(asked.messages)} heard"

    def boss_script(asked: ScriptedCall) -> Any:
        return "PARENT" if asked.results else asks("child", "k1", asked.text)

    boss = agent("parent", boss_script, toolkit=[agent("child", child)])

    found = [results(check_call(boss, words))[-1] for words in ("one", "two", "three")]

    assert [result.text_content for result in found] == ["1 heard"] * 3
    assert [result.metadata["subagent_session_id"] for result in found] == [
        "parent/child/k1",
        "parent/child/k1-2",
        "parent/child/k1-3",
    ]


@pytest.mark.asyncio
async def test_a_subagent_without_a_store_is_kept_in_its_parent_s() -> None:
    store, own = InMemoryAgentStateStore(), InMemoryAgentStateStore()
    grand = agent("grand", "GRAND")
    other = agent("other", "OTHER", state_store=own)
    child = agent("child", [asks("grand", "k2"), asks("other", "k3")], "CHILD", toolkit=[grand, other])
    boss = parent(child, state_store=store)

    record = await acheck_call(boss, "hi", RuntimeContext("s", "ann"))

    assert record.error is None
    keys = {(key.session_id, key.agent_name) for key in await store.list_sessions("ann")}
    assert keys == {("s", "parent"), ("s/child/k1", "child"), ("s/child/k1/grand/k2", "grand")}
    assert [key.session_id for key in await own.list_sessions("ann")] == ["s/child/k1/other/k3"]
    assert boss.subagent("child").state_store is store
    assert boss.subagent("child").subagent("other") is other
    assert boss.subagent("child") is boss.subagent("child")


def test_an_agent_in_a_toolkit_is_a_tool_that_is_named_after_it() -> None:
    child = agent("Dr. Who?", "CHILD", description="Knows the time.")

    for kit in (Toolkit(child), Toolkit(ToolGroup("g", tools=[child]))):
        (schema,) = kit.schemas()
        assert (schema.name, schema.description) == ("call_Dr_Who", "Knows the time.")
        assert list(schema.parameters["properties"]) == ["message"]
    named = agent_tool(child, name="clock", description="Ask the time.")
    assert (named.name, named.description) == ("clock", "Ask the time.")
    assert agent_tool(agent("x", "CHILD")).description == "Ask the agent x."
    with pytest.raises(ConfigurationError, match=r"no tool can be named after agent '时间'.*name="):
        agent_tool(agent("时间", "CHILD"))


def test_subagent_names_those_that_there_are() -> None:
    child = agent("child", "CHILD")
    boss = agent("parent", "PARENT", toolkit=[add, ToolGroup("g", tools=[child], active=False)])

    assert boss.subagent("child") is child
    with pytest.raises(ConfigurationError, match="'nobody' is none of the subagents: 'child'"):
        boss.subagent("nobody")
    with pytest.raises(ConfigurationError, match="is none of the subagents: there are none"):
        child.subagent("nobody")
    with pytest.raises(ConfigurationError, match="'echo' is no ReActAgent"):
        agent("parent", "PARENT", toolkit=[agent_tool(Echo())]).subagent("echo")


class Echo:
    """An agent of somebody else's making."""

    name = "echo"

    def call(self, input: Any = None, ctx: RuntimeContext | None = None) -> Observable[ev.AgentEvent]:
        said = input.text_content
        return rx.of(
            ev.AgentStartEvent(session_id=ctx and ctx.session_id, reply_id="reply-of-echo", name=self.name),
            ev.TextBlockStartEvent("reply-of-echo", "t"),
            ev.TextBlockDeltaEvent("reply-of-echo", "t", said),
            ev.TextBlockEndEvent("reply-of-echo", "t"),
            ev.AgentEndEvent("reply-of-echo"),
        ).pipe(ops.concat(rx.never() if said == "hang" else rx.empty()))


def test_any_agent_can_work_for_another() -> None:
    boss = agent("parent", tool_call("call_echo", message="hello"), "PARENT", toolkit=[agent_tool(Echo())])

    record = check_call(boss, "hi")

    assert [result.text_content for result in results(record)] == ["hello"]
    (start, *_) = of(record, "main/echo")
    assert isinstance(start, ev.AgentStartEvent)
    assert start.session_id is not None
    assert start.session_id.startswith("parent/echo/call_")


def test_an_agent_that_cannot_be_interrupted_is_disposed() -> None:
    kit = Toolkit(agent_tool(Echo()), timeout=0.02)
    boss = agent("parent", tool_call("call_echo", message="hang"), "PARENT", toolkit=kit)

    assert errors(check_call(boss, "hi")) == ["Error: Tool execution failed: it took longer than 0.02 s"]


def test_a_subagent_that_calls_its_parent_s_session_gets_an_error_and_no_deadlock() -> None:
    boss: ReActAgent

    @tool
    async def back() -> str:
        """Call the parent."""
        return (await boss.reply("again")).text_content

    child = agent("child", tool_call("back"), "CHILD", toolkit=[back])
    boss = parent(child)

    record = check_call(boss, "hi")

    (message,) = check_subagents(boss, record.events)["main/child"]
    assert (
        "from inside its own session 'parent'" in message.get_content_blocks(ToolResultBlock)[0].text_content
    )


def test_a_failing_hook_of_the_parent_lets_the_subagents_end_well() -> None:
    child = agent("child", ["Wait. ", tool_call("wait", {"seconds": 5}, "w")], toolkit=[wait])
    boss = parent(child, middlewares=[on_acting(ops.timeout(0.05))])

    record = check_call(boss, "hi")

    assert type(record.error).__name__ == "TimeoutError" or "timeout" in str(record.error).lower()
    (message,) = check_subagents(boss, record.events)["main/child"]
    assert message.generate_reason is GenerateReason.INTERRUPTED
    assert [result.state for result in results(record)] == [ToolResultState.ERROR]


def test_a_hook_that_cuts_the_acting_phase_off_lets_the_subagents_end_well() -> None:
    child = agent("child", ["Wait. ", tool_call("wait", {"seconds": 5}, "w")], toolkit=[wait])

    def goes_on(event: ev.AgentEvent) -> bool:
        return not isinstance(event, ev.ToolCallEndEvent)

    boss = parent(child, middlewares=[on_acting(ops.take_while(goes_on, inclusive=True))])

    with pytest.warns(match="ended ToolResultStartEvent 'k1'"):
        record = check_call(boss, "hi")

    assert record.error is None
    (message,) = check_subagents(boss, record.events)["main/child"]
    assert message.generate_reason is GenerateReason.INTERRUPTED


def test_on_acting_sees_the_events_of_subagents_and_may_hide_them() -> None:
    seen: list[str | None] = []
    look = on_acting(ops.do_action(lambda event: seen.append(event.source)))
    hide = on_acting(ops.filter(lambda event: not event.source))

    record = check_call(parent(agent("child", "CHILD"), middlewares=[hide, look]), "hi")

    assert "main/child" in seen
    assert not any(event.source for event in record.events)
    assert [result.text_content for result in results(record)] == ["CHILD"]


class Twice(MiddlewareBase):
    """Acts twice."""

    def on_acting(self, agent: Any, ctx: Any, input: ActingInput, next: Any) -> Observable[ev.AgentEvent]:
        return rx.concat(next(input), next(input))


def test_what_a_subagent_has_said_is_not_said_again_when_a_hook_acts_again() -> None:
    boss = parent(agent("child", tool_call("add", a=1, b=2), "CHILD", toolkit=[add]), middlewares=[Twice()])

    record = check_call(boss, "hi")

    assert len({event.id for event in record.events}) == len(record.events)
    assert [message.text_content for message in check_subagents(boss, record.events)["main/child"]] == [
        "CHILD"
    ]


@pytest.mark.asyncio
async def test_sessions_of_one_parent_do_not_share_subagents() -> None:
    def child(asked: ScriptedCall) -> list[Any]:
        return [pause(0.001), f"{asked.text} {len(asked.messages)}"]

    def script(asked: ScriptedCall) -> Any:
        return asked.results[-1].text_content if asked.results else asks("child", "k1", asked.text)

    boss = agent("parent", script, toolkit=[agent("child", child)])
    names = [f"s{i}" for i in range(20)]

    replies = await asyncio.gather(*(_said(boss, name) for name in names))

    assert replies == [f"{name} 1" for name in names]


async def _said(boss: ReActAgent, name: str) -> str:
    return (await boss.reply(name, RuntimeContext(name))).text_content


def test_a_subscriber_may_call_the_agent_at_an_event_of_a_subagent_and_waits_for_its_turn() -> None:
    async def main() -> None:
        calling = parent(agent("child", "CHILD"), asks("child"), "PARENT", "LATER")
        later: list[str] = []
        done: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

        def see(event: ev.AgentEvent) -> None:
            if isinstance(event, ev.AgentStartEvent) and event.source:
                call = calling.reply("and then?")
                call.subscribe(
                    lambda msg: later.append(msg.text_content), done.set_result, lambda: done.set_result(None)
                )

        record = await calling.call("go").pipe(ops.do_action(see), agent_ops.to_msg())
        assert await asyncio.wait_for(done, 5) is None
        assert record.text_content == "PARENT"
        assert later == ["LATER"]

    asyncio.run(main())


def tower(depth: int, leaf: ReActAgent, **options: Any) -> ReActAgent:
    """Return an agent that has one work for it, that has one work for it, and so on, down to `leaf`."""

    def asking(name: str) -> ScriptedModel:
        return ScriptedModel(lambda asked: "Done" if asked.results else asks(name))

    above = leaf
    for level in range(1, depth):
        above = ReActAgent(f"a{level}", model=asking(above.name), toolkit=[above], **options)
    return above


def test_there_is_no_end_to_how_deep_agents_may_work_for_agents() -> None:
    watching = [hook(ops.map(lambda event: event)) for hook in (on_agent, on_acting)]
    record = check_call(tower(24, agent("leaf", "Found"), middlewares=watching), "go")

    assert record.message is not None
    assert record.message.text_content == "Done"
    assert max((event.source or "").count("/") for event in record.events) == 23


def test_deep_agents_that_are_left_leave_nothing_behind_and_go_on() -> None:
    asyncio.run(_left_deep())


async def _left_deep() -> None:
    leaf = agent("leaf", [tool_call("wait", seconds=30)], "Found", toolkit=[wait])
    above = tower(24, leaf)
    begun = asyncio.Event()

    def watch(event: ev.AgentEvent) -> None:
        if isinstance(event, ev.ToolResultStartEvent) and event.tool_call_name == "wait":
            begun.set()

    subscription = above.call("go").subscribe(watch)
    await asyncio.wait_for(begun.wait(), 10)
    subscription.dispose()
    await above.update_state(lambda state: state)  # behind the dispose
    for _ in range(20):
        await asyncio.sleep(0.01)

    assert asyncio.all_tasks() == {asyncio.current_task()}
    ended = await above.interrupt()
    assert isinstance(ended, ev.AgentEndEvent)
    assert ended.generate_reason is GenerateReason.INTERRUPTED
