"""An agent over each store: loaded at each call, gone on with by another agent, undisturbed by others."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import evolve
from reactivex import operators as ops

from agentscope_rx import event as ev
from agentscope_rx.agent import ConfirmResults, ExternalResults, ReActAgent, RuntimeContext
from agentscope_rx.errors import OpenCallsError, StateConflictError, StateLoadError, StateSaveError
from agentscope_rx.event import ConfirmResult
from agentscope_rx.interop import from_coroutine, to_async_iterable
from agentscope_rx.message import ToolResultBlock
from agentscope_rx.middleware import on_acting, on_reasoning
from agentscope_rx.store import RedisAgentStateStore
from agentscope_rx.testing import acheck_call, acheck_disposal, pause, tool_call
from agentscope_rx.tool import tool
from tests.agent.friend import ANN, friend, is_free, lookup
from tests.agent.stores import bring, check, key_of, stored
from tests.redis_server import RedisServer, server_command
from tests.store.backends import KINDS, LASTING, Backend, make
from tests.store.test_store_contract import DAMAGE, ODD_NAMES

ROOT: Final = Path(__file__).parents[2]


@pytest.fixture(params=KINDS)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    yield from make(request.param, request)


@pytest.fixture(params=LASTING)
def lasting(request: pytest.FixtureRequest) -> Iterator[Backend]:
    yield from make(request.param, request)


def over(backend: Backend, *script: Any, **options: Any) -> ReActAgent:
    return friend(*script, state_store=backend.open(), **options)


@pytest.mark.asyncio
async def test_a_conversation_goes_on_with_an_agent_made_anew(backend: Backend) -> None:
    first = over(backend)
    record = await check(first, "go", ANN)
    assert record.error is None

    again = over(backend, "You said go.")
    await check(again, "What did I say?", ANN)

    context = again.get_agent_state(ANN).context
    assert context[:2] == first.get_agent_state(ANN).context
    assert context[1] == record.message
    assert [msg.text_content for msg in context[2:]] == ["What did I say?", "You said go."]


@pytest.mark.asyncio
async def test_questions_are_answered_through_agents_made_anew(backend: Backend) -> None:
    runs: list[str] = []

    @tool
    def send(to: str) -> str:
        """Send a letter."""
        runs.append(to)
        return "sent"

    def made(*script: Any) -> ReActAgent:
        return over(backend, *script, toolkit=[send, lookup], permission="default")

    first = await check(made([tool_call("send", to="bob"), tool_call("lookup", what="x")]), "go", ANN)
    asked = next(event for event in first.events if isinstance(event, ev.RequireUserConfirmEvent))
    assert runs == []

    answers = ConfirmResults([ConfirmResult(True, call) for call in asked.tool_calls])
    second = await check(made("-"), answers, ANN)
    wanted = next(e for e in second.events if isinstance(e, ev.RequireExternalExecutionEvent))
    assert runs == ["bob"]

    outcomes = ExternalResults([ToolResultBlock(call.id, call.name, "found") for call in wanted.tool_calls])
    third = await check(made("Done."), outcomes, ANN)
    assert first.message is not None
    assert third.message is not None
    assert third.message.id == first.message.id
    assert third.message.text_content == "Done."
    assert runs == ["bob"]


@pytest.mark.asyncio
async def test_each_call_loads_what_others_have_stored_meanwhile(backend: Backend) -> None:
    mine, other = over(backend, "one", "three"), over(backend, "two", "four")
    for number, agent in enumerate([mine, other, mine, other]):
        await check(agent, str(number), ANN)

    texts = [msg.text_content for msg in other.get_agent_state(ANN).context]
    assert texts == ["0", "one", "1", "two", "2", "three", "3", "four"]


@pytest.mark.asyncio
@pytest.mark.parametrize("damage", ["nothing", "half", "another session"])
async def test_a_load_that_fails_fails_the_call_and_is_never_an_empty_session(
    lasting: Backend, damage: str
) -> None:
    await check(over(lasting, "one"), "hello", ANN)
    key = key_of(over(lasting), ANN)
    document = lasting.read(key)
    damaged = DAMAGE[damage](document)
    assert damaged != document
    lasting.write(key, damaged)

    agent = over(lasting)
    for input in ("hi", None, ConfirmResults([])):
        record = await acheck_call(agent, input, ANN)
        assert isinstance(record.error, StateLoadError)
        assert record.events == ()
    with pytest.raises(StateLoadError):
        await agent.update_state(lambda state: evolve(state, summary="x"), ANN)
    with pytest.raises(StateLoadError):
        await agent.interrupt(ANN, "stop")
    assert agent.get_agent_state(ANN).context == ()
    assert is_free(agent, ANN)
    assert lasting.read(key) == damaged

    lasting.write(key, document)
    assert (await check(agent, "go", ANN)).error is None
    assert agent.get_agent_state(ANN).context[0].text_content == "hello"


@pytest.mark.asyncio
async def test_a_call_may_be_disposed_at_any_event_and_gone_on_with_by_another_agent(
    backend: Backend,
) -> None:
    runs: list[str] = []

    @tool
    async def once(name: str) -> str:
        """Note that it has ended."""
        await asyncio.sleep(0.001)
        runs.append(name)
        return name

    script = (["Let me ", tool_call("once", name="a"), tool_call("once", name="b")], "done")
    whole = await check(over(backend, *script, toolkit=[once]), "go", ANN)
    for number in range(1, len(whole.events), 1 if backend.kind == "memory" else 3):
        runs.clear()
        ctx = RuntimeContext(f"session {number}", "ann")
        agent = over(backend, *script, toolkit=[once])
        seen = await acheck_disposal(agent, "go", ctx, after=number)
        assert await stored(agent, ctx) == agent.get_agent_state(ctx)
        ended = sum(isinstance(event, ev.ToolResultEndEvent) for event in seen.events)
        finished = set(runs[:ended])

        has_called = any(isinstance(event, ev.ModelCallEndEvent) for event in seen.events)
        record = await check(over(backend, *script[has_called:], toolkit=[once]), None, ctx)
        assert record.error is None
        assert record.message is not None
        assert seen.message is not None
        assert record.message.id == seen.message.id
        assert all(runs.count(name) == 1 for name in finished)


@pytest.mark.asyncio
async def test_sessions_of_any_names_are_stored_apart(backend: Backend) -> None:
    agent = over(backend, lambda asked: f"you said {asked.text}")
    names = [name for name in ODD_NAMES if name][:: 1 if backend.kind == "memory" else 4]
    contexts = [RuntimeContext(name, name) for name in names]
    await asyncio.gather(*(awaited(agent.reply(str(n), ctx)) for n, ctx in enumerate(contexts)))

    again = over(backend)
    for number, ctx in enumerate(contexts):
        await bring(again, ctx)
        texts = [msg.text_content for msg in again.get_agent_state(ctx).context]
        assert texts == [str(number), f"you said {number}"]


async def awaited(stream: Any) -> Any:
    return await stream


@pytest.mark.asyncio
async def test_what_update_state_changes_is_stored(backend: Backend) -> None:
    agent = over(backend, lambda asked: str(len(asked.messages)))
    await check(agent, "hello", ANN)

    state = await agent.update_state(lambda state: evolve(state, context=(), summary="a greeting"), ANN)
    assert state == await stored(agent, ANN)
    assert state.summary == "a greeting"

    await check(agent, "again", ANN)
    assert [msg.text_content for msg in agent.get_agent_state(ANN).context] == ["again", "1"]


# Somebody else, who stores the same session while a call runs.


def meddling(backend: Backend, agent: list[ReActAgent]) -> Any:
    """What stores the session over, the first time, as another process would."""

    async def meddle() -> None:
        if agent:
            other = agent.pop()
            await other.update_state(lambda state: evolve(state, summary="theirs"), ANN)

    return meddle


def behind(hook: Any, meddle: Any) -> Any:
    return hook(lambda events: events.pipe(ops.concat(from_coroutine(meddle).pipe(ops.ignore_elements()))))


@pytest.mark.asyncio
@pytest.mark.parametrize("policy", ["fail", "overwrite"])
@pytest.mark.parametrize("when", ["before the tools", "in a tool", "after the tools", "at the end"])
async def test_a_conflict_ends_the_call_well_or_is_overwritten_and_runs_nothing_twice(
    backend: Backend, when: str, policy: str
) -> None:
    runs: list[str] = []
    meddle = meddling(backend, [over(backend)])

    @tool(concurrency_safe=False)
    async def once(name: str) -> str:
        """Note that it has run."""
        runs.append(name)
        if when == "in a tool" and name == "b":
            await meddle()
        return name

    middlewares = {
        "before the tools": [behind(on_reasoning, meddle)],
        "after the tools": [behind(on_acting, meddle)],
    }.get(when, [])
    calls = [tool_call("once", name=name) for name in "abc"]
    agent = over(
        backend,
        ["Let me ", *calls],
        ["and ", tool_call("once", name="d")],
        "done",
        toolkit=[once],
        middlewares=middlewares,
        on_conflict=policy,
    )
    if when == "at the end":
        agent = over(backend, "done", middlewares=[behind(on_reasoning, meddle)], on_conflict=policy)
    record = await acheck_call(agent, "go", ANN)
    found = await stored(agent, ANN)

    assert len(runs) == len(set(runs))
    assert is_free(agent, ANN)
    assert found is not None
    if policy == "overwrite":
        assert record.error is None
        assert found == agent.get_agent_state(ANN)
        assert runs == ([] if when == "at the end" else [*"abcd"])
        return
    assert isinstance(record.error, StateConflictError)
    assert isinstance(record.events[-1], ev.AgentEndEvent)
    assert record.events[-1].error is not None
    assert (found.summary, found.context) == ("theirs", ()) or when in ("in a tool", "after the tools")
    assert found.summary == "theirs"
    assert runs == {"in a tool": [*"ab"], "after the tools": [*"abc"]}.get(when, [])

    again = await check(agent, "again", ANN)  # it goes on from what the other has stored
    assert again.error is None or isinstance(again.error, OpenCallsError)


# The end of a program.


def left_at_the_end(agent: ReActAgent, how: str) -> None:
    """Run a program that ends in the middle of a call, when some words have come."""

    async def main() -> None:
        spoken = asyncio.Event()

        def see(event: ev.AgentEvent) -> None:
            if isinstance(event, ev.TextBlockDeltaEvent):
                spoken.set()

        call = agent.call("go", ANN).pipe(ops.do_action(see))
        match how:
            case "it fails":
                call.subscribe()
                await spoken.wait()
                raise KeyError("mine")
            case "it breaks out of the loop":
                async for event in to_async_iterable(call):
                    if isinstance(event, ev.TextBlockDeltaEvent):
                        return
            case "it is cancelled":
                waiting = asyncio.ensure_future(awaited(call))
                await spoken.wait()
                waiting.cancel()
            case "it disposes":
                subscription = call.subscribe()
                await spoken.wait()
                subscription.dispose()
            case _:
                call.subscribe()
                await spoken.wait()

    with suppress(KeyError):
        asyncio.run(main())


@pytest.mark.parametrize(
    "how",
    ["it ends", "it fails", "it breaks out of the loop", "it is cancelled", "it disposes"],
)
def test_a_program_that_ends_in_a_call_leaves_it_stored(backend: Backend, how: str) -> None:
    agent = over(backend, ["some words ", pause(30), "never"])
    left_at_the_end(agent, how)
    found = asyncio.run(stored(agent, ANN))

    assert found is not None
    assert [msg.text_content.split(" ")[0] for msg in found.context] == ["go", "some"]
    assert found == agent.get_agent_state(ANN)
    assert is_free(agent, ANN)


SCRIPT: Final = """
import sys, threading, time
from agentscope_rx.event import TextBlockDeltaEvent
from agentscope_rx.testing import pause
from tests.agent.friend import ANN, friend
from tests.store.backends import open_store

