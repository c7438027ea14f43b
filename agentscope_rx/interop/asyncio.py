"""asyncio in and out: coroutines and async iterators as streams, and streams as async iterators."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from functools import partial
from threading import get_ident
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.interop._errors import as_error, goes_on
from agentscope_rx.interop._on_loop import on_loop
from agentscope_rx.interop._scheduler import CallScheduler, occupied
from agentscope_rx.interop._shield import report, shield
from agentscope_rx.operators import merge

__all__ = ["EventReader", "from_async_iterable", "from_coroutine", "to_async_iterable"]

T = TypeVar("T")

_BURST: Final = 64
"""Items that a source may deliver before the loop's other tasks have their turn."""

_LONGEST_MERGE: Final = 4096
"""Characters of a merged delta: every character is copied at most that often, however far a reader lags."""


def from_async_iterable(factory: Callable[[], AsyncIterable[T]]) -> Observable[T]:
    """Make a stream of an async iterator: `from_async_iterable(lambda: ticks(3))`.

    1. Each subscription calls `factory` and iterates what it returns, in a task of the call.
    2. Disposing cancels the task and closes the iterator; disposing inside `on_next` lets it stop at its
       `yield`. Completion and error come after the iterator has been closed.
    3. It gives way to the loop every 64 items, and waits while a bounded reader lags.
    4. Outside of a call it is a boundary of its own, as `on_loop`: `.run()` and `await` work, and what a
       subscriber raises goes to the loop's exception handler.

    Errors: those of the iterator; not its subscriber's.
    """

    def pumped(
        observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        assert isinstance(scheduler, CallScheduler)
        return _pump(factory, observer, scheduler)

    source: Observable[T] = Observable(pumped)
    call = shield(on_loop(source))

    def subscribe(
        observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        if isinstance(scheduler, CallScheduler) and scheduler.is_current:
            return _pump(factory, observer, scheduler)
        return call.subscribe(observer, scheduler=scheduler)

    return Observable(subscribe)


def from_coroutine(factory: Callable[[], Awaitable[T]]) -> Observable[T]:
    """Make a stream of one item of a coroutine: `from_coroutine(lambda: fetch(url))`.

    Each subscription calls `factory` and awaits what it returns; disposing cancels that. Else as
    `from_async_iterable`.

    Errors: those of the coroutine.
    """

    async def once() -> AsyncIterator[T]:
        yield await factory()

    return from_async_iterable(once)


def _pump(
    factory: Callable[[], AsyncIterable[T]], observer: abc.ObserverBase[T], scheduler: CallScheduler
) -> abc.DisposableBase:
    gate = scheduler.gate
    stopped = False
    task: asyncio.Task[None] | None = None

    async def deliver(iterator: AsyncIterator[T]) -> None:
        step = iterator.__anext__
        delivered = 0
        around = occupied.get()
        while not stopped:
            occupied.set(scheduler.inside)
            try:
                item = await step()
            except StopAsyncIteration:
                return
            finally:
                occupied.set(around)
            if stopped:
                return
            observer.on_next(item)
            delivered += 1
            step = iterator.__anext__
            if stopped or (delivered % _BURST and gate.is_set()):
                continue
            try:
                await (asyncio.sleep(0) if gate.is_set() else gate.wait())
            except asyncio.CancelledError as cancel:
                # A deadline around the source's own `yield` cancels this task: the source must see it.
                throw = getattr(iterator, "athrow", None)
                if stopped or throw is None:
                    raise
                step = partial(throw, cancel)

    async def pump() -> None:
        nonlocal stopped, task
        task = asyncio.current_task()  # where tasks are eager, this runs before `create_task` returns
        error: Exception | None = None
        fatal: BaseException | None = None
        iterator: AsyncIterator[T] | None = None
        try:
            iterator = aiter(factory())
            await deliver(iterator)
        except asyncio.CancelledError as cancel:
            if stopped or (task is not None and task.cancelling()):
                raise
            error = as_error(cancel)
        except GeneratorExit:  # the loop is gone, and the task with it
            raise
        except BaseException as raised:
            error, fatal = as_error(raised), raised if goes_on(raised) else None
        finally:
            raised = None if iterator is None else await _closed(iterator)
            if raised is not None and (stopped or error is not None):
                report("the clean-up of a source raised", raised)
            elif raised is not None:
                error = raised
        if not stopped:
            stopped = True  # before the signal: disposing in answer to it must not cancel this task
            if task is not None:
                scheduler.count_out(task)
            if error is None:
                observer.on_completed()
            else:
                observer.on_error(error)
        if fatal is not None:
            if task is not None:
                task.add_done_callback(lambda task: task.exception())  # it goes on: nobody misses it here
            raise fatal

    def stop() -> None:
        nonlocal stopped
        if stopped:
            return
        stopped = True
        if task is not None:
            scheduler.note_stopping(task)
        # Inside on_next the task is this one: cancelling it would hit the iterator's own clean-up.
        if task is not None and asyncio.current_task() is not task:
            task.cancel()

    task = scheduler.create_task(pump())
    return Disposable(lambda: scheduler.post(stop))


async def _closed(iterator: AsyncIterator[Any]) -> Exception | None:
    """Close an iterator, if it can be closed; return what it raises."""
    aclose = getattr(iterator, "aclose", None)
    if aclose is None:
        return None
    try:
        await aclose()
    except Exception as error:
        return error
    return None


def to_async_iterable(source: Observable[T], *, max_buffer: int = 256) -> EventReader[T]:
    """Read a stream with `async for`; as a context manager it is disposed however the block ends.

        async with to_async_iterable(agent.call("hi")) as events:
            async for event in events:
                if is_enough(event):
                    break

    1. The source is subscribed when the block is entered or the first item is asked for.
    2. When `max_buffer` items wait for a slow reader, the call's sources that await (models, tools,
       `from_async_iterable`) are held back until half of them have been read. Time goes on meanwhile,
       also for an `ops.timeout` inside the call.
    3. What cannot be held back is kept, and neighbouring deltas of one block are merged: nothing is
       lost, and the message stays the same.
    4. Leaving the block disposes the source and waits (5 seconds at most) until it has cleaned up.

    Without the block, `break` disposes only when the last reference to the reader is gone.

    Errors: those of the source are raised after the last item; `ConfigurationError` for a `max_buffer`
    below 1.
    """
    if max_buffer < 1:
        raise ConfigurationError(f"max_buffer must be at least 1: {max_buffer}")
    return EventReader(source, max_buffer)


class EventReader(AsyncIterator[T]):
    """One subscription, read with `async for`: see `to_async_iterable`."""

    def __init__(self, source: Observable[T], max_buffer: int) -> None:
        self._source = source
        self._max_buffer = max_buffer
        self._buffer: _Buffer[T] | None = None
        self._subscription: abc.DisposableBase | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        buffer = self._buffer or self._subscribe()
        while not buffer.items:
            if buffer.ended:
                error, buffer.error = buffer.error, None
                raise StopAsyncIteration if error is None else error
            await buffer.change()
        return buffer.take()

    async def __aenter__(self) -> Self:
        if self._buffer is None:
            self._subscribe()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Dispose the source and wait until it has cleaned up; there are no more items."""
        buffer = self._buffer or _Buffer[T](CallScheduler(asyncio.get_running_loop()), self._max_buffer)
        self._buffer = buffer
        self._dispose()
        buffer.close()
        await buffer.scheduler.drained()

    def _subscribe(self) -> _Buffer[T]:
        buffer = self._buffer = _Buffer[T](CallScheduler(asyncio.get_running_loop()), self._max_buffer)
        part = buffer.scheduler.part(lambda escaped: buffer.on_error(as_error(escaped)))
        self._subscription = self._source.subscribe(
            buffer.on_next, buffer.on_error, buffer.on_completed, scheduler=part
        )
        return buffer

    def _dispose(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            subscription.dispose()

    def __del__(self) -> None:
        if self._subscription is not None and self._buffer is not None:
            self._buffer.scheduler.post(self._buffer.close)
            self._buffer.scheduler.post(self._subscription.dispose)


class _Buffer(Generic[T]):
    """What has arrived and was not read yet. It does not know its reader, so that one can be dropped."""

    def __init__(self, scheduler: CallScheduler, max_buffer: int) -> None:
        self.scheduler = scheduler
        self.items: deque[T] = deque()
        self.ended = False
        self.error: Exception | None = None
        self._max = max_buffer
        self._thread = get_ident()
        self._reader: asyncio.Future[None] | None = None

    def on_next(self, item: T) -> None:
        if get_ident() != self._thread:
            self.scheduler.post(partial(self.on_next, item))
            return
        items = self.items
        if self.ended:
            return
        if len(items) >= self._max:
            self.scheduler.gate.clear()
            merged: Any = merge(items[-1], item, limit=_LONGEST_MERGE)
            if merged is not None:
                items[-1] = merged
                return
        items.append(item)
        self._wake()

    def on_error(self, error: Exception) -> None:
        self.scheduler.post(partial(self._end, error))

    def on_completed(self) -> None:
        self.scheduler.post(partial(self._end, None))

    def _end(self, error: Exception | None) -> None:
        if not self.ended:
            self.ended, self.error = True, error
            self._wake()

    def close(self) -> None:
        """Forget what was not read, and let the source go."""
        self.items.clear()
        self._end(None)
        self.error = None
        self.scheduler.gate.set()

    def take(self) -> T:
        item = self.items.popleft()
        if len(self.items) <= self._max // 2 and not self.scheduler.gate.is_set():
            self.scheduler.gate.set()
        return item

    async def change(self) -> None:
        """Wait for an item or the end."""
        if self._reader is not None:
            raise RuntimeError("another task is already waiting for this reader's next item")
        self._reader = asyncio.get_running_loop().create_future()
        try:
            await self._reader
        finally:
            self._reader = None

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
