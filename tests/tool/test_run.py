from __future__ import annotations

import asyncio
import dataclasses
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from functools import wraps
from importlib import import_module
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import AgentScopeError
from agentscope_rx.event import (
    AgentEvent,
    RequestStopEvent,
    TextBlockDeltaEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.interop import on_loop, to_async_iterable
from agentscope_rx.message import (
    DataBlock,
    GenerateReason,
    TextBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
)
from agentscope_rx.tool import Cancelled, ToolEmitter, Toolkit, run_tool, tool


def call(name: str, content: str | None = None, **input: Any) -> ToolUseBlock:
    return ToolUseBlock("call-1", name, input, content)


def run(tool_or_function: Any, block: ToolUseBlock | None = None, **input: Any) -> list[AgentEvent]:
    toolkit = Toolkit(tool_or_function)
    block = block or call(toolkit.names[0], **input)
    return run_tool(block, toolkit, reply_id="r").pipe(ops.to_list()).run()


def text(events: list[AgentEvent]) -> str:
    return "".join(e.delta for e in events if isinstance(e, ToolResultTextDeltaEvent))


def state(events: list[AgentEvent]) -> ToolResultState:
    end = events[-1]
    assert isinstance(end, ToolResultEndEvent)
    return end.state


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def add(a: int, b: int) -> int:
    return a + b


async def add_later(a: int, b: int) -> int:
    await asyncio.sleep(0)
    return a + b


@pytest.mark.parametrize("function", [add, add_later])
def test_a_call_is_a_start_its_output_and_an_end(function: Callable[..., Any]) -> None:
    events = run(function, a=1, b=2)

    assert [type(e) for e in events] == [ToolResultStartEvent, ToolResultTextDeltaEvent, ToolResultEndEvent]
    assert {(e.reply_id, e.tool_call_id, e.tool_call_name) for e in events} == {  # type: ignore[attr-defined]
        ("r", "call-1", function.__name__)
    }
    assert (text(events), state(events)) == ("3", ToolResultState.SUCCESS)


def test_nothing_runs_before_subscribe_and_each_subscription_runs_anew() -> None:
    calls: list[int] = []

    def count() -> int:
        calls.append(1)
        return len(calls)

    stream = run_tool(call("count"), Toolkit(count), reply_id="r").pipe(ops.to_list())

    assert calls == []
    assert (text(stream.run()), text(stream.run())) == ("1", "2")


def test_a_tool_that_returns_nothing_has_no_output() -> None:
    def nothing() -> None: ...

    assert [type(e) for e in run(nothing)] == [ToolResultStartEvent, ToolResultEndEvent]


def test_content_blocks_and_metadata_of_a_result_pass() -> None:
    image = DataBlock(URLSource("http://x/y.png", "image/png"))

    def draw() -> ToolResultBlock:
        return ToolResultBlock("", "", (TextBlock("see"), image), {"cost": 3}, ToolResultState.SUCCESS)

    events = run(draw)

    assert isinstance(events[2], ToolResultDataDeltaEvent)
    assert events[2].url == "http://x/y.png"
    assert (text(events), events[-1].metadata) == ("see", {"cost": 3})


async def numbers(n: int) -> AsyncIterator[int]:
    for i in range(n):
        await asyncio.sleep(0)
        yield i


def numbers_in_thread(n: int) -> Iterator[int]:
    yield from range(n)


@pytest.mark.parametrize("function", [numbers, numbers_in_thread])
def test_each_item_of_a_generator_is_streamed(function: Callable[..., Any]) -> None:
    events = run(function, n=3)

    assert [e.delta for e in events if isinstance(e, ToolResultTextDeltaEvent)] == ["0\n", "1\n", "2\n"]


def test_an_async_function_behind_a_plain_wrapper_is_awaited() -> None:
    @wraps(add_later)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return add_later(*args, **kwargs)

    assert text(run(wrapper, a=1, b=2)) == "3"


def numbers_behind_a_plain_function(n: int) -> AsyncIterator[int]:
    return numbers(n)


def numbers_as_a_stream(n: int) -> Observable[int]:
    return rx.from_iterable(range(n)).pipe(ops.delay(0.001))


async def numbers_as_a_stream_later(n: int) -> Observable[int]:
    return numbers_as_a_stream(n)


@pytest.mark.parametrize(
    "function", [numbers_behind_a_plain_function, numbers_as_a_stream, numbers_as_a_stream_later]
)
def test_each_item_of_a_returned_stream_is_streamed(function: Callable[..., Any]) -> None:
    events = run(function, n=3)

    assert [e.delta for e in events if isinstance(e, ToolResultTextDeltaEvent)] == ["0\n", "1\n", "2\n"]


@pytest.mark.asyncio
async def test_disposing_disposes_a_returned_stream() -> None:
    disposed: list[int] = []

    def forever() -> Observable[int]:
        return rx.concat(rx.of(1), rx.never()).pipe(ops.finally_action(lambda: disposed.append(1)))

    async with to_async_iterable(run_tool(call("forever"), Toolkit(forever), reply_id="r")) as events:
        await anext(events)
        await anext(events)

    assert disposed == [1]


def test_a_returned_stream_that_fails_is_a_result() -> None:
    def fails() -> Observable[str]:
        return rx.concat(rx.of("half"), rx.throw(ValueError("no more")))

    assert text(run(fails)) == "half\nError: Tool execution failed: ValueError: no more"


@pytest.mark.parametrize("kind", ["coroutine", "stream"])
@pytest.mark.asyncio
async def test_what_a_slow_reader_finds_returned_after_the_time_is_not_awaited(kind: str) -> None:
    began: list[int] = []

    async def rest() -> None:
        began.append(1)

    @tool(timeout=0.2)
    def wrapper(out: ToolEmitter) -> Any:
        for _ in range(5):
            out.emit("x")
        return rest() if kind == "coroutine" else rx.defer(lambda _: rx.of(began.append(1)))

    stream = run_tool(call("wrapper"), Toolkit(wrapper), reply_id="r")
    async with to_async_iterable(stream, max_buffer=1) as events:
        await anext(events)
        await asyncio.sleep(0.3)
        rest_of_it = [e async for e in events]

    assert text(rest_of_it) == "xxxxx\nError: Tool execution failed: it took longer than 0.2 s"
    assert began == []


def test_methods_run_on_their_object() -> None:
    class Counter:
        count = 0

        @tool
        def up(self, by: int) -> int:
            self.count += by
            return self.count

    counter = Counter()

    assert (text(run(counter, by=2)), text(run(counter, by=3)), counter.count) == ("2", "5", 5)


# Converters.


def hidden(value: Any) -> Any:
    return {**value, "password": "***"}


SECRET = {"user": "ann", "password": "123"}


def secret() -> dict[str, str]:
    return SECRET


async def secret_later() -> dict[str, str]:
    return SECRET


def secrets() -> Iterator[dict[str, str]]:
    yield SECRET


async def secrets_later() -> AsyncIterator[dict[str, str]]:
    yield SECRET


def secrets_as_a_stream() -> Observable[dict[str, str]]:
    return rx.of(SECRET)


@pytest.mark.parametrize("function", [secret, secret_later, secrets, secrets_later, secrets_as_a_stream])
def test_a_converter_makes_of_what_a_tool_gives_what_the_model_sees(function: Callable[..., Any]) -> None:
    events = run(tool(converter=hidden)(function))

    assert text(events).rstrip("\n") == '{"user":"ann","password":"***"}'


@pytest.mark.parametrize("given", [None, TextBlock("as it is"), ToolResultBlock.error("as it is")])
def test_a_converter_is_not_asked_about_nothing_and_about_content_blocks(given: Any) -> None:
    def work() -> Any:
        return given

    def fail(value: Any) -> Any:
        raise AssertionError(value)

    assert "AssertionError" not in text(run(tool(converter=fail)(work)))


def test_what_a_converter_returns_may_be_anything_that_a_tool_may_return() -> None:
    image = DataBlock(URLSource("http://x/y.png"))

    def work(out: ToolEmitter) -> int:
        out.emit("emitted as it is, ")
        return 3

    def draw(value: int) -> list[Any]:
        return [f"{value} dots", image]

    events = run(tool(converter=draw)(work))

    assert text(events) == "emitted as it is, 3 dots"
    assert [e.url for e in events if isinstance(e, ToolResultDataDeltaEvent)] == ["http://x/y.png"]


def test_a_converter_that_fails_is_a_result() -> None:
    def fail(value: Any) -> Any:
        raise KeyError(value)

    events = run(tool(converter=fail)(add), a=1, b=2)

    assert (text(events), state(events)) == (
        "Error: Tool execution failed: KeyError: 3",
        ToolResultState.ERROR,
    )


def test_a_large_result_is_written_in_the_tool_s_own_thread() -> None:
    threads: list[str] = []

    def note(value: Any) -> Any:
        threads.append(threading.current_thread().name)
        return value

    run(tool(converter=note)(add), a=1, b=2)

    assert threads == ["tool add"]


# Failures are results.


def boom() -> None:
    raise KeyError("x")


async def boom_later() -> None:
    raise KeyError("x")


def leave() -> None:
    sys.exit(3)


async def leave_later() -> None:
    sys.exit(3)


async def boom_between() -> AsyncIterator[str]:
    yield "half"
    raise ValueError("no more")


def boom_silently() -> None:
    raise RuntimeError


class Unprintable:
    def __str__(self) -> str:
        raise ValueError("not printable")


def unprintable() -> Any:
    return Unprintable()


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (boom, "Error: Tool execution failed: KeyError: 'x'"),
        (boom_later, "Error: Tool execution failed: KeyError: 'x'"),
        (leave, "Error: Tool execution failed: SystemExit: 3"),
        (leave_later, "Error: Tool execution failed: SystemExit: 3"),
        (boom_between, "half\nError: Tool execution failed: ValueError: no more"),
        (boom_silently, "Error: Tool execution failed: RuntimeError"),
        (unprintable, "Error: Tool execution failed: ValueError: not printable"),
    ],
)
def test_an_exception_is_a_result(function: Callable[..., Any], words: str) -> None:
    events = run(function)

    assert (text(events), state(events)) == (words, ToolResultState.ERROR)


