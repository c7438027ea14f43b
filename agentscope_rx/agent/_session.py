"""Sessions: calls of one session run one after the other, and a session is free only when all is clean."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from reactivex import Observable, abc
from reactivex.disposable import Disposable, SingleAssignmentDisposable

from agentscope_rx.event import AgentEvent
from agentscope_rx.interop import CallScheduler
from agentscope_rx.state import AgentState

__all__ = ["Gate", "Session", "in_turn"]

GRACE: Final = 5.0
"""How long, in seconds, a disposed call may take to clean up before its session is freed all the same."""


class Gate:
    """A place for one, first come first served; its waiters may live on different event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = deque()
        self._taken = False

    @property
    def is_idle(self) -> bool:
        """Whether nobody is inside or waits."""
        with self._lock:
            return not self._taken and not self._waiting

    def enter(self, loop: asyncio.AbstractEventLoop, go: Callable[[], None]) -> None:
        """Call `go` on `loop` when the place is free: at once if it is."""
        with self._lock:
            if self._taken:
                self._waiting.append((loop, go))
                return
            self._taken = True
        go()

    def leave(self) -> None:
        """Free the place for the next who waits; those whose loop is closed are passed over."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._taken = False
                    return
                loop, go = self._waiting.popleft()
            try:
                loop.call_soon_threadsafe(go)
            except RuntimeError:
                continue
            return


class Session:
    """One conversation of an agent: its gate, and its state between calls."""

    def __init__(self, state: AgentState) -> None:
        self.gate = Gate()
        self.state = state


def in_turn(
    gate: Gate, body: Callable[[], Observable[AgentEvent]], save: Callable[[], None]
) -> Observable[AgentEvent]:
    """Run a call when its turn in the session has come.

    1. Waits for the calls before it; a call disposed while it waits never begins.
    2. When the body ends or is disposed, waits (bounded) until every task of the call has ended, saves, and
       only then frees the session; an end is forwarded after that.

    Errors: those of the body (a failing `save` is added as a note), and of `save` where the body completed.
    """

    def subscribe(
        observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        assert isinstance(scheduler, CallScheduler)
        subscription = SingleAssignmentDisposable()
        waiting, over = True, False

        def go() -> None:
            nonlocal waiting
            if over:
                gate.leave()
                return
            waiting = False
            try:
                events = body()
            except Exception as error:
                fail(error)
            else:
                subscription.disposable = events.subscribe(
                    observer.on_next, fail, complete, scheduler=scheduler
                )

        def release() -> Exception | None:
            try:
                save()
            except Exception as error:
                return error
            finally:
                gate.leave()
            return None

        def when_clean(then: Callable[[Exception | None], None]) -> None:
            nonlocal over
            over = True
            if scheduler.is_idle:
                then(release())
                return

            async def close() -> None:
                await scheduler.drained(GRACE)
                then(release())

            scheduler.create_task(close(), detached=True)

        def fail(error: Exception) -> None:
            def forward(unsaved: Exception | None) -> None:
                if unsaved is not None:
                    error.add_note(f"and the session could not be saved: {unsaved!r}")
                observer.on_error(error)

            when_clean(forward)

        def complete() -> None:
            when_clean(lambda error: observer.on_completed() if error is None else observer.on_error(error))

        def dispose() -> None:
            nonlocal over
            if over:
                return
            if waiting:
                over = True
                return
            subscription.dispose()
            when_clean(report)

        def report(unsaved: Exception | None) -> None:
            if unsaved is not None:
                context = {"message": "a disposed call could not be saved", "exception": unsaved}
                scheduler.loop.call_exception_handler(context)

        gate.enter(scheduler.loop, go)
        return Disposable(dispose)

    return Observable(subscribe)
