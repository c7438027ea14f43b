"""What a subscriber has seen is stored; and whatever a store does, the call ends, and ends well."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, Final

import pytest
import reactivex as rx
from attrs import evolve
from reactivex import operators as ops

from agentscope_rx import event as ev, operators as agent_ops
from agentscope_rx.agent import ReActAgent
from agentscope_rx.errors import (
    AgentScopeError,
    ModelConnectionError,
    OpenCallsError,
    StateConflictError,
    StateError,
    StateSaveError,
)
from agentscope_rx.message import GenerateReason, ToolCallState, ToolUseBlock
from agentscope_rx.middleware import on_acting, on_agent, on_model_call, on_reasoning
from agentscope_rx.state import AgentState, SessionState
from agentscope_rx.testing import CallRecord, acheck_call, acheck_disposal, pause, tool_call
from agentscope_rx.tool import ToolEmitter, tool
from tests.agent.friend import TOOLS, friend, is_free
from tests.agent.stores import Watched, bring, check, results, stored
from tests.laws.harmful import letting_escape_at

pytestmark = pytest.mark.asyncio


def stop(reason: GenerateReason) -> Any:
    return lambda events: events.pipe(ops.concat(rx.defer(lambda _: rx.of(ev.RequestStopEvent("x", reason)))))


# When it is stored.


async def test_what_reaches_a_subscriber_is_stored_by_then() -> None:
    store = Watched()
    agent = friend(state_store=store)
    early: list[ev.AgentEvent] = []

    def see(event: ev.AgentEvent) -> None:
        match event:
            case ev.ToolResultStartEvent(tool_call_id=call):
                calls = store.newest.context[-1].get_content_blocks(ToolUseBlock)
                is_stored = call in {block.id for block in calls}
            case ev.ToolResultEndEvent(tool_call_id=call, state=state):
                is_stored = results(store.newest).get(call) is state
            case ev.AgentResultEvent() | ev.AgentEndEvent():
                is_stored = store.newest.checkpoint is None
            case _:
                return
        if not is_stored:
            early.append(event)

    message = await agent.call("go").pipe(ops.do_action(see), agent_ops.to_msg())
    assert early == []
    assert store.newest.context[-1] == message
    # Behind two reasoning phases with calls, with five results (neighbours may share one), and at the end.
    assert store.loads == 1
    assert 5 <= len(store.saved) <= 8
    assert store.durable == [False] * (len(store.saved) - 1) + [True]


async def test_a_reply_without_tools_is_stored_once_and_one_that_was_refused_is_not() -> None:
    store = Watched()
    agent = friend("Hello", tool_call("lookup", what="x"), state_store=store)
    await check(agent, "hi")
    assert store.durable == [True]

    await check(agent, "look it up")
    saves = store.saves
    assert isinstance((await check(agent, "more")).error, OpenCallsError)
    assert store.saves == saves


PAUSES: Final[dict[str, tuple[Any, dict[str, Any], GenerateReason | None]]] = {
    "an external call": (tool_call("lookup", what="x"), {}, GenerateReason.TOOL_SUSPENDED),
    "a question": (
        tool_call("add", a=1, b=2),
        {"permission": "default"},
        GenerateReason.PERMISSION_ASKING,
    ),
    "a failure": (["hm", ModelConnectionError("no")], {}, None),
    "a stop": (
        tool_call("add", a=1, b=2),
        {"middlewares": [on_acting(stop(GenerateReason.ACTING_STOP_REQUESTED))]},
        GenerateReason.ACTING_STOP_REQUESTED,
    ),
}


@pytest.mark.parametrize("name", PAUSES)
async def test_a_pause_a_stop_and_a_failure_are_stored_before_their_end_goes_out(name: str) -> None:
    answer, options, reason = PAUSES[name]
    store = Watched()
    agent = friend(answer, state_store=store, **options)
    at_end: list[AgentState] = []

    def see(event: ev.AgentEvent) -> None:
        if isinstance(event, ev.AgentEndEvent):
            assert event.generate_reason is reason
            at_end.append(store.newest)

    await agent.call("go").pipe(ops.do_action(see), ops.catch(rx.empty()), ops.to_list())
    assert [store.newest] == at_end == [agent.get_agent_state()]
    assert at_end[0].checkpoint is not None
    assert store.durable[-1]


async def test_what_a_tool_keeps_in_the_session_is_stored_with_its_result() -> None:
    store = Watched()

    @tool
    def keep(session: SessionState) -> str:
        """Keep something."""
        session.update(lambda state: evolve(state, summary="kept"))
        return "kept"

    agent = friend(tool_call("keep"), "done", toolkit=[keep], state_store=store)
    summaries: list[str] = []

    def see(event: ev.AgentEvent) -> None:
        if isinstance(event, ev.ToolResultEndEvent):
            summaries.append(store.newest.summary)

    await agent.call("go").pipe(ops.do_action(see))
    assert summaries == ["kept"]


# A store that takes its time.


@pytest.mark.parametrize("delay", [0.0, 0.003, "any"])
async def test_a_slow_store_changes_nothing_in_the_stream_but_when_it_comes(delay: float | str) -> None:
    random = Random(7)
    store = Watched()
    store.delay = delay if isinstance(delay, float) else lambda: random.choice((0, 0, 0.001, 0.004))
    script = ([tool_call("count", to=3), tool_call("add", a=1, b=2), tool_call("fail")], "It is seven.")
    quick = await acheck_call(friend(*script, max_concurrent_tools=1), "go")
    slow = await check(friend(*script, max_concurrent_tools=1, state_store=store), "go")

    assert slow.names == quick.names
    assert [getattr(e, "delta", "") for e in slow.events] == [getattr(e, "delta", "") for e in quick.events]


async def test_while_a_result_is_stored_the_other_tools_work_on_and_no_model_is_asked() -> None:
    store = Watched()
    store.delay = 0.01
    seen: list[tuple[str, int]] = []

    @tool
    async def chatty() -> Any:
        """Say something while others end."""
        for number in range(8):
            seen.append(("chatty", store.saving))
            yield f"{number} "
            await asyncio.sleep(0.002)

    def asked(call: Any) -> Any:
        seen.append(("model", store.saving))
        return "done" if call.results else [tool_call("chatty"), tool_call("add", a=1, b=2)]

    record = await check(friend(asked, toolkit=[*TOOLS, chatty], state_store=store), "go")

    assert record.error is None
    assert ("chatty", 1) in seen
    assert ("model", 1) not in seen


async def test_a_call_over_a_slow_store_may_be_disposed_at_any_event() -> None:
    def fresh() -> tuple[ReActAgent, Watched]:
        store = Watched()
        store.delay = 0.002
        return friend(state_store=store), store

    agent, _ = fresh()
    length = len((await check(agent, "go")).events)
    for number in range(1, length + 1):
        agent, store = fresh()
        await acheck_disposal(agent, "go", after=number)
        assert await stored(agent) == agent.get_agent_state()
        assert is_free(agent)
        assert store.saving == 0
        assert (await check(agent)).error is None


async def test_a_call_that_is_disposed_while_a_save_runs_stores_all_and_frees_its_session_then() -> None:
    store = Watched()
    store.delay = 0.01
    order: list[str] = []
    agent = friend([tool_call("add", a=1, b=2)], "done", state_store=store)
    subscription = agent.call("go").subscribe(lambda event: order.append(type(event).__name__))
    while store.saves < 2:  # the one with the result
        await asyncio.sleep(0.001)
    subscription.dispose()
    assert not is_free(agent)
    seen = len(order)
    while not is_free(agent):
        await asyncio.sleep(0.001)

    assert order[seen:] == []
    assert "ToolResultEndEvent" not in order
    assert [*results(store.newest).values()] == ["success"]  # it has run, and does not run again
    assert store.saving == 0
    await bring(agent)
    again = await check(agent)
    assert "ToolResultEnd" not in again.names


async def test_a_call_that_is_disposed_while_its_end_is_stored_has_not_ended() -> None:
    store = Watched()
    agent = friend("Hello", state_store=store)
    store.delay = 0.01
    seen: list[ev.AgentEvent] = []
    subscription = agent.call("hi").subscribe(seen.append)
    while not store.saving:
        await asyncio.sleep(0.001)
    subscription.dispose()
    while not is_free(agent):
        await asyncio.sleep(0.001)

    assert not any(isinstance(event, ev.AgentResultEvent | ev.AgentEndEvent) for event in seen)
    assert await stored(agent) == agent.get_agent_state()
    assert store.newest.checkpoint is not None
    again = await check(agent)
    assert again.events[0].reply_id == seen[0].reply_id  # type: ignore[attr-defined]


# A store that fails.


async def failing(
    make: Callable[[Watched], ReActAgent], error: Callable[[int], BaseException | None]
) -> tuple[ReActAgent, Watched, CallRecord]:
    store = Watched()
    store.fail_save = error
    agent = make(store)
    record = await acheck_call(agent, "go")
    assert is_free(agent)
    return agent, store, record


@tool
async def request(out: ToolEmitter) -> str:
    """Stop the call."""
    out.request_stop("enough")
    return "stopped"


AGENTS: Final[dict[str, Callable[[Watched], ReActAgent]]] = {
    "tools side by side": lambda store: friend(state_store=store),
    "one tool at a time": lambda store: friend(state_store=store, max_concurrent_tools=1),
    "a question": lambda store: friend(
        [tool_call("add", a=1, b=2), tool_call("count", to=2)], permission="default", state_store=store
    ),
    "an external call": lambda store: friend(
        [tool_call("add", a=1, b=2), tool_call("lookup", what="x")], state_store=store
    ),
    "a model that fails": lambda store: friend(
        [tool_call("add", a=1, b=2), tool_call("fail")],
        ["more ", tool_call("add", a=1, b=2), ModelConnectionError("no")],
        state_store=store,
    ),
    "a stop": lambda store: friend(
        [tool_call("request"), tool_call("wait", seconds=0.002)], toolkit=[*TOOLS, request], state_store=store
    ),
    "the limit of rounds": lambda store: friend(state_store=store, max_iters=1),
    "hooks": lambda store: friend(
        state_store=store,
        middlewares=[
            hook(ops.map(lambda e: e)) for hook in (on_agent, on_acting, on_reasoning, on_model_call)
        ],
    ),
    "a late hook": lambda store: friend(state_store=store, middlewares=[on_acting(ops.delay(0.001))]),
}


@pytest.mark.parametrize("delay", [None, 0.002])
@pytest.mark.parametrize("name", AGENTS)
async def test_whichever_save_fails_the_call_ends_well_with_that_error_and_can_be_gone_on_with(
    name: str, delay: float | None
) -> None:
    make = AGENTS[name]

    def slow(store: Watched) -> ReActAgent:
        store.delay = delay
        return make(store)

    _, whole, plain = await failing(slow, lambda _: None)
    for number in range(1, whole.saves + 1):
        full = StateSaveError("the disk is full")
        agent, store, record = await failing(slow, lambda n, at=number, full=full: full if n == at else None)
        if store.saves < number:  # results that end at the same time may be stored together
            continue
        assert (record.error is full) or plain.error is not None
        assert isinstance(record.error, StateSaveError | ModelConnectionError)
        assert isinstance(record.events[-1], ev.AgentEndEvent)
        assert await stored(agent) == agent.get_agent_state()
        assert (await check(agent)).error is None or plain.error is not None


@pytest.mark.parametrize("name", AGENTS)
async def test_a_store_that_fails_for_good_ends_the_call_and_says_so_once(name: str) -> None:
    make = AGENTS[name]
    _, whole, _ = await failing(make, lambda _: None)
    for number in range(1, whole.saves + 1):
        agent, store, record = await failing(
            make, lambda n, at=number: OSError("the disk is full") if n >= at else None
        )
        if store.saves < number:
            continue
        assert isinstance(record.error, OSError | ModelConnectionError)
        assert len(getattr(record.error, "__notes__", [])) <= 2
        assert await stored(agent) == (store.newest if store.saved else None)

        store.fail_save = lambda _: None
        again = await check(agent)
        assert again.error is None or isinstance(again.error, ModelConnectionError)


async def test_a_tool_whose_result_could_not_be_stored_at_first_does_not_run_again() -> None:
    runs: list[str] = []

    @tool
    def once(name: str) -> str:
        """Note the run."""
        runs.append(name)
        return name

    def make(store: Watched) -> ReActAgent:
        calls = [tool_call("once", name="a"), tool_call("once", name="b")]
        return friend(calls, "done", toolkit=[once], state_store=store)

    agent, store, record = await failing(make, lambda n: StateSaveError("full") if n == 2 else None)
    assert isinstance(record.error, StateSaveError)
    assert record.error.partial == record.message or record.error.partial is not None
    before = list(runs)
    again = await check(agent)
    assert again.error is None
    assert runs == before
    assert results(store.newest).keys() == {call.id for call in calls_of(store.newest)}


def calls_of(state: AgentState) -> list[ToolUseBlock]:
    return state.context[-1].get_content_blocks(ToolUseBlock)


async def test_a_model_failure_behind_a_save_that_fails_is_noted() -> None:
    """The save is under way when the model fails, and its failure comes first in the order of the stream."""
    calls = [tool_call("add", a=1, b=2), tool_call("wait", seconds=1)]

    def make(store: Watched) -> ReActAgent:
        store.delay = 0.15
        broken = on_acting(lambda events: events.pipe(ops.timeout(0.1)))
        return friend(calls, state_store=store, middlewares=[broken])

    _, _, record = await failing(make, lambda n: StateSaveError("full") if n == 2 else None)
    assert isinstance(record.error, StateSaveError)
    assert any("Timeout" in note for note in record.error.__notes__)


async def test_a_session_that_cannot_be_stored_is_noted_on_the_error_of_its_call() -> None:
    def make(store: Watched) -> ReActAgent:
        return friend(["hm ", ModelConnectionError("no")], state_store=store)

    _, _, record = await failing(make, lambda _: StateSaveError("full"))
    assert isinstance(record.error, ModelConnectionError)
    assert record.error.__notes__ == ["and the session could not be saved: StateSaveError('full')"]


async def test_a_session_that_cannot_be_stored_behind_a_dispose_is_reported() -> None:
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
    store, full = Watched(), StateSaveError("full")
    store.fail_save = lambda _: full
    agent = friend([pause(10), "x"], state_store=store)
    begun = asyncio.Event()
    subscription = agent.call("go").subscribe(lambda _: begun.set())
    await begun.wait()
    subscription.dispose()
    async with asyncio.timeout(5):
        while not (reported and is_free(agent)):
            await asyncio.sleep(0.001)

    assert reported == [full]


@pytest.mark.parametrize("error", [asyncio.CancelledError(), MemoryError("x"), ValueError("x")])
@pytest.mark.parametrize("number", [1, 2, 3])
async def test_whatever_a_store_raises_ends_the_call(number: int, error: BaseException) -> None:
    def make(store: Watched) -> ReActAgent:
        return friend([tool_call("add", a=1, b=2)], "done", state_store=store)

    agent, store, record = await failing(make, lambda n: error if n == number else None)
    assert record.error is error or isinstance(record.error, StateSaveError)

    store.fail_load = error
    record = await acheck_call(agent, "again")
    assert record.events == ()
    assert record.error is error or isinstance(record.error, AgentScopeError)
    store.fail_load = None
    assert (await check(agent)).error is None


async def test_a_conflict_is_told_once_however_often_it_comes() -> None:
    store = Watched()
    agent = friend(state_store=store)
    other = friend(state_store=store)

    def meddle(_: Any) -> Any:
        async def main() -> AgentState:
            return await other.update_state(lambda state: evolve(state, summary="theirs"))

        return rx.from_future(asyncio.ensure_future(main())).pipe(ops.ignore_elements())

    agent = evolve_middlewares(agent, on_reasoning(lambda events: events.pipe(ops.concat(rx.defer(meddle)))))
    record = await acheck_call(agent, "go")

    assert isinstance(record.error, StateConflictError)
    assert not hasattr(record.error, "__notes__")
    assert store.newest.summary == "theirs"
    assert [*results(record.message).values()] == ["error"] * 4
    assert all(call.state is ToolCallState.FINISHED for call in calls_of(agent.get_agent_state()))


def evolve_middlewares(agent: ReActAgent, *middlewares: Any) -> ReActAgent:
    return friend(state_store=agent.state_store, middlewares=middlewares)


async def test_update_state_that_fails_changes_nothing_and_frees_the_session() -> None:
    store = Watched()
    agent = friend("one", state_store=store)
    await check(agent, "hi")
    before = await stored(agent)

    with pytest.raises(ZeroDivisionError):
        await agent.update_state(lambda _: 1 / 0)  # type: ignore[arg-type, return-value]
    store.fail_save = lambda _: StateSaveError("full")
    with pytest.raises(StateSaveError):
        await agent.update_state(lambda state: evolve(state, summary="x"))
    store.fail_save = lambda _: None

    assert await stored(agent) == before
    assert is_free(agent)
    assert (await agent.update_state(lambda state: state)) == before
    assert isinstance(StateSaveError("x"), StateError)


@pytest.mark.filterwarnings("ignore::agentscope_rx.errors.MiddlewareProtocolWarning")
@pytest.mark.parametrize("delay", [None, 0.0])
async def test_what_an_outer_hook_lets_escape_at_any_event_ends_the_call(delay: float | None) -> None:
    boom = ValueError("mine")
    length = len((await acheck_call(friend(), "go")).events)
    for at in range(1, length + 1):
        store = Watched()
        store.delay = delay
        agent = friend(state_store=store, middlewares=[on_agent(letting_escape_at(at, boom))])
        record = await acheck_call(agent, "go", outer=True)

        assert record.error is boom
        assert is_free(agent)


@pytest.mark.filterwarnings("ignore::agentscope_rx.errors.MiddlewareProtocolWarning")
async def test_what_an_outer_hook_lets_escape_at_a_stop_from_outside_ends_the_call() -> None:
    boom = ValueError("mine")

    def operator(source: rx.Observable[ev.AgentEvent]) -> rx.Observable[ev.AgentEvent]:
        def subscribe(observer: Any, scheduler: Any = None) -> Any:
            def on_next(event: ev.AgentEvent) -> None:
                if isinstance(event, ev.RequestStopEvent):
                    raise boom
                observer.on_next(event)

            return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

        return rx.Observable(subscribe)

    agent = friend([pause(1), "late"], middlewares=[on_agent(operator)])
    asyncio.get_running_loop().call_later(0.005, agent.request_stop)
    record = await acheck_call(agent, "go", outer=True)

    assert record.error is boom


@pytest.mark.parametrize("see", [lambda _: None, None], ids=["with an outer hook", "without"])
async def test_an_interrupt_while_a_failed_call_is_stored_comes_too_late_for_its_end(see: Any) -> None:
    store = Watched()
    store.delay = 0.02
    hooks = [] if see is None else [on_agent(ops.do_action(see))]
    agent = friend([ModelConnectionError("down")], state_store=store, max_retries=0, middlewares=hooks)
    events: list[ev.AgentEvent] = []
    errors: list[Exception] = []
    agent.call("go").subscribe(events.append, errors.append)
    while not store.saving:
        await asyncio.sleep(0.001)
    await agent.interrupt(None, "stop")

    assert isinstance(errors[0], ModelConnectionError)
    message = await rx.from_iterable(events).pipe(agent_ops.to_msg())
    assert agent.get_agent_state().context[-2] == message
    assert agent.get_agent_state().context[-1].text_content == "stop"


# What comes behind the end.


async def test_an_interrupt_that_comes_too_late_to_be_stored_fails_and_not_the_call() -> None:
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
    store, full = Watched(), StateSaveError("full")
    agent = friend("Hello", state_store=store)
    told: list[Any] = []

    def see(event: ev.AgentEvent) -> None:
        if isinstance(event, ev.AgentResultEvent):
            store.fail_save = lambda _: full
            told.append(agent.interrupt(None, "too late"))

    end = await agent.call("hi").pipe(ops.do_action(see))
    assert end.generate_reason is GenerateReason.MODEL_STOP
    with pytest.raises(StateSaveError):
        await told[0]
    assert {*reported} == {full}
    assert [msg.text_content for msg in store.newest.context] == ["hi", "Hello"]


@pytest.mark.filterwarnings("ignore::agentscope_rx.errors.MiddlewareProtocolWarning")
async def test_what_an_outer_hook_cuts_off_is_stored_before_its_end_goes_out() -> None:
    for error in (None, StateSaveError("full")):
        store = Watched()
        store.fail_save = lambda _, error=error: error
        agent = friend("some words", state_store=store, middlewares=[on_agent(ops.take(4))])
        record = await acheck_call(agent, "hi", outer=True)
        assert record.error is error
        assert [len(state.context) for state in store.saved] == ([2] if error is None else [])


async def test_an_interrupt_of_a_call_that_is_failing_leaves_it_to_fail() -> None:
    store = Watched()
    store.delay = 0.004
    store.fail_save = lambda n: StateSaveError("full") if n > 1 else None
    calls = [tool_call("add", a=1, b=2), tool_call("wait", seconds=0.02)]
    agent = friend(calls, state_store=store, middlewares=[on_agent(ops.map(lambda event: event))])
    told: list[Any] = []

    def see(event: ev.AgentEvent) -> None:
        if isinstance(event, ev.ToolResultEndEvent):
            told.append(agent.interrupt(None, "stop"))

    seen: list[ev.AgentEvent] = []
    with pytest.raises(StateSaveError):
        await agent.call("go").pipe(ops.do_action(see), ops.do_action(seen.append))
    assert isinstance(seen[-1], ev.AgentEndEvent)
    assert seen[-1].error is not None
    with pytest.raises(StateSaveError):
        await told[0]
    assert is_free(agent)
