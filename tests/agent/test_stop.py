"""A stop finishes the step that runs, for whatever reason and whoever asks; `None` goes on behind it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Final

import pytest
import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx import event as ev
from agentscope_rx.agent import ReActAgent, RuntimeContext
from agentscope_rx.errors import MiddlewareProtocolWarning
from agentscope_rx.message import (
    AssistantMessage,
    GenerateReason,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.middleware import (
    AgentInput,
    MiddlewareBase,
    Phase,
    on_acting,
    on_agent,
    on_model_call,
    on_reasoning,
)
from agentscope_rx.testing import CallRecord, acheck_call, acheck_disposal, check_call, pause, tool_call
from agentscope_rx.tool import ToolEmitter, tool
from tests.agent.friend import friend, is_free
from tests.agent.stores import Watched, stored

Events = Observable[ev.AgentEvent]
Ask = Callable[[ReActAgent], bool]
HOOKS: Final = (on_reasoning, on_acting, on_model_call)


class Once:
    """Tools that note their runs."""

    def __init__(self) -> None:
        self.runs: list[str] = []

    @tool
    async def slow(self, name: str) -> str:
        """Take some time."""
        await asyncio.sleep(0.003)
        self.runs.append(name)
        return name

    @tool
    def quick(self, name: str) -> str:
        """Be quick."""
        self.runs.append(name)
        return name

    @tool(concurrency_safe=False)
    async def alone(self, name: str) -> str:
        """Be alone."""
        self.runs.append(name)
        return name

    @tool
    async def stop(self, out: ToolEmitter, reason: str) -> str:
        """Ask for a stop."""
        self.runs.append("stop")
        out.request_stop("enough", generate_reason=GenerateReason(reason))
        return "asked"

    @tool
    def stop_in_a_thread(self, out: ToolEmitter, reason: str) -> str:
        """Ask for a stop."""
        self.runs.append("stop")
        out.request_stop("enough", generate_reason=GenerateReason(reason))
        return "asked"


CALLS: Final = (
    tool_call("slow", name="a"),
    tool_call("quick", name="b"),
    tool_call("alone", name="c"),
    tool_call("slow", name="d"),
)


def made(tools: Once, *middlewares: Any, first: Any = CALLS, **options: Any) -> ReActAgent:
    script = (["Let me ", *first], ["and ", tool_call("quick", name="e")], "done")
    return friend(*script, toolkit=[tools], middlewares=middlewares, **options)


def message_of(record: CallRecord) -> AssistantMessage:
    assert record.error is None
    assert record.message is not None
    return record.message


def assert_gone_on_with(agent: ReActAgent, tools: Once, stopped: AssistantMessage) -> None:
    """`None` goes on under the same id until the answer, and runs each call once."""
    record = check_call(agent)
    message = message_of(record)
    assert message.id == stopped.id
    assert message.content[: len(stopped.content)] == stopped.content or open_calls(stopped)
    # One who is stopped in the middle of an answer is asked for more.
    assert message.text_content.endswith(("done", "done\nlater"))
    assert len(tools.runs) == len(set(tools.runs))
    found = [result.id for result in message.get_content_blocks(ToolResultBlock)]
    assert sorted(found) == sorted(call.id for call in message.get_content_blocks(ToolUseBlock))
    assert is_free(agent)


def open_calls(message: AssistantMessage) -> set[str]:
    calls = {call.id for call in message.get_content_blocks(ToolUseBlock)}
    return calls - {result.id for result in message.get_content_blocks(ToolResultBlock)}


class Stopping:
    """A hook that asks for a stop in the first phase that it sees."""

    def __init__(self, where: str, reason: GenerateReason) -> None:
        self.where = where
        self.reason = reason
        self.asked = False

    def __call__(self, events: Events) -> Events:
        if self.asked:
            return events
        self.asked = True
        request: Events = rx.of(ev.RequestStopEvent("enough", self.reason))
        match self.where:
            case "before it":
                return events.pipe(ops.start_with(ev.RequestStopEvent("enough", self.reason)))
            case "behind it":
                return events.pipe(ops.concat(request))
            case _:
                middle = (ev.TextBlockDeltaEvent, ev.ToolResultStartEvent)
                seen: list[ev.AgentEvent] = []

                def with_request(event: ev.AgentEvent) -> Events:
                    seen.append(event)
                    is_first = isinstance(event, middle) and not any(isinstance(e, middle) for e in seen[:-1])
                    return rx.concat(rx.of(event), request) if is_first else rx.of(event)

                return events.pipe(ops.concat_map(with_request))


@pytest.mark.parametrize("where", ["before it", "in it", "behind it"])
@pytest.mark.parametrize("hook", HOOKS)
def test_a_stop_from_a_hook_lets_the_phase_end_and_nothing_begin(hook: Any, where: str) -> None:
    tools = Once()
    agent = made(tools, hook(Stopping(where, GenerateReason.MIDDLEWARE_STOP_REQUESTED)))
    record = check_call(agent, "go")

    message = message_of(record)
    assert message.generate_reason is GenerateReason.MIDDLEWARE_STOP_REQUESTED
    assert record.names.count("RequestStop") == 1
    assert record.names.count("ModelCallStart") == record.names.count("ModelCallEnd") == 1
    calls = message.get_content_blocks(ToolUseBlock)
    assert [call.name for call in calls] == ["slow", "quick", "alone", "slow"]
    if hook is on_acting:
        assert sorted(tools.runs) == [*"abcd"]
        assert open_calls(message) == set()
    else:
        assert tools.runs == []
        assert open_calls(message) == {call.id for call in calls}
    assert_gone_on_with(agent, tools, message)


@pytest.mark.parametrize("reason", GenerateReason)
@pytest.mark.parametrize("hook", HOOKS)
def test_a_stop_from_a_hook_has_any_reason(hook: Any, reason: GenerateReason) -> None:
    tools = Once()
    agent = made(tools, hook(Stopping("behind it", reason)), first=[tool_call("quick", name="a")])
    message = message_of(check_call(agent, "go"))

    assert message.generate_reason is reason
    if open_calls(message) or not is_final(reason):
        assert_gone_on_with(agent, tools, message)
    else:  # it says that this was the end
        assert agent.get_agent_state().checkpoint is None


def is_final(reason: GenerateReason) -> bool:
    return reason in (
        GenerateReason.MODEL_STOP,
        GenerateReason.STRUCTURED_OUTPUT,
        GenerateReason.INTERRUPTED,
        GenerateReason.MAX_ITERATIONS,
    )


@pytest.mark.parametrize("reason", GenerateReason)
@pytest.mark.parametrize("name", ["stop", "stop_in_a_thread"])
def test_a_stop_from_a_tool_has_any_reason_and_lets_its_neighbours_end(
    name: str, reason: GenerateReason
) -> None:
    tools = Once()
    store = Watched()
    calls = [tool_call("slow", name="a"), tool_call(name, reason=reason.value), *CALLS[1:]]
    agent = made(tools, first=calls, state_store=store)
    record = check_call(agent, "go")

    message = message_of(record)
    assert message.generate_reason is reason
    assert sorted(tools.runs) == [*"abcd", "stop"]
    states = {result.state for result in message.get_content_blocks(ToolResultBlock)}
    assert states == {ToolResultState.SUCCESS}
    assert open_calls(message) == set()
    assert record.names.count("ModelCallStart") == 1
    assert store.newest == agent.get_agent_state()
    if not is_final(reason):
        assert_gone_on_with(agent, tools, message)


def test_of_two_stops_the_last_one_counts() -> None:
    tools = Once()
    first = Stopping("before it", GenerateReason.REASONING_STOP_REQUESTED)
    last = Stopping("behind it", GenerateReason.ACTING_STOP_REQUESTED)
    message = message_of(check_call(made(tools, on_reasoning(first), on_reasoning(last)), "go"))

    assert message.generate_reason is GenerateReason.ACTING_STOP_REQUESTED


def test_a_stop_that_an_outer_hook_shows_stops_nothing_and_is_reported() -> None:
    tools = Once()
    stopping = Stopping("in it", GenerateReason.MIDDLEWARE_STOP_REQUESTED)
    with pytest.warns(
        MiddlewareProtocolWarning, match=r"on_agent: RequestStopEvent stopped.*request_stop\(ctx\)"
    ):
        record = check_call(made(tools, on_agent(stopping)), "go", outer=True)

    assert record.message is not None
    assert record.message.text_content.endswith("done")


def test_a_stop_that_passes_an_outer_hook_is_not_reported() -> None:
    tools = Once()
    stopping = Stopping("in it", GenerateReason.MIDDLEWARE_STOP_REQUESTED)
    message = message_of(check_call(made(tools, on_agent(ops.delay(0)), on_reasoning(stopping)), "go"))

    assert message.generate_reason is GenerateReason.MIDDLEWARE_STOP_REQUESTED


def test_an_outer_hook_stops_a_call_through_the_agent() -> None:
    class Budget(MiddlewareBase):
        def on_agent(
            self, agent: Any, ctx: RuntimeContext, input: AgentInput, next: Phase[AgentInput]
        ) -> Events:
            ended = ev.ModelCallEndEvent
            return next(input).pipe(
                ops.tap(lambda event: agent.request_stop(ctx) if isinstance(event, ended) else None)
            )

    message = message_of(check_call(made(Once(), Budget()), "go"))

    assert message.generate_reason is GenerateReason.MIDDLEWARE_STOP_REQUESTED
    assert len(message.get_content_blocks(ToolUseBlock)) == len(CALLS)


@pytest.mark.parametrize("of_the_child", [True, False])
def test_only_a_stop_of_its_own_stops_a_call(of_the_child: bool) -> None:
    request = ev.RequestStopEvent("enough", source="main/child" if of_the_child else None)
    tools = Once()
    shown = on_reasoning(lambda events: events.pipe(ops.start_with(request)))
    message = message_of(check_call(made(tools, shown), "go"))

    assert (message.generate_reason is GenerateReason.MODEL_STOP) == of_the_child


# From outside.


def on_the_spot(agent: ReActAgent) -> bool:
    return agent.request_stop(None, "enough", generate_reason=GenerateReason.ACTING_STOP_REQUESTED)


def in_a_thread(agent: ReActAgent) -> bool:
    told: list[bool] = []
    thread = threading.Thread(target=lambda: told.append(on_the_spot(agent)))
    thread.start()
    thread.join()
    return told[0]


async def stopped_at(number: int, agent: ReActAgent, ask: Ask) -> list[ev.AgentEvent]:
    seen: list[ev.AgentEvent] = []

    def see(event: ev.AgentEvent) -> None:
        seen.append(event)
        if len(seen) == number:
            assert ask(agent)
            assert len(seen) == number, "it emits nothing on the caller's stack"

    await agent.call("go").pipe(ops.do_action(see))
    return seen


@pytest.mark.parametrize("delay", [None, 0.002])
@pytest.mark.parametrize("ask", [on_the_spot, in_a_thread])
def test_a_stop_from_outside_at_any_event_finishes_the_step(ask: Ask, delay: float | None) -> None:
    def fresh(tools: Once) -> ReActAgent:
        store = Watched()
        store.delay = delay
        return made(tools, **({} if delay is None else {"state_store": store}))

    length = len(check_call(fresh(Once()), "go").events)
    for number in range(1, length + 1, 3):
        tools = Once()
        agent = fresh(tools)
        seen = asyncio.run(stopped_at(number, agent, ask))

        end = seen[-1]
        assert isinstance(end, ev.AgentEndEvent)
        state = agent.get_agent_state()
        message = state.context[-1]
        assert isinstance(message, AssistantMessage)
        if end.generate_reason is GenerateReason.MODEL_STOP:
            assert number > length - 9
            continue
        assert end.generate_reason is GenerateReason.ACTING_STOP_REQUESTED
        asked = next(index for index, event in enumerate(seen) if isinstance(event, ev.RequestStopEvent))
        begun = [type(event) for event in seen[asked:]]
        assert ev.ModelCallStartEvent not in begun
        assert is_free(agent)
        if open_calls(message) or state.checkpoint is not None:
            assert_gone_on_with(agent, tools, message)


def test_a_stop_from_outside_of_a_session_at_rest_says_that_nothing_runs() -> None:
    agent = made(Once())
    assert agent.request_stop() is False
    message_of(check_call(agent, "go"))
    assert agent.request_stop() is False


@pytest.mark.asyncio
async def test_a_stop_while_the_session_loads_ends_the_call_before_its_first_step() -> None:
    store = Watched()
    store.load_delay = 0.005
    tools = Once()
    agent = made(tools, state_store=store)
    seen: list[ev.AgentEvent] = []
    done = asyncio.Event()
    agent.call("go").subscribe(seen.append, on_completed=done.set)
    await asyncio.sleep(0.001)
    assert agent.request_stop(None, "not now")
    await done.wait()

    names = [type(event).__name__ for event in seen]
    assert names == ["AgentStartEvent", "RequestStopEvent", "AgentResultEvent", "AgentEndEvent"]
    assert await stored(agent) == agent.get_agent_state()
    store.load_delay = 0
    assert message_of(await acheck_call(agent)).text_content.endswith("done")


@pytest.mark.asyncio
async def test_a_stop_before_a_slow_outer_hook_lets_the_loop_begin_ends_the_call_before_its_first_step() -> (
    None
):
    slowly = on_agent(lambda events: rx.timer(0.01).pipe(ops.flat_map(lambda _: events)))
    agent = made(Once(), slowly)
    seen: list[ev.AgentEvent] = []
    done = asyncio.Event()
    agent.call("go").subscribe(seen.append, on_completed=done.set)
    await asyncio.sleep(0.001)
    assert agent.request_stop(None, "not now")
    await done.wait()

    names = [type(event).__name__ for event in seen]
    assert names == ["AgentStartEvent", "RequestStopEvent", "AgentResultEvent", "AgentEndEvent"]


@pytest.mark.asyncio
async def test_a_stop_that_comes_while_the_end_is_stored_is_too_late_and_follows_no_end() -> None:
    store = Watched()
    store.delay = 0.01
    agent = friend("Hello", state_store=store)
    seen: list[ev.AgentEvent] = []
    done = asyncio.Event()
    agent.call("hi").subscribe(seen.append, on_completed=done.set)
    while not store.saving:
        await asyncio.sleep(0.001)
    assert agent.request_stop()
    await done.wait()

    assert [type(event) for event in seen[-2:]] == [ev.AgentResultEvent, ev.AgentEndEvent]
    assert not any(isinstance(event, ev.RequestStopEvent) for event in seen)
    assert store.newest == agent.get_agent_state()
    assert store.newest.checkpoint is None


def test_a_stop_from_a_plain_script_ends_the_call_that_runs_there() -> None:
    agent = friend(lambda asked: [pause(0.001), tool_call("wait", seconds=0.001)], max_iters=10_000)
    running = threading.Event()
    ended = threading.Event()
    last: list[ev.AgentEvent] = []
    agent.call("go").subscribe(lambda event: (last.append(event), running.set()), on_completed=ended.set)
    assert running.wait(5)
    assert agent.request_stop()
    assert ended.wait(5)
    assert isinstance(last[-1], ev.AgentEndEvent)
    assert last[-1].generate_reason is GenerateReason.MIDDLEWARE_STOP_REQUESTED


@pytest.mark.asyncio
async def test_an_interrupt_of_a_call_that_is_stopping_ends_it_at_once() -> None:
    agent = friend([tool_call("wait", seconds=30)], "later")
    seen: list[ev.AgentEvent] = []

    def see(event: ev.AgentEvent) -> None:
        seen.append(event)
        if isinstance(event, ev.ToolResultStartEvent):
            agent.request_stop()
        elif isinstance(event, ev.RequestStopEvent):
            agent.interrupt()

    await agent.call("go").pipe(ops.do_action(see))
    assert isinstance(seen[-1], ev.AgentEndEvent)
    assert seen[-1].generate_reason is GenerateReason.INTERRUPTED
    assert agent.get_agent_state().checkpoint is None


# Dispose is "stop now".


@pytest.mark.asyncio
async def test_dispose_cuts_the_tools_and_leaves_their_calls_open() -> None:
    tools = Once()
    agent = made(tools, first=[tool_call("slow", name="a"), tool_call("quick", name="b")])
    length = len((await acheck_call(agent, "go")).events)
    for number in range(1, length):
        tools.runs.clear()
        agent = made(tools, first=[tool_call("slow", name="a"), tool_call("quick", name="b")])
        record = await acheck_disposal(agent, "go", after=number)
        ended = sum(isinstance(event, ev.ToolResultEndEvent) for event in record.events)
        finished = tools.runs[:ended]
        message = message_of(await acheck_call(agent))
        assert record.message is not None
        assert message.id == record.message.id
        assert all(tools.runs.count(name) == 1 for name in finished)
        assert open_calls(message) == set()