def test_an_unknown_tool_is_a_result_that_names_the_tools() -> None:
    events = run(add, call("sum", a=1))

    assert text(events) == "Error: Tool not found: 'sum'. The tools are: add."
    assert state(events) is ToolResultState.ERROR
    stream = run_tool(call("sum"), Toolkit(), reply_id="r").pipe(ops.to_list())
    assert text(stream.run()) == "Error: Tool not found: 'sum'. There are no tools."


def test_invalid_arguments_are_a_result_with_the_path_and_the_tool_does_not_run() -> None:
    ran: list[int] = []

    def act(amount: int) -> None:
        ran.append(amount)

    events = run(act, amount="many")

    assert text(events) == (
        "Error: Parameter validation failed for tool 'act': $.amount: expected int, got str. "
        "Correct the arguments and call it again."
    )
    assert (state(events), ran) == (ToolResultState.ERROR, [])


@dataclasses.dataclass
class Guarded:
    amount: int

    def __post_init__(self) -> None:
        if self.amount < 0:
            raise ValueError("amount is below 0")
        if self.amount > 9:
            raise KeyError(self.amount)


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (-1, "Error: Parameter validation failed for tool 'act': $.it: amount is below 0. Correct"),
        (10, "Error: Tool execution failed: KeyError: 10"),
    ],
)
def test_what_a_class_of_an_argument_raises_is_a_result(amount: int, words: str) -> None:
    def act(it: Guarded) -> None: ...

    events = run(act, it={"amount": amount})

    assert text(events).startswith(words)
    assert state(events) is ToolResultState.ERROR


