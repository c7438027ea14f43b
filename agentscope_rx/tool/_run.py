"""One tool call, run: its events, live; and whatever goes wrong with the tool, as its result."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import closing, suppress
from contextvars import copy_context
from functools import partial
from threading import Semaphore, Thread, get_ident
from typing import Any, Final, TypeAlias, cast, final

from attrs import frozen
from reactivex import Observable

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ToolArgumentsError, ToolError, ToolNotFoundError
from agentscope_rx.event import AgentEvent, ToolResultTextDeltaEvent
from agentscope_rx.interop import from_async_iterable, to_async_iterable, words_of
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.tool._arguments import bind, given
from agentscope_rx.tool._emitter import Cancelled, Emitted, ToolEmitter
from agentscope_rx.tool._output import ResultWriter, as_item, as_result
from agentscope_rx.tool._tool import Tool
from agentscope_rx.tool._toolkit import Toolkit

__all__ = ["run_tool"]

_LEAD: Final = 1024
"""Pieces that a sync tool may be ahead of the reader."""

_ROOM: Final = 64
"""Pieces that an async tool that awaits its `emit` may be ahead of the reader."""

_GRACE: Final = 5.0
"""Seconds that a cancelled async tool has for its clean-up."""

_SHOWN: Final = 200
"""Characters of unusable arguments that a model is shown again."""

_FATAL: Final = (asyncio.CancelledError, KeyboardInterrupt, MemoryError)
"""What is no failure of a tool, but of everything."""

_log = logging.getLogger("agentscope_rx")
_abandoned: set[asyncio.Task[None]] = set()


def run_tool(
    call: ToolUseBlock, toolkit: Toolkit, *, reply_id: str, ctx: RuntimeContext | None = None
) -> Observable[AgentEvent]:
    """Run a tool call.

    1. `ToolResultStartEvent`, the output as it comes, `ToolResultEndEvent` with the state.
    2. What fails is a result with state `error` and a text that the model can act on: an unknown tool
       (with the names that there are), arguments that are no JSON object or do not fit (with the path: the
       tool does not run), an exception, a timeout.
    3. A sync tool runs in a daemon thread of its own, with the call's context variables; it blocks neither
       the loop nor the exit. An async one is a task.
    4. Disposing cancels an async tool and lets it clean up; a sync one gets `Cancelled` from its next
       `emit`, or is left to itself, and its output is dropped. So does a timeout.

    Marble:
        -S-t-t-E-|            S = ToolResultStart, t = a text delta, E = ToolResultEnd
    Shape:  cold, per subscription one run of the tool.
    Units:  a tool's timeout is in seconds.
    Errors: only what no tool can be blamed for: MemoryError, cancellation from outside.
    """
    return from_async_iterable(lambda: _events(call, toolkit, reply_id, ctx or RuntimeContext()))


async def _events(
    call: ToolUseBlock, toolkit: Toolkit, reply_id: str, ctx: RuntimeContext
) -> AsyncIterator[AgentEvent]:
    write = ResultWriter(call, reply_id)
    channel = _Channel(asyncio.get_running_loop())
    yield write.start()
    try:
        tool, arguments = _prepared(call, toolkit, ctx, channel)
    except Exception as error:  # a user's class may raise anything when it is made of arguments
        refused = isinstance(error, ToolError)
        for event in write.error(str(error)) if refused else _ending(_Raised(error), write):
            yield event
        return
    run = _Run(tool, arguments, channel)
    in_line = False
    try:
        while True:
            piece = await channel.next()
            if isinstance(piece, _Outcome):
                if run.follows(piece):
                    continue
                break
            for event in write.deltas(piece):
                yield event
                in_line = isinstance(event, ToolResultTextDeltaEvent) and not event.delta.endswith("\n")
    finally:
        await run.stop()
    for event in _ending(piece, write, below=in_line):
        yield event


def _prepared(
    call: ToolUseBlock, toolkit: Toolkit, ctx: RuntimeContext, channel: _Channel
) -> tuple[Tool[..., Any], dict[str, Any]]:
    """Find the tool and read the arguments; the errors are words for the model."""
    tool = toolkit.get(call.name)
    if tool is None:
        names = f"The tools are: {', '.join(toolkit.names)}." if len(toolkit) else "There are no tools."
        raise ToolNotFoundError(f"Tool not found: {call.name!r}. {names}")
    if call.input_error:
        raw = call.content or ""
        shown = raw if len(raw) <= _SHOWN else f"{raw[:_SHOWN]}… ({len(raw)} characters)"
        raise ToolArgumentsError(
            f"The arguments of tool {call.name!r} are no JSON object, so it did not run. "
            f"Call it again with one JSON object. The arguments were: {shown}"
        )
    injected: dict[type, Any] = {
        RuntimeContext: ctx,
        ToolEmitter: ToolEmitter(channel.send, lambda: channel.cancelled),
    }
    try:
        return tool, bind(tool.signature, given(call), injected.__getitem__)
    except ToolArgumentsError as error:
        raise ToolArgumentsError(
            f"Parameter validation failed for tool {call.name!r}: {error}. "
            "Correct the arguments and call it again.",
            path=error.path,
        ) from error


def _ending(outcome: _Outcome, write: ResultWriter, *, below: bool = False) -> Iterator[AgentEvent]:
    match outcome:
        case _Returned(value):
            try:
                result = as_result(value)
            except Exception as error:
                return _ending(_Raised(error), write, below=below)
            return write.result(result)
        case _TimedOut(seconds):
            return write.error(f"Tool execution failed: it took longer than {seconds:g} s", below=below)
        case _Raised(error):
            if isinstance(error, _FATAL):
                raise error
            _log.info("tool %s raised", write.call.name, exc_info=error)
            return write.error(f"Tool execution failed: {words_of(error)}", below=below)


@final
@frozen
class _Returned:
    value: Any


@final
@frozen
class _Raised:
    error: BaseException


@final
@frozen
class _TimedOut:
    seconds: float


_Outcome: TypeAlias = _Returned | _Raised | _TimedOut
_Piece: TypeAlias = Emitted | _Outcome


class _Channel:
    """From the tool, on whatever thread, to the stream: in order, one wake-up of the loop per burst."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.cancelled = False
        self._loop = loop
        self._thread = get_ident()
        self._pieces: deque[_Piece] = deque()
        self._lead = Semaphore(_LEAD)
        self._signalled = False
        self._reader: asyncio.Future[None] | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._when_room = _Awaitable(self._room.wait)

    def send(self, piece: Emitted) -> Awaitable[object]:
        """What a tool emits: see `ToolEmitter.emit`."""
        if get_ident() != self._thread:
            self._lead.acquire()
            if self.cancelled:
                self._lead.release()  # for the next thread that waits
                raise Cancelled
            self.put(piece)
        elif not self.cancelled:
            self._pieces.append(piece)
            if len(self._pieces) >= _ROOM:
                self._room.clear()
            self._wake()
        return self._when_room

    def put(self, piece: _Piece) -> None:
        """Add a piece, whatever the lead, from any thread."""
        self._pieces.append(piece)
        if not self._signalled:
            self._signalled = True
            with suppress(RuntimeError):  # the loop is closed: nobody reads any more
                self._loop.call_soon_threadsafe(self._signal)

    async def next(self) -> _Piece:
        """Take the next piece."""
        while not self._pieces:
            self._reader = self._loop.create_future()
            await self._reader
        piece = self._pieces.popleft()
        self._lead.release()
        if len(self._pieces) < _ROOM:
            self._room.set()
        return piece

    def cancel(self) -> None:
        """Take nothing more; let go of a tool that waits for room."""
        self.cancelled = True
        self._lead.release()
        self._room.set()

    def _signal(self) -> None:
        self._signalled = False  # before the pieces are read: what comes now signals again
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


