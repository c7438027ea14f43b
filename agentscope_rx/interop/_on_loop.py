"""The boundary: everything of a call lives on one event loop, whoever subscribes from wherever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from contextvars import copy_context
from typing import TypeVar

from reactivex import Observable, abc
from reactivex.disposable import Disposable, SerialDisposable
from reactivex.scheduler import NewThreadScheduler

from agentscope_rx.errors import RunInsideLoopError
from agentscope_rx.interop._errors import as_error
from agentscope_rx.interop._private_loop import private_loop
from agentscope_rx.interop._scheduler import CallScheduler, running_loop

__all__ = ["on_loop"]

T = TypeVar("T")


def on_loop(
    source: Observable[T], *, within: Callable[[], AbstractContextManager[object]] = nullcontext
) -> Observable[T]:
    """Make a call of a stream: subscribe it on one event loop, and keep it there.

    1. Where a loop runs, it is that loop; from a thread without one, it is the process's private loop.
    2. Whatever scheduler the subscriber brings is replaced by a `CallScheduler` of that loop, which RxPY
       hands on to every operator: `ops.timeout(30)` and `ops.delay(1)` inside use the loop.
    3. A call inside a call shares the gate of the outer one, and its tasks count among the outer one's.
    4. The source is subscribed in a context of its own, inside `with within():`; its tasks and callbacks
       inherit what that sets (as `lambda: emitting(new_emitter())`).
    5. Disposing works from any thread.

    Errors: `RunInsideLoopError` for `.run()` on a thread whose loop is running; else those of the source.
    """

    def start(
        loop: asyncio.AbstractEventLoop, parent: CallScheduler | None, observer: abc.ObserverBase[T]
    ) -> abc.DisposableBase:
        with within():
            scheduler = CallScheduler(loop, parent=parent)
            with scheduler.entered():
                return source.subscribe(observer, scheduler=scheduler)

    def subscribe(
        observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        loop = running_loop()
        inner = SerialDisposable()
        if loop is None:
            return _subscribe_privately(start, observer, inner)
        if isinstance(scheduler, NewThreadScheduler):
            raise RunInsideLoopError(
                "`.run()` would block the event loop that is running on this thread. In asyncio and in "
                "Jupyter write `await` instead, as in `msg = await agent.reply('hi')`; `.run()` is for "
                "programs without a running loop"
            )
        outer = scheduler if isinstance(scheduler, CallScheduler) and scheduler.loop is loop else None
        inner.disposable = copy_context().run(start, loop, outer, observer)
        return Disposable(lambda: _dispose_on(loop, inner))

    return Observable(subscribe)


def _subscribe_privately(
    start: Callable[
        [asyncio.AbstractEventLoop, CallScheduler | None, abc.ObserverBase[T]], abc.DisposableBase
    ],
    observer: abc.ObserverBase[T],
    inner: SerialDisposable,
) -> abc.DisposableBase:
    loop = private_loop.get()

    def begin() -> None:
        if subscription.is_disposed:
            return
        try:
            inner.disposable = start(loop, None, observer)
        except BaseException as error:
            observer.on_error(as_error(error))

    def dispose() -> None:
        private_loop.live.discard(inner)
        _dispose_on(loop, inner)

    subscription = Disposable(dispose)
    private_loop.live.add(inner)
    loop.call_soon_threadsafe(begin)
    return subscription


def _dispose_on(loop: asyncio.AbstractEventLoop, inner: SerialDisposable) -> None:
    if running_loop() is loop:
        inner.dispose()
    else:
        with suppress(RuntimeError):  # the loop is closed: nothing of the call is left
            loop.call_soon_threadsafe(inner.dispose)