@pytest.mark.parametrize(
    ("raw", "shown"),
    [('{"amount": 1', '{"amount": 1'), ("[1]", "[1]"), ("x" * 300, f"{'x' * 200}… (300 characters)")],
)
def test_unusable_arguments_are_a_result_and_the_tool_does_not_run(raw: str, shown: str) -> None:
    ran: list[int] = []

    def act(amount: int = 0) -> None:
        ran.append(amount)

    events = run(act, ToolUseBlock("call-1", "act", {}, raw))

    assert text(events) == (
        "Error: The arguments of tool 'act' are no JSON object, so it did not run. "
        f"Call it again with one JSON object. The arguments were: {shown}"
    )
    assert (state(events), ran) == (ToolResultState.ERROR, [])


@pytest.mark.parametrize("content", [None, "", " ", "{}"])
def test_a_call_without_arguments_runs(content: str | None) -> None:
    def now() -> str:
        return "noon"

    assert text(run(now, call("now", content))) == "noon"


def test_arguments_that_are_only_text_are_read() -> None:
    assert text(run(add, call("add", '{"a": 1, "b": 2}'))) == "3"


def test_a_tool_made_of_a_schema_that_does_not_fit_its_function_is_a_result_too() -> None:
    from agentscope_rx.tool import Tool

    remote = Tool("remote", "", {"type": "object"}, add_later)

    assert "TypeError" in text(run(remote, c=1))


