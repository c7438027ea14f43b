"""An interrupt ends what a session does, at once and well, wherever it comes from and whenever."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import pytest
import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx import event as ev, operators as agent_ops
from agentscope_rx.agent import ConfirmResults, ExternalResults, ReActAgent, RuntimeContext
from agentscope_rx.errors import ConfigurationError, ModelConnectionError, StateSaveError
from agentscope_rx.event import ConfirmResult
from agentscope_rx.interop import from_async_iterable
from agentscope_rx.message import (
    GenerateReason,
    Msg,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.middleware import MiddlewareBase, on_acting, on_agent, on_model_call, on_reasoning
from agentscope_rx.model import ChatResponse
from agentscope_rx.store import InMemoryAgentStateStore
from agentscope_rx.testing import (
    CallRecord,
    acheck_call,
    acheck_disposal,
    check_call,
    pause,
    thinking,
    tool_call,
)
from agentscope_rx.tool import ToolEmitter, Toolkit, tool
from tests.agent.friend import friend, is_free
from tests.agent.stores import Watched, bring

Events = Observable[ev.AgentEvent]

FRAME: Final = [ev.AgentStartEvent, ev.AgentResultEvent, ev.AgentEndEvent]
"""All that there is of a call that was interrupted before it had begun to work."""


class Tapped:
    """An agent whose calls somebody watches, for `acheck_call`."""

    def __init__(self, agent: ReActAgent, see: Callable[[ev.AgentEvent], object]) -> None:
        self.agent = agent
        self.see = see
        self.state_store = agent.state_store
        self.get_agent_state = agent.get_agent_state

    def call(self, input: Any = None, ctx: RuntimeContext | None = None, output: Any = None) -> Events:
        return self.agent.call(input, ctx, output).pipe(ops.do_action(self.see))


async def watched(
    agent: ReActAgent, input: Any, see: Callable[[ev.AgentEvent], object], *, outer: bool = False
) -> CallRecord:
    watcher: Any = Tapped(agent, see)
    return await acheck_call(watcher, input, outer=outer)


# From where an interrupt may come.


def on_the_spot(agent: ReActAgent, msg: str | None) -> Events:
    return agent.interrupt(None, msg)


def in_a_later_turn(agent: ReActAgent, msg: str | None) -> Events:
    ended: rx.subject.ReplaySubject[Any] = rx.subject.ReplaySubject()
    asyncio.get_running_loop().call_soon(lambda: agent.interrupt(None, msg).subscribe(ended))
    return ended


def in_a_thread(agent: ReActAgent, msg: str | None) -> Events:
    streams: list[Events] = []
    thread = threading.Thread(target=lambda: streams.append(agent.interrupt(None, msg)))
    thread.start()
    thread.join()
    return streams[0]


WAYS: Final = (on_the_spot, in_a_later_turn, in_a_thread)


class Slow:
    """The tools of a conversation, and what became of them."""

    def __init__(self) -> None:
        self.cancelled: list[str] = []
        self.ended: list[str] = []

    @tool
    async def nap(self, name: str) -> str:
        """Sleep."""
        try:
            await asyncio.sleep(0.004)
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        self.ended.append(name)
        return f"{name} slept"

    @tool
    async def talk(self) -> Any:
        """Talk."""
        try:
            for number in range(4):
                yield f"{number} "
                await asyncio.sleep(0.001)
        finally:
            self.ended.append("talk")

    @tool
    def work(self, out: ToolEmitter) -> str:
        """Work in a thread."""
        for number in range(4):
            out.emit(f"{number} ")
            time.sleep(0.001)
        return "worked"


SCRIPT: Final = (
    [
        thinking("let me see"),
        "Here we go ",
        tool_call("nap", name="a"),
        tool_call("talk"),
        tool_call("work"),
        tool_call("nap", name="b"),
    ],
    ["and ", tool_call("nap", name="c")],
    ["It is ", "done."],
)


def made(*middlewares: MiddlewareBase, **options: Any) -> ReActAgent:
    return friend(*SCRIPT, toolkit=Toolkit(Slow()), middlewares=middlewares, **options)


def prompt(agent: ReActAgent) -> tuple[Msg, ...]:
    """What the model was asked last."""
    model: Any = agent.model
    return model.calls[-1].messages


def assert_closed(messages: tuple[Msg, ...]) -> None:
    """Each tool call of a prompt has its one result behind it."""
    calls = [block.id for msg in messages for block in msg.get_content_blocks(ToolUseBlock)]
    found = [block.id for msg in messages for block in msg.get_content_blocks(ToolResultBlock)]
    assert sorted(calls) == sorted(found)


async def interrupt_at_each_event(
    make: Callable[[], ReActAgent],
    way: Callable[[ReActAgent, str | None], Events],
    *,
    outer: bool = False,
    every: int = 3,
    late: int = 5,
) -> None:
    """Check the laws on calls that are interrupted; at the last events it may be too late for it."""
    agent = make()
    length = len((await acheck_call(agent, "go", outer=outer)).events)
    # Over a store, an interrupt that comes too late is a call of its own, which the laws would find there.
    last = length if agent.state_store is None else length - late
    reasons: list[GenerateReason] = []
    for number in range(last % every or every, last + 1, every):
        reason = await interrupt_at(number, make(), way, outer)
        if reason is not None:
            reasons.append(reason)
    assert set(reasons[: -late // every]) == {GenerateReason.INTERRUPTED}
    assert GenerateReason.MODEL_STOP in reasons[-2:] or last < length


async def interrupt_at(
    number: int, agent: ReActAgent, way: Callable[[ReActAgent, str | None], Events], outer: bool
) -> GenerateReason | None:
    """Interrupt a call at an event and check what comes of it; None if it has not so many."""
    seen: list[ev.AgentEvent] = []
    streams: list[Events] = []

    def see(event: ev.AgentEvent) -> None:
        seen.append(event)
        if len(seen) == number:
            streams.append(way(agent, f"stop at {number}"))
            assert len(seen) == number, "it emits nothing on the caller's stack"

    record = await watched(agent, "go", see, outer=outer)
    if not streams:  # how many deltas come of a thread is not always the same
        return None
    end = record.events[-1]
    assert isinstance(end, ev.AgentEndEvent)
    assert record.error is None
    assert list(record.events) == seen
    told = await streams[0].pipe(ops.to_list())
    assert [type(event) for event in told] in ([ev.AgentEndEvent], [type(None)])

    state = agent.get_agent_state()
    assert is_free(agent)
    assert state.checkpoint is None
    assert state.context[-1].text_content == f"stop at {number}"
    if end.generate_reason is GenerateReason.INTERRUPTED:
        message = state.context[-2]
        assert outer or (message, GenerateReason.INTERRUPTED) == (record.message, message.generate_reason)
        calls = {call.state for call in message.get_content_blocks(ToolUseBlock)}
        assert calls <= {ToolCallState.FINISHED}
        found = {result.state for result in message.get_content_blocks(ToolResultBlock)}
        assert found <= {ToolResultState.SUCCESS, ToolResultState.INTERRUPTED}

    again = await acheck_call(agent, "again", outer=outer)
    assert again.error is None
    assert f"stop at {number}" in [msg.text_content for msg in prompt(agent)]
    assert_closed(prompt(agent))
    return end.generate_reason


@pytest.mark.asyncio
@pytest.mark.parametrize("way", WAYS)
async def test_an_interrupt_at_any_event_ends_the_call_well(way: Any) -> None:
    threads = way is in_a_thread  # they are slow at times
    await interrupt_at_each_event(made, way, every=2 if threads else 1, late=40 if threads else 5)


@pytest.mark.asyncio
@pytest.mark.parametrize("delay", [None, 0.002])
async def test_an_interrupt_at_any_event_is_stored(delay: float | None) -> None:
    def over_a_store() -> ReActAgent:
        store = Watched()
        store.delay = delay
        return made(state_store=store)

    await interrupt_at_each_event(over_a_store, on_the_spot)
    agent = over_a_store()
    await agent.call("go").pipe(ops.do_action(lambda _: agent.interrupt() and None), ops.take(3))
    while not is_free(agent):
        await asyncio.sleep(0.001)
    store: Any = agent.state_store
    assert store.newest == agent.get_agent_state()


@pytest.mark.asyncio
@pytest.mark.parametrize("hook", [on_acting, on_reasoning, on_model_call])
async def test_an_interrupt_at_any_event_passes_hooks_that_take_their_time(hook: Any) -> None:
    await interrupt_at_each_event(lambda: made(hook(ops.delay(0.001))), on_the_spot)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "operator", [ops.map(lambda event: event), ops.delay(0.002), ops.delay_subscription(0.001)]
)
async def test_an_interrupt_at_any_event_of_what_an_outer_hook_shows_ends_it_well(operator: Any) -> None:
    await interrupt_at_each_event(lambda: made(on_agent(operator)), on_the_spot, outer=True, late=12)


# Where it finds the call.


def asked_slowly(seconds: float) -> MiddlewareBase:
    """An outer hook that thinks before it lets the call begin."""
    return on_agent(lambda events: rx.timer(seconds).pipe(ops.flat_map(lambda _: events)))


@pytest.mark.asyncio
async def test_an_interrupt_before_a_slow_outer_hook_lets_the_loop_begin_ends_the_call_without_it() -> None:
    agent = made(asked_slowly(30))
    seen: list[ev.AgentEvent] = []
    done = asyncio.Event()
    agent.call("go").subscribe(seen.append, on_completed=done.set)
    await asyncio.sleep(0.002)
    end = await agent.interrupt(None, "stop")
    await asyncio.wait_for(done.wait(), 5)

    assert [type(event).__name__ for event in seen] == [
        "AgentStartEvent",
        "AgentResultEvent",
        "AgentEndEvent",
    ]
    assert seen[-1] is end
    assert end.generate_reason is GenerateReason.INTERRUPTED
    texts = [msg.text_content for msg in agent.get_agent_state().context]
    assert texts == ["go", "", "stop"]


@pytest.mark.asyncio
async def test_an_interrupt_before_a_slow_outer_hook_goes_on_with_a_reply_closes_its_calls() -> None:
    store = InMemoryAgentStateStore()
    first = await acheck_call(made_asking(state_store=store), "go")
    agent = made_asking(middlewares=[asked_slowly(30)], state_store=store)
    done = asyncio.Event()
    agent.call(answers(first)).subscribe(on_completed=done.set)
    await asyncio.sleep(0.002)
    await agent.interrupt()
    await asyncio.wait_for(done.wait(), 5)

    assert states(agent) == [ToolResultState.INTERRUPTED] * 2
    assert agent.get_agent_state().checkpoint is None


@pytest.mark.asyncio
async def test_an_interrupt_while_a_slow_outer_hook_still_shows_a_pause_closes_the_calls_behind_it() -> None:
    paused = asyncio.Event()
    slowly = on_agent(ops.do_action(on_completed=paused.set), ops.delay(0.1))
    agent = made_asking(middlewares=[slowly])
    seen: list[ev.AgentEvent] = []
    done = asyncio.Event()
    agent.call("go").subscribe(seen.append, on_completed=done.set)
    await asyncio.wait_for(paused.wait(), 5)
    end = await agent.interrupt(None, "stop")

    assert done.is_set()
    assert {type(seen[0]), type(seen[-1])} == {ev.AgentStartEvent, ev.AgentEndEvent}
    assert end.generate_reason is GenerateReason.INTERRUPTED
    assert states(agent) == [ToolResultState.INTERRUPTED] * 2
    assert agent.get_agent_state().context[-1].text_content == "stop"


@pytest.mark.asyncio
async def test_an_interrupt_while_the_session_loads_ends_the_call() -> None:
    store = Watched()
    store.load_delay = 0.01
    agent = made(state_store=store)
    seen: list[ev.AgentEvent] = []
    done = asyncio.Event()
    agent.call("go").subscribe(seen.append, on_completed=done.set)
    await asyncio.sleep(0.002)
    assert store.loads == 1
    end = await agent.interrupt(None, "stop")
    await asyncio.wait_for(done.wait(), 5)

    assert [type(event).__name__ for event in seen] == [
        "AgentStartEvent",
        "AgentResultEvent",
        "AgentEndEvent",
    ]
    assert seen[-1] is end
    assert [msg.text_content for msg in store.newest.context] == ["go", "", "stop"]


@pytest.mark.asyncio
async def test_an_interrupt_while_a_load_fails_says_so() -> None:
    store = Watched()
    store.load_delay, store.fail_load = 0.005, StateSaveError("gone")
    agent = made(state_store=store)
    errors: list[Exception] = []
    agent.call("go").subscribe(on_error=errors.append)
    await asyncio.sleep(0.001)
    with pytest.raises(StateSaveError, match="gone"):
        await agent.interrupt()

    assert len(errors) == 1
    assert is_free(agent)


@pytest.mark.asyncio
async def test_an_interrupt_in_the_turn_in_which_a_call_is_subscribed_finds_it() -> None:
    agent = made()
    seen: list[ev.AgentEvent] = []
    agent.call("go").subscribe(seen.append)
    await agent.interrupt(None, "stop")

    assert [type(event).__name__ for event in seen] == [
        "AgentStartEvent",
        "AgentResultEvent",
        "AgentEndEvent",
    ]


def test_a_plain_script_may_interrupt_the_call_that_it_has_just_subscribed() -> None:
    for _ in range(10):
        agent = made()
        seen: list[ev.AgentEvent] = []
        agent.call("go").subscribe(seen.append)
        end = agent.interrupt(None, "stop").run()

        assert isinstance(end, ev.AgentEndEvent)
        assert end.generate_reason is GenerateReason.INTERRUPTED
        assert [msg.text_content for msg in agent.get_agent_state().context][-1] == "stop"
        assert seen[-1] is end


def test_a_plain_script_interrupts_a_running_call_from_its_thread() -> None:
    agent = friend([tool_call("wait", seconds=30)], "again")
    started = threading.Event()
    errors: list[Exception] = []

    def see(event: ev.AgentEvent) -> None:
        if isinstance(event, ev.ToolResultStartEvent):
            started.set()

    agent.call("go").subscribe(see, errors.append)
    assert started.wait(5)
    begun = time.monotonic()
    end = agent.interrupt(None, "stop").run()

    assert time.monotonic() - begun < 5
    assert isinstance(end, ev.AgentEndEvent)
    assert errors == []
    assert states(agent) == [ToolResultState.INTERRUPTED]
    assert agent.reply("again").run().text_content == "again"


# What it cuts.


@pytest.mark.asyncio
async def test_running_tools_are_cancelled_and_those_that_have_ended_keep_their_results() -> None:
    heard: list[str] = []
    in_thread, free = threading.Event(), threading.Event()

    @tool
    async def asleep() -> str:
        """Sleep."""
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            heard.append("cancelled")
            await asyncio.sleep(0.005)
            heard.append("cleaned up")
            raise
        return "never"

    @tool
    def in_a_loop(out: ToolEmitter) -> str:
        """Emit for ever."""
        try:
            in_thread.set()
            while True:
                out.emit("x")
                time.sleep(0.001)
        finally:
            heard.append("thread ended")
            free.set()

    @tool
    def quick() -> str:
        """Be done."""
        return "quick"

    calls = [tool_call("asleep"), tool_call("in_a_loop"), tool_call("quick")]
    agent = friend(calls, "later", toolkit=[asleep, in_a_loop, quick])
    order: list[str] = []

    def see(event: ev.AgentEvent) -> None:
        if isinstance(event, ev.ToolResultEndEvent) and event.state is ToolResultState.SUCCESS:
            agent.interrupt()
        order.append(type(event).__name__)

    record = await watched(agent, "go", see)
    assert record.error is None
    assert await asyncio.to_thread(free.wait, 5)
    assert sorted(heard) == ["cancelled", "cleaned up", "thread ended"]
    assert {r.state for r in results_of(record)} == {ToolResultState.SUCCESS, ToolResultState.INTERRUPTED}
    assert [r.state for r in results_of(record)].count(ToolResultState.SUCCESS) == 1


@pytest.mark.asyncio
async def test_the_stream_of_the_model_is_closed_before_the_call_has_ended() -> None:
    order: list[str] = []

    class Endless:
        model_name = "endless"

        def stream(self, messages: Any, tools: Any, options: Any) -> Observable[ChatResponse]:
            async def words() -> AsyncIterator[ChatResponse]:
                try:
                    while True:
                        yield ChatResponse((TextBlock("word "),))
                        await asyncio.sleep(0.001)
                finally:
                    await asyncio.sleep(0.002)
                    order.append("closed")

            return from_async_iterable(words)

    agent = ReActAgent("friend", model=Endless())
    done = asyncio.Event()

    def completed() -> None:
        order.append("completed")
        done.set()

    agent.call("go").subscribe(lambda _: None, on_completed=completed)
    await asyncio.sleep(0.01)
    await agent.interrupt()
    order.append("interrupted")
    await done.wait()

    assert order[0] == "closed"
    assert set(order[1:]) == {"completed", "interrupted"}


@pytest.mark.asyncio
async def test_a_tool_may_interrupt_its_own_session_and_is_cancelled() -> None:
    agents: list[ReActAgent] = []

    @tool
    async def give_up() -> str:
        """Interrupt the session."""
        await agents[0].interrupt(None, "I give up")
        return "never"

    agent = friend([tool_call("give_up")], "later", toolkit=[give_up])
    agents.append(agent)
    record = await acheck_call(agent, "go")

    assert isinstance(record.events[-1], ev.AgentEndEvent)
    assert record.events[-1].generate_reason is GenerateReason.INTERRUPTED
    assert agent.get_agent_state().context[-1].text_content == "I give up"


@pytest.mark.asyncio
@pytest.mark.parametrize("hook", [on_reasoning, on_acting, on_model_call])
async def test_a_hook_may_interrupt_its_own_session(hook: Any) -> None:
    agents: list[ReActAgent] = []
    middleware = hook(ops.do_action(lambda _: agents[0].interrupt()))
    agent = made(middleware)
    agents.append(agent)
    record = await acheck_call(agent, "go")

    assert isinstance(record.events[-1], ev.AgentEndEvent)
    assert record.events[-1].generate_reason is GenerateReason.INTERRUPTED


# Whom it concerns.


def made_asking(**options: Any) -> ReActAgent:
    calls = [tool_call("add", a=1, b=2), tool_call("lookup", what="x")]
    return friend(calls, "later", permission="default", **options)


def answers(record: CallRecord) -> ConfirmResults:
    asked = next(event for event in record.events if isinstance(event, ev.RequireUserConfirmEvent))
    return ConfirmResults([ConfirmResult(True, call) for call in asked.tool_calls])


def results_of(record: CallRecord) -> list[ToolResultBlock]:
    assert record.message is not None
    return record.message.get_content_blocks(ToolResultBlock)


def states(agent: ReActAgent) -> list[ToolResultState]:
    reply = next(msg for msg in reversed(agent.get_agent_state().context) if msg.role != "USER")
    return [block.state for block in reply.get_content_blocks(ToolResultBlock)]


@pytest.mark.asyncio
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("paused_by", ["a question", "an external call", "a stop", "a failure"])
async def test_an_interrupt_of_a_paused_reply_closes_it_and_tells_all_of_it(
    paused_by: str, stored: bool
) -> None:
    options: dict[str, Any] = {"state_store": InMemoryAgentStateStore()} if stored else {}
    match paused_by:
        case "a question":
            agent = made_asking(**options)
        case "an external call":
            agent = friend([tool_call("lookup", what="x"), tool_call("lookup", what="y")], **options)
        case "a stop":
            request = ev.RequestStopEvent("x", GenerateReason.REASONING_STOP_REQUESTED)
            stop = on_reasoning(lambda events: events.pipe(ops.concat(rx.of(request))))
            calls = [tool_call("add", a=1, b=2), tool_call("lookup", what="x")]
            agent = friend(calls, middlewares=[stop], **options)
        case _:
            agent = friend(["hm ", ModelConnectionError("no")], **options)
    first = await acheck_call(agent, "go")
    told: list[ev.AgentEvent | None] = await agent.interrupt(None, "never mind").pipe(ops.to_list())

    state = agent.get_agent_state()
    if paused_by == "a failure":  # nothing is open: it only leaves word
        assert told == [None]
    else:
        assert isinstance(told[0], ev.AgentStartEvent)
        assert isinstance(told[-1], ev.AgentEndEvent)
        assert told[-1].generate_reason is GenerateReason.INTERRUPTED
        assert first.message is not None
        folded = await rx.from_iterable([*first.events, *told]).pipe(agent_ops.to_msgs(), ops.last())
        assert folded == state.context[-2]
        assert folded.id == first.message.id
        assert states(agent) == [ToolResultState.INTERRUPTED] * 2
        assert state.checkpoint is None
    assert state.context[-1].text_content == "never mind"
    assert is_free(agent)
    assert (await acheck_call(agent, "and now?")).error is None
    assert_closed(prompt(agent))


@pytest.mark.asyncio
async def test_what_a_tool_had_said_whose_call_was_left_stays_above_the_interrupt() -> None:
    agent = friend([tool_call("count", to=5)], "later")
    names = (await acheck_call(friend([tool_call("count", to=5)], "later"), "go")).names
    await acheck_disposal(agent, "go", after=names.index("ToolResultTextDelta") + 1)
    await agent.interrupt()

    [result] = agent.get_agent_state().context[-1].get_content_blocks(ToolResultBlock)
    assert result.text_content == "0 \nError: interrupted by the user"
    assert result.state is ToolResultState.INTERRUPTED


@pytest.mark.asyncio
async def test_where_a_tool_had_said_nothing_whose_call_was_left_the_interrupt_stands_alone() -> None:
    agent = friend([tool_call("count", to=5)], "later")
    names = (await acheck_call(friend([tool_call("count", to=5)], "later"), "go")).names
    await acheck_disposal(agent, "go", after=names.index("ToolResultStart") + 1)
    await agent.interrupt()

    [result] = agent.get_agent_state().context[-1].get_content_blocks(ToolResultBlock)
    assert result.text_content == "Error: interrupted by the user"


@pytest.mark.asyncio
async def test_an_answer_that_comes_behind_an_interrupt_is_stale() -> None:
    agent = made_asking()
    first = await acheck_call(agent, "go")
    await agent.interrupt()

    record = await acheck_call(agent, answers(first))
    assert "no reply waits" in str(record.error)


@pytest.mark.asyncio
async def test_of_a_session_with_calls_that_wait_only_the_running_one_is_interrupted() -> None:
    agent = friend(lambda asked: [pause(0.005), f"answer to {asked.text}"])
    ends: dict[str, ev.AgentEndEvent] = {}

    async def ask(text: str) -> None:
        ends[text] = await agent.call(text)

    asking = [asyncio.ensure_future(ask(text)) for text in "abc"]
    await asyncio.sleep(0.001)
    await agent.interrupt(None, "not that")
    await asyncio.gather(*asking)

    assert [end.generate_reason for end in ends.values()] == [
        GenerateReason.INTERRUPTED,
        GenerateReason.MODEL_STOP,
        GenerateReason.MODEL_STOP,
    ]
    texts = [msg.text_content for msg in agent.get_agent_state().context]
    assert texts == ["a", "", "not that", "b", "answer to b", "c", "answer to c"]


@pytest.mark.asyncio
@pytest.mark.parametrize("when", ["at its end", "behind it"])
async def test_an_interrupt_of_a_call_that_has_just_ended_goes_before_those_that_wait(when: str) -> None:
    agent = friend(lambda asked: [pause(0.002), f"answer to {asked.text}"])
    told: list[Any] = []

    def leave_word() -> None:
        agent.interrupt(None, "thanks").subscribe(told.append)

    def see(event: ev.AgentEvent) -> None:
        if isinstance(event, ev.AgentEndEvent):
            leave_word()

    watching = ops.do_action(see) if when == "at its end" else ops.do_action(on_completed=leave_word)
    calls = [agent.call("a").pipe(watching), agent.call("b"), agent.call("c")]
    ends = await asyncio.gather(*[asyncio.ensure_future(_last(call)) for call in calls])
    texts = [msg.text_content for msg in agent.get_agent_state().context]

    assert told == ([ends[0]] if when == "at its end" else [None])
    assert {end.generate_reason for end in ends} == {GenerateReason.MODEL_STOP}
    assert texts.index("thanks") < texts.index("c")
    assert sorted(texts) == sorted([*"abc", *(f"answer to {x}" for x in "abc"), "thanks"])


async def _last(stream: Observable[Any]) -> Any:
    return await stream


@pytest.mark.asyncio
@pytest.mark.parametrize("stored", [False, True])
async def test_an_interrupt_of_a_session_at_rest_leaves_its_message_and_nothing_else(stored: bool) -> None:
    store = Watched()
    agent = friend("one", "two", **({"state_store": store} if stored else {}))
    assert await agent.interrupt(None) is None
    assert store.saves == 0
    await acheck_call(agent, "a")

    assert await agent.interrupt(None) is None
    assert await agent.interrupt(None, "hm") is None
    assert await agent.interrupt(None, [UserMessage("x"), UserMessage("y")]) is None
    await bring(agent)
    await acheck_call(agent, "b")
    texts = [msg.text_content for msg in agent.get_agent_state().context]
    assert texts == ["a", "one", "hm", "x", "y", "b", "two"]


@pytest.mark.asyncio
async def test_an_interrupt_of_one_session_leaves_the_others_alone() -> None:
    agent = friend(lambda asked: [pause(0.005), f"answer to {asked.text}"])
    contexts = [RuntimeContext(f"s{number}") for number in range(5)]
    asking = [asyncio.ensure_future(_last(agent.reply(c.session_id or "", c))) for c in contexts]
    await asyncio.sleep(0.001)
    await agent.interrupt(contexts[2])
    texts = [message.text_content for message in await asyncio.gather(*asking)]

    assert texts == ["answer to s0", "answer to s1", "", "answer to s3", "answer to s4"]


@pytest.mark.asyncio
@pytest.mark.parametrize("apart", [0.0, 0.002, 0.02])
async def test_interrupted_twice_in_a_row_it_ends_once_and_both_are_heard(apart: float) -> None:
    store = Watched()
    store.delay = 0.005
    agent = friend([tool_call("wait", seconds=30)], "later", state_store=store)
    seen: list[ev.AgentEvent] = []
    agent.call("go").subscribe(seen.append)
    while not any(isinstance(event, ev.ToolResultStartEvent) for event in seen):
        await asyncio.sleep(0.001)
    first = agent.interrupt(None, "one")
    if apart:
        await asyncio.sleep(apart)
    second = agent.interrupt(None, "two")
    told = [await first, await second]

    assert told[0] is seen[-1]
    assert told[1] in (seen[-1], None)
    assert sum(isinstance(event, ev.AgentEndEvent) for event in seen) == 1
    assert [msg.text_content for msg in store.newest.context][-2:] == ["one", "two"]
    assert store.newest == agent.get_agent_state()


@pytest.mark.asyncio
async def test_an_interrupted_reply_is_over_and_none_begins_another() -> None:
    agent = friend([tool_call("wait", seconds=30)], "I was told to stop.")

    def see(event: ev.AgentEvent) -> None:
        if isinstance(event, ev.ToolResultStartEvent):
            agent.interrupt(None, "stop")

    first = await watched(agent, "go", see)
    again = await acheck_call(agent)

    assert first.message is not None
    assert again.message is not None
    assert first.message.id != again.message.id
    assert [msg.text_content for msg in prompt(agent)] == ["go", "", "stop"]
    assert again.message.text_content == "I was told to stop."


@pytest.mark.asyncio
async def test_an_interrupt_that_nobody_waits_for_takes_effect_and_its_failure_is_reported() -> None:
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
    store = Watched()
    agent = friend("one", state_store=store)
    agent.interrupt(None, "hm")
    await asyncio.sleep(0.005)
    assert [msg.text_content for msg in store.newest.context] == ["hm"]

    store.fail_save = lambda _: StateSaveError("full")
    agent.interrupt(None, "ho")
    await asyncio.sleep(0.005)
    assert [str(error) for error in reported] == ["full"]
    with pytest.raises(StateSaveError):
        await agent.interrupt(None, "ho")
    assert len(reported) == 1


def test_what_an_interrupt_says_is_checked_where_it_is_called() -> None:
    agent = friend("x")
    with pytest.raises(ConfigurationError, match="give a string"):
        agent.interrupt(None, 3)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="RuntimeContext"):
        agent.interrupt("monday")  # type: ignore[arg-type]
    for answer in (ConfirmResults([]), ExternalResults([ToolResultBlock("a", "b", "c")])):
        with pytest.raises(ConfigurationError, match="interrupt"):
            agent.interrupt(None, answer)  # type: ignore[arg-type]


def test_after_an_interrupt_a_call_of_another_loop_goes_on() -> None:
    agent = friend([tool_call("wait", seconds=30)], "later")

    async def main() -> None:
        started = asyncio.Event()

        def see(event: ev.AgentEvent) -> None:
            if isinstance(event, ev.ToolResultStartEvent):
                started.set()

        agent.call("go").subscribe(see)
        await started.wait()
        threading.Thread(target=lambda: agent.interrupt(None, "stop").run(), daemon=True).start()
        while not is_free(agent):
            await asyncio.sleep(0.001)

    asyncio.run(main())
    record = check_call(agent, "again")
    assert record.error is None
    assert [msg.text_content for msg in prompt(agent)] == ["go", "", "stop", "again"]


def test_an_interrupt_of_a_call_whose_loop_was_closed_under_it_closes_its_reply() -> None:
    agent = friend([tool_call("wait", seconds=30)], "later")

    async def leave_it() -> None:
        agent.call("go").subscribe()
        await asyncio.sleep(0.02)

    asyncio.run(leave_it())
    end = agent.interrupt(None, "stop").run()
    assert isinstance(end, ev.AgentEndEvent)
    assert states(agent) == [ToolResultState.INTERRUPTED]