kind, place, end = sys.argv[1:]
spoken = threading.Event()
agent = friend(["some words ", pause(30), "never"], state_store=open_store(kind, place))
if end == "it ends":
    agent.call("go", ANN).subscribe(lambda event: isinstance(event, TextBlockDeltaEvent) and spoken.set())
    spoken.wait()
else:
    def ctrl_c():
        import os, signal
        spoken.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=ctrl_c).start()
    from reactivex import operators as ops
    seen = ops.do_action(lambda event: isinstance(event, TextBlockDeltaEvent) and spoken.set())
    agent.call("go", ANN).pipe(seen).run()
"""


def test_a_plain_script_that_ends_in_a_call_leaves_it_stored(lasting: Backend) -> None:
    end = "Ctrl-C" if lasting.kind == "sqlite" else "it ends"
    command = [sys.executable, "-c", SCRIPT, lasting.kind, lasting.place, end]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ("KeyboardInterrupt" in done.stderr) == (end == "Ctrl-C")
    found = asyncio.run(stored(over(lasting), ANN))

    assert found is not None
    assert [msg.text_content.split(" ")[0] for msg in found.context] == ["go", "some"]


@pytest.mark.asyncio
async def test_a_call_whose_redis_server_dies_ends_with_that_error_and_goes_on_when_it_is_back(
    tmp_path: Path,
) -> None:
    server_command()
    server = RedisServer(tmp_path)
    runs: list[str] = []

    @tool(concurrency_safe=False)
    async def once(name: str) -> str:
        """Note the run; the server dies in the second one."""
        runs.append(name)
        if name == "b" and runs.count("b") == 1:
            server.kill()
        return name

    try:
        calls = [tool_call("once", name="a"), tool_call("once", name="b")]
        store = RedisAgentStateStore(server.url)
        agent = friend(["Let me ", *calls], "done", toolkit=[once], state_store=store)
        record = await acheck_call(agent, "go", ANN)
        assert isinstance(record.error, StateSaveError)
        assert isinstance((await acheck_call(agent, None, ANN)).error, StateLoadError)

        server.start()
        again = friend("done", toolkit=[once], state_store=RedisAgentStateStore(server.url))
        record = await check(again, None, ANN)
        assert record.error is None
        assert record.message is not None
        assert record.message.text_content.endswith("done")
        assert runs == ["a", "b", "b"]  # of the second one nobody knew that it had ended
        await store.close()
        assert again.state_store is not None
        await again.state_store.close()
    finally:
        server.kill()