@pytest.mark.parametrize("kind", ["async", "sync", "generator"])
def test_a_timeout_is_a_result(kind: str) -> None:
    cleaned = threading.Event()

    @tool(timeout=0.2)
    async def slow_async(out: ToolEmitter) -> None:
        try:
            out.emit("began")
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            cleaned.set()

    @tool(timeout=0.2)
    def slow_sync(out: ToolEmitter) -> None:
        try:
            out.emit("began")
            while True:
                time.sleep(0.001)
                out.emit("")
        finally:
            cleaned.set()

    @tool(timeout=0.2)
    async def slow_generator() -> AsyncIterator[str]:
        try:
            yield "began"
            await asyncio.sleep(60)
        finally:
            cleaned.set()

    events = run({"async": slow_async, "sync": slow_sync, "generator": slow_generator}[kind])

    assert text(events) == "began\nError: Tool execution failed: it took longer than 0.2 s"
    assert state(events) is ToolResultState.ERROR
    assert cleaned.wait(5)


def test_a_tool_within_its_time_leaves_no_timer() -> None:
    @tool(timeout=60)
    def quick() -> str:
        return "done"

    assert text(run(quick)) == "done"


# What no tool can be blamed for is no event.


def out_of_memory() -> None:
    raise MemoryError("no memory")


async def out_of_memory_later() -> None:
    raise MemoryError("no memory")


@pytest.mark.parametrize("function", [out_of_memory, out_of_memory_later])
def test_a_lack_of_memory_is_no_result(function: Callable[..., Any]) -> None:
    with pytest.raises(MemoryError, match="no memory"):
        run(function)


def test_a_cancellation_inside_a_tool_is_no_result() -> None:
    async def waits() -> None:
        raise asyncio.CancelledError

    with pytest.raises(AgentScopeError, match="cancelled"):
        run(waits)


# Streaming.


def test_what_is_emitted_comes_before_what_is_returned() -> None:
    image = DataBlock(URLSource("http://x/y.png"))

    def work(out: ToolEmitter) -> str:
        out.emit("half ")
        out.emit(image)
        out.emit(ToolResultBlock("", "", "way ", {"step": 2}))
        return "done"

    events = run(work)

    assert [type(e).__name__ for e in events[1:-1]] == [
        "ToolResultTextDeltaEvent",
        "ToolResultDataDeltaEvent",
        "ToolResultTextDeltaEvent",
        "ToolResultTextDeltaEvent",
    ]
    assert (text(events), events[3].metadata) == ("half way done", {"step": 2})