@final
@frozen
class _Awaitable:
    """What may be awaited, or not, any number of times."""

    start: Callable[[], Coroutine[Any, Any, object]]

    def __await__(self) -> Generator[Any, None, object]:
        return self.start().__await__()


class _Run:
    """A tool at work: a task on the loop, or a thread of its own."""

    def __init__(self, tool: Tool[..., Any], arguments: dict[str, Any], channel: _Channel) -> None:
        self._channel = channel
        self._task: asyncio.Task[None] | None = None
        function = partial(tool.function, **arguments)
        if inspect.isasyncgenfunction(function):
            self._start(partial(_streamed, function, channel))
        elif inspect.iscoroutinefunction(function):
            self._start(function)
        else:
            work = partial(copy_context().run, _work_in_thread, function, channel)
            Thread(target=work, name=f"tool {tool.name}", daemon=True).start()
        self._timer: asyncio.TimerHandle | None = None
        if tool.timeout is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(tool.timeout, self._expire, tool.timeout)

    def follows(self, outcome: _Outcome) -> bool:
        """Go on with what was returned, if that is something to wait for or to stream."""
        value: Any = outcome.value if isinstance(outcome, _Returned) else None
        begin = _continuation(value, self._channel)
        if begin is None:
            return False
        if not self._channel.cancelled:
            self._start(begin)
        elif inspect.iscoroutine(value):
            value.close()  # the time was over before a slow reader came here: that is the next piece
        return True

    def _start(self, begin: Callable[[], Awaitable[Any]]) -> None:
        self._task = asyncio.create_task(_work_on_loop(begin, self._channel))

    async def stop(self) -> None:
        """End the tool, if it has not ended, and give it time to clean up."""
        if self._timer is not None:
            self._timer.cancel()
        self._cancel()
        task = self._task
        if task is None or task.done():
            return
        try:
            await asyncio.wait({task}, timeout=_GRACE)
        finally:
            if not task.done():
                task.cancel()
                _abandoned.add(task)
                task.add_done_callback(_abandoned.discard)

    def _expire(self, seconds: float) -> None:
        self._cancel()
        self._channel.put(_TimedOut(seconds))

    def _cancel(self) -> None:
        # Once: a second cancel would hit the tool's own clean-up.
        if not self._channel.cancelled:
            self._channel.cancel()
            if self._task is not None:
                self._task.cancel()


