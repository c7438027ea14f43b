"""Faults that agents of others have had, each in the set-up in which it was found."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx import event as ev, operators as agent_ops
from agentscope_rx.agent import ReActAgent, RuntimeContext
from agentscope_rx.errors import MiddlewareProtocolWarning, OpenCallsError
from agentscope_rx.interop import from_async_iterable, shield, to_async_iterable
from agentscope_rx.message import (
    ChatUsage,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.middleware import MiddlewareBase, on_agent
from agentscope_rx.model import ChatResponse, ToolCallChunk
from agentscope_rx.store import SQLiteAgentStateStore
from agentscope_rx.testing import ScriptedModel, acheck_call, check_call, pause, tool_call
from agentscope_rx.tool import ToolEmitter, tool
from tests.agent.friend import friend, is_free
from tests.agent.stores import bring

Responses = Observable[ChatResponse]


class Model:
    """A model that is an async generator."""

    model_name = "model"

    def __init__(self, words: Any) -> None:
        self.words = words

    def stream(self, messages: Any, tools: Any, options: Any) -> Responses:
        return from_async_iterable(lambda: self.words(messages))


@pytest.mark.asyncio
@pytest.mark.parametrize("how", ["on the first event", "at once"])
async def test_a_middleware_that_raises_on_the_first_event_does_not_lock_its_session(how: str) -> None:
    class Raising(MiddlewareBase):
        armed = True

        def on_agent(self, agent: Any, ctx: Any, input: Any, next: Any) -> Observable[ev.AgentEvent]:
            if not self.armed:
                return next(input)
            self.armed = False
            if how == "at once":
                raise ValueError("mine")

            def raising(_: ev.AgentEvent) -> ev.AgentEvent:
                raise ValueError("mine")

            return next(input).pipe(ops.map(raising))

    agent = friend([pause(0.01), "one"], "two", middlewares=[Raising()])
    tasks = asyncio.all_tasks()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MiddlewareProtocolWarning)
        with pytest.raises(ValueError, match="mine"):
            await agent.call("go")
    message = await agent.reply("again")

    assert message.text_content in ("one", "two")
    assert asyncio.all_tasks() == tasks


@pytest.mark.asyncio
async def test_a_call_left_while_a_tool_runs_is_stored_and_closed_before_a_model_sees_it(
    tmp_path: Path,
) -> None:
    def made() -> ReActAgent:
        script = [lambda asked: "done" if len(asked.messages) > 1 else tool_call("wait", seconds=30)]
        return friend(*script, state_store=SQLiteAgentStateStore(tmp_path / "state.db"))

    async with to_async_iterable(made().call("go")) as events:
        async for event in events:
            if isinstance(event, ev.ToolResultStartEvent):
                break

    agent = made()
    await bring(agent)
    [asked, reply] = agent.get_agent_state().context
    assert asked.text_content == "go"
    assert [call.state for call in reply.get_content_blocks(ToolUseBlock)] == [ToolCallState.PENDING]
    with pytest.raises(OpenCallsError):
        await agent.call("something else")

    await agent.interrupt()
    [result] = agent.get_agent_state().context[-1].get_content_blocks(ToolResultBlock)
    assert result.state is ToolResultState.INTERRUPTED
    assert (await agent.reply("something else")).text_content == "done"
    model: Any = agent.model
    calls = [block for msg in model.calls[-1].messages for block in msg.get_content_blocks(ToolUseBlock)]
    results = [b for msg in model.calls[-1].messages for b in msg.get_content_blocks(ToolResultBlock)]
    assert [block.id for block in results] == [block.id for block in calls] == [result.id]
    assert agent.state_store is not None
    await agent.state_store.close()


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", ["async", "in a thread"])
async def test_leaving_the_stream_stops_the_agent_and_not_only_the_reading(kind: str) -> None:
    heard: list[str] = []
    go_on, ended = threading.Event(), threading.Event()

    @tool
    async def on_loop() -> str:
        """Wait."""
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise
        return "never"

    @tool
    def in_thread() -> str:
        """Wait in a thread."""
        go_on.wait(5)
        ended.set()
        return "too late"

    name = "on_loop" if kind == "async" else "in_thread"
    agent = friend(tool_call(name), "never asked", toolkit=[on_loop, in_thread])
    async with to_async_iterable(agent.call("go")) as events:
        async for event in events:
            if isinstance(event, ev.ToolResultStartEvent):
                break
    go_on.set()
    assert kind == "async" or await asyncio.to_thread(ended.wait, 5)
    await asyncio.sleep(0.01)

    model: Any = agent.model
    assert len(model.calls) == 1
    assert heard == (["cancelled"] if kind == "async" else [])
    [_, reply] = agent.get_agent_state().context
    assert "too late" not in [block.text_content for block in reply.get_content_blocks(ToolResultBlock)]
    assert is_free(agent)


@pytest.mark.asyncio
async def test_a_provider_that_interleaves_the_calls_of_a_hundred_sessions_mixes_none() -> None:
    random = Random(7)

    @tool
    async def say(word: str, ctx: RuntimeContext) -> str:
        """Say a word."""
        await asyncio.sleep(random.random() * 0.003)
        return f"{word} in {ctx.session_id}"

    async def words(messages: Any) -> AsyncIterator[ChatResponse]:
        asked = next(msg.text_content for msg in reversed(messages) if msg.role == "USER")
        if messages[-1].role != "USER":
            yield ChatResponse((TextBlock(f"{asked} is done"),))
            return
        number = int(asked[1:])
        pieces: list[Any] = [ThinkingBlock(asked)]
        pieces += [ToolCallChunk("", f"{asked}-{index}", "say", index) for index in range(3)]
        pieces += [ToolCallChunk('{"word":', index=index) for index in range(3)]
        pieces += [ToolCallChunk(f'"{asked}-{index}"}}', index=index) for index in range(3)]
        for piece in pieces:
            yield ChatResponse((piece,))
            await asyncio.sleep(random.random() * 0.003)
        yield ChatResponse(usage=ChatUsage(number, 1))

    agent = ReActAgent("friend", model=Model(words), toolkit=[say])
    contexts = [RuntimeContext(f"s{number}") for number in range(100)]

    async def one(ctx: RuntimeContext) -> Any:
        return await agent.reply(ctx.session_id, ctx)

    messages = await asyncio.gather(*map(one, contexts))
    for number, message in enumerate(messages):
        session = f"s{number}"
        assert message.text_content == f"{session} is done"
        assert [block.thinking for block in message.get_content_blocks(ThinkingBlock)] == [session]
        assert [call.id for call in message.get_content_blocks(ToolUseBlock)] == [
            f"{session}-{index}" for index in range(3)
        ]
        assert {r.text_content for r in message.get_content_blocks(ToolResultBlock)} == {
            f"{session}-{index} in {session}" for index in range(3)
        }
        assert message.usage == ChatUsage(number, 1)
    assert len({message.id for message in messages}) == 100


@pytest.mark.asyncio
async def test_a_thousand_deltas_of_a_thread_reach_a_reply_that_is_awaited_in_order_and_in_time() -> None:
    sent: list[float] = []
    delays: list[float] = []

    @tool
    def count(out: ToolEmitter) -> None:
        """Count in a thread."""
        for number in range(1000):
            sent.append(time.monotonic())
            out.emit(f"{number} ")
            if number % 50 == 0:
                time.sleep(0.002)

    def see(event: ev.AgentEvent) -> None:
        if isinstance(event, ev.ToolResultTextDeltaEvent):
            delays.append(time.monotonic() - sent[len(delays)])

    agent = friend(tool_call("count"), "done", toolkit=[count])
    message = await agent.call("go").pipe(ops.do_action(see), agent_ops.to_msg())
    [result] = message.get_content_blocks(ToolResultBlock)

    assert result.text_content == "".join(f"{number} " for number in range(1000))
    assert median(delays) < 0.05
    assert max(delays) < 1.0, "the loop was not woken up"


@pytest.mark.asyncio
async def test_of_two_subscribers_one_that_raises_takes_nothing_from_the_other() -> None:
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
    agent = friend()
    shared = agent.call("go").pipe(ops.share())
    first: list[ev.AgentEvent] = []
    second: list[ev.AgentEvent] = []
    done = asyncio.Event()
    boom = ValueError("mine")

    def raises_on_the_third(event: ev.AgentEvent) -> None:
        first.append(event)
        if len(first) == 3:
            raise boom

    shared.pipe(shield).subscribe(raises_on_the_third)
    shared.pipe(shield).subscribe(second.append, on_completed=done.set)
    await asyncio.wait_for(done.wait(), 10)

    assert len(first) == 3
    assert [type(second[0]), type(second[-1])] == [ev.AgentStartEvent, ev.AgentEndEvent]
    assert len(second) > 30
    assert reported == [boom]
    assert agent.get_agent_state().context[-1].text_content.endswith("It is seven.")


@pytest.mark.parametrize(("deltas", "blocks"), [(50_000, 1), (2, 2_000)])
def test_a_long_answer_takes_linear_time_and_no_recursion(deltas: int, blocks: int) -> None:
    def seconds(deltas: int, blocks: int) -> float:
        kinds = (TextBlock, ThinkingBlock)
        answer = [kinds[number % 2]("word " * deltas) for number in range(blocks)]
        agent = ReActAgent("friend", model=ScriptedModel(answer))
        begun = time.process_time()
        message = agent.reply("go").run()
        assert [type(block) for block in message.content] == [type(block) for block in answer]
        assert message.content[0] == answer[0]
        return (time.process_time() - begun) / (deltas * blocks)

    few = min(seconds(max(2, deltas // 10), max(1, blocks // 10)) for _ in range(2))
    assert seconds(deltas, blocks) < 5 * few


@pytest.mark.parametrize("empty", ["the model", "a hook"])
def test_of_an_agent_that_says_nothing_there_is_a_message(empty: str) -> None:
    if empty == "the model":
        agent = friend([], [])
        record = check_call(agent, "go")
        assert record.error is None
        message = friend([], []).reply("go").run()
    else:
        agent = friend("x", middlewares=[on_agent(lambda _: rx.empty())])
        with pytest.warns(MiddlewareProtocolWarning, match="AgentStartEvent was missing"):
            message = agent.reply("go").run()

    assert message.text_content == ""
    assert is_free(agent)


@pytest.mark.asyncio
async def test_a_model_that_is_an_async_generator_is_closed_when_the_call_is_left() -> None:
    heard: list[str] = []
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    async def words(_: Any) -> AsyncIterator[ChatResponse]:
        try:
            for number in range(1000):
                yield ChatResponse((TextBlock(f"{number} "),))
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0.001)
            heard.append("closed")

    agent = ReActAgent("friend", model=Model(words))
    tasks = asyncio.all_tasks()
    async with to_async_iterable(agent.call("go").pipe(agent_ops.text())) as texts:
        read = [text async for text in _first(texts, 2)]
    gc.collect()

    assert read == ["0 ", "1 "]
    assert heard == ["closed"]
    assert reported == []
    assert asyncio.all_tasks() == tasks
    assert is_free(agent)
    assert (await acheck_call(friend("x"), "go")).error is None


async def _first(texts: AsyncIterator[str], count: int) -> AsyncIterator[str]:
    async for text in texts:
        yield text
        count -= 1
        if count == 0:
            return