def test_a_wrong_thing_to_emit_fails_in_the_tool() -> None:
    def work(out: ToolEmitter) -> None:
        out.emit(3)  # type: ignore[arg-type]

    assert "TypeError: emit takes a str or a ContentBlock: got 3" in text(run(work))


def test_a_tool_can_ask_the_agent_to_stop() -> None:
    def work(out: ToolEmitter) -> str:
        out.request_stop("enough")
        return "done"

    events = run(work)

    (stop,) = (e for e in events if isinstance(e, RequestStopEvent))
    assert (stop.reason, stop.reply_id) == ("enough", "r")
    assert stop.generate_reason is GenerateReason.ACTING_STOP_REQUESTED
    assert (text(events), state(events)) == ("done", ToolResultState.SUCCESS)


def test_events_of_a_subagent_pass_in_their_place_and_stand_in_no_result() -> None:
    child = TextBlockDeltaEvent("child", "text-1", "hi", source="main/child")

    async def work(out: ToolEmitter) -> str:
        out.emit("before ")
        await out.forward(child)
        return "after"

    events = run(work)

    assert [type(e).__name__ for e in events[1:-1]] == [
        "ToolResultTextDeltaEvent",
        "TextBlockDeltaEvent",
        "ToolResultTextDeltaEvent",
    ]
    assert events[2] is child
    assert text(events) == "before after"


@pytest.mark.parametrize("event", [TextBlockDeltaEvent("r", "text-1", "hi"), "hi"])
def test_what_is_no_subagent_s_event_fails_in_the_tool(event: Any) -> None:
    def work(out: ToolEmitter) -> None:
        out.forward(event)

    assert "TypeError: forward takes an event with a source" in text(run(work))


@pytest.mark.asyncio
async def test_a_thousand_deltas_of_a_thread_come_in_order_and_none_waits_for_another() -> None:
    came = threading.Event()
    pauses: list[float] = []

    def work(out: ToolEmitter) -> None:
        for i in range(1_000):
            sent = time.monotonic()
            out.emit(f"{i} ")
            assert came.wait(5)
            came.clear()
            pauses.append(time.monotonic() - sent)

    def show(event: AgentEvent) -> None:
        if isinstance(event, ToolResultTextDeltaEvent):
            came.set()

    stream = run_tool(call("work"), Toolkit(work), reply_id="r").pipe(ops.tap(show))
    events = await _all(stream)

    assert text(events) == "".join(f"{i} " for i in range(1_000))
    assert sorted(pauses)[990] < 0.05


@pytest.mark.asyncio
async def test_output_arrives_while_the_tool_runs() -> None:
    go_on = threading.Event()

    def work(out: ToolEmitter) -> None:
        out.emit("first")
        go_on.wait(5)
        out.emit("second")

    async with to_async_iterable(run_tool(call("work"), Toolkit(work), reply_id="r")) as events:
        await anext(events)
        first = await anext(events)
        assert isinstance(first, ToolResultTextDeltaEvent)
        assert first.delta == "first"
        go_on.set()
        assert text([e async for e in events]) == "second"


@pytest.mark.asyncio
async def test_emitting_never_runs_the_subscriber_on_the_tool_s_stack() -> None:
    order: list[str] = []

    async def work(out: ToolEmitter) -> None:
        out.emit("a")
        order.append("emitted")

    run_tool(call("work"), Toolkit(work), reply_id="r").subscribe(lambda e: order.append(type(e).__name__))
    await settle()

    assert order == ["ToolResultStartEvent", "emitted", "ToolResultTextDeltaEvent", "ToolResultEndEvent"]