async def _work_on_loop(begin: Callable[[], Awaitable[Any]], channel: _Channel) -> None:
    try:
        outcome: _Outcome = _Returned(await begin())
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and channel.cancelled:
            raise
        outcome = _raised(error, channel)
    channel.put(outcome)


def _continuation(value: Any, channel: _Channel) -> Callable[[], Awaitable[Any]] | None:
    if isinstance(value, Observable):
        stream = cast("Observable[Any]", value)
        return partial(_streamed, partial(to_async_iterable, stream), channel)
    if isinstance(value, AsyncIterator):
        items = cast("AsyncIterator[Any]", value)
        return partial(_streamed, lambda: items, channel)
    return (lambda: value) if inspect.isawaitable(value) else None


async def _streamed(function: Callable[[], AsyncIterator[Any]], channel: _Channel) -> None:
    items = function()
    try:
        async for item in items:
            await channel.send(as_item(item))
    finally:
        if aclose := getattr(items, "aclose", None):
            await aclose()


def _work_in_thread(function: Callable[[], Any], channel: _Channel) -> None:
    try:
        value = function()
        if inspect.isgenerator(value):
            with closing(value):
                for item in value:
                    channel.send(as_item(item))
            value = None
        outcome: _Outcome = _Returned(value)
    except Cancelled:
        return
    except BaseException as error:
        outcome = _raised(error, channel)
    channel.put(outcome)


def _raised(error: BaseException, channel: _Channel) -> _Raised:
    if channel.cancelled:
        _log.info("a tool raised while it was cancelled", exc_info=error)
    return _Raised(error)