def test_twenty_thousand_pieces_of_a_thread_arrive_in_order() -> None:
    def work(out: ToolEmitter) -> None:
        for i in range(20_000):
            out.emit(f"{i} ")

    assert text(run(work)) == "".join(f"{i} " for i in range(20_000))


@pytest.mark.asyncio
async def test_a_thread_is_never_far_ahead_of_a_slow_reader() -> None:
    emitted: list[int] = []
    done = threading.Event()

    def work(out: ToolEmitter) -> None:
        for i in range(5_000):
            out.emit(str(i))
            emitted.append(i)
        done.set()

    stream = run_tool(call("work"), Toolkit(work), reply_id="r")
    async with to_async_iterable(stream, max_buffer=8) as events:
        await anext(events)
        await asyncio.sleep(0.05)
        assert len(emitted) <= 1024 + 16
        rest = [e async for e in events]
    assert done.is_set()
    assert text(rest) == "".join(str(i) for i in range(5_000))


@pytest.mark.asyncio
async def test_an_async_tool_that_awaits_its_emits_is_never_far_ahead() -> None:
    emitted: list[int] = []

    async def work(out: ToolEmitter) -> None:
        for i in range(1_000):
            await out.emit(str(i))
            emitted.append(i)

    stream = run_tool(call("work"), Toolkit(work), reply_id="r")
    async with to_async_iterable(stream, max_buffer=8) as events:
        await anext(events)
        await asyncio.sleep(0.02)
        assert len(emitted) <= 64 + 16
        assert text([e async for e in events]) == "".join(str(i) for i in range(1_000))


# Threads, contexts, cancelling.


def test_a_sync_tool_has_a_daemon_thread_of_its_own_and_the_caller_s_context() -> None:
    user = ContextVar("user", default="nobody")
    threads: list[threading.Thread] = []

    def who() -> str:
        threads.append(threading.current_thread())
        return user.get()

    user.set("ann")

    assert text(run(who)) == "ann"
    assert (threads[0].daemon, threads[0].name) == (True, "tool who")


@pytest.mark.asyncio
async def test_a_sync_tool_does_not_block_the_loop() -> None:
    release = threading.Event()

    def wait() -> str:
        return str(release.wait(5))

    task = asyncio.ensure_future(_all(run_tool(call("wait"), Toolkit(wait), reply_id="r")))
    await asyncio.sleep(0.01)
    release.set()

    assert text(await task) == "True"


async def _all(stream: Any) -> list[AgentEvent]:
    return await stream.pipe(ops.to_list())


def test_the_runtime_context_is_the_call_s() -> None:
    def who(ctx: RuntimeContext) -> str:
        return f"{ctx.user_id}"

    stream = run_tool(call("who"), Toolkit(who), reply_id="r", ctx=RuntimeContext(user_id="ann"))

    assert text(stream.pipe(ops.to_list()).run()) == "ann"
    assert text(run(who)) == "None"


@pytest.mark.asyncio
async def test_disposing_cancels_an_async_tool_once_and_waits_for_its_clean_up() -> None:
    log: list[str] = []

    async def work(out: ToolEmitter) -> None:
        try:
            out.emit("began")
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            log.append(f"cleaned up, cancelled: {out.is_cancelled}")
            out.emit("nobody reads this")

    async with to_async_iterable(on_loop(run_tool(call("work"), Toolkit(work), reply_id="r"))) as events:
        async for event in events:
            if isinstance(event, ToolResultTextDeltaEvent):
                break

    assert log == ["cleaned up, cancelled: True"]
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.asyncio
async def test_disposing_lets_an_async_generator_clean_up() -> None:
    log: list[str] = []

    async def work() -> AsyncIterator[str]:
        try:
            while True:
                yield "more"
        finally:
            await asyncio.sleep(0)
            log.append("cleaned up")

    async with to_async_iterable(run_tool(call("work"), Toolkit(work), reply_id="r")) as events:
        await anext(events)
        await anext(events)

    assert log == ["cleaned up"]
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("waits_for_room", [False, True])
@pytest.mark.asyncio
async def test_disposing_raises_cancelled_in_a_sync_tool_that_emits(waits_for_room: bool) -> None:
    ended: list[type[BaseException]] = []
    done, go_on = threading.Event(), threading.Event()

    def work(out: ToolEmitter) -> None:
        try:
            out.emit("began")
            if not waits_for_room:
                go_on.wait(5)
            for _ in range(5_000):
                out.emit("more")
        except Exception:
            ended.append(Exception)
        except BaseException as error:
            ended.append(type(error))
            raise
        finally:
            done.set()

    stream = run_tool(call("work"), Toolkit(work), reply_id="r")
    async with to_async_iterable(stream, max_buffer=1) as events:
        await anext(events)
        await anext(events)
        await asyncio.sleep(0.01)
    go_on.set()

    assert await asyncio.to_thread(done.wait, 5)
    assert ended == [Cancelled]


@pytest.mark.asyncio
async def test_disposing_closes_the_generator_of_a_sync_tool() -> None:
    closed = threading.Event()

    def work() -> Iterator[str]:
        try:
            while True:
                yield "more"
        finally:
            closed.set()

    async with to_async_iterable(run_tool(call("work"), Toolkit(work), reply_id="r")) as events:
        await anext(events)
        await anext(events)

    assert await asyncio.to_thread(closed.wait, 5)


@pytest.mark.asyncio
async def test_a_sync_tool_that_never_emits_is_left_to_itself_and_its_output_dropped() -> None:
    release = threading.Event()
    done = threading.Event()
    seen: list[AgentEvent] = []

    def work() -> str:
        release.wait(5)
        done.set()
        return "too late"

    subscription = run_tool(call("work"), Toolkit(work), reply_id="r").subscribe(seen.append)
    await asyncio.sleep(0.01)
    subscription.dispose()
    await settle()
    assert len(asyncio.all_tasks()) == 1
    release.set()
    await asyncio.to_thread(done.wait, 5)
    await settle()

    assert [type(e) for e in seen] == [ToolResultStartEvent]


def test_a_tool_that_runs_on_does_not_hold_up_the_exit() -> None:
    program = textwrap.dedent("""
        import asyncio, time
        from agentscope_rx.interop import to_async_iterable
        from agentscope_rx.message import ToolUseBlock
        from agentscope_rx.tool import Toolkit, run_tool

        def forever() -> None:
            time.sleep(60)

        async def main() -> None:
            call = ToolUseBlock("c", "forever")
            async with to_async_iterable(run_tool(call, Toolkit(forever), reply_id="r")) as events:
                print(type(await anext(events)).__name__)

        asyncio.run(main())
    """)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )

    assert (done.stdout, done.stderr, done.returncode) == ("ToolResultStartEvent\n", "", 0)
    assert time.monotonic() - began < 10


@pytest.mark.asyncio
async def test_an_async_tool_that_ignores_its_cancellation_is_abandoned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # By its name: the top of the package has a `tool` of its own, the decorator.
    monkeypatch.setattr(import_module("agentscope_rx.tool._run._work"), "_GRACE", 0.01)
    release = asyncio.Event()
    ended: list[int] = []

    @tool(timeout=0.01)
    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        ended.append(1)

    events = await _all(run_tool(call("stubborn"), Toolkit(stubborn), reply_id="r"))

    assert state(events) is ToolResultState.ERROR
    assert ended == []
    release.set()
    await settle()
    assert ended == [1]


@pytest.mark.asyncio
async def test_what_a_tool_raises_while_it_is_cancelled_is_not_left_unseen(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            raise OSError("disk full")

    caplog.set_level("INFO", "agentscope_rx")
    async with to_async_iterable(run_tool(call("work"), Toolkit(work), reply_id="r")) as events:
        await anext(events)
        await settle()

    assert [str(r.exc_info[1]) for r in caplog.records if r.exc_info] == ["disk full"]
