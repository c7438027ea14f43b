"""One turn in a session: it begins when the place is free, and frees it only when all is clean and kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, Generic, Protocol, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import Disposable, SingleAssignmentDisposable

from agentscope_rx.agent._gate import Gate
from agentscope_rx.agent._unsaved import add_unsaved
from agentscope_rx.interop import CallScheduler, as_error, goes_on

__all__ = ["Keeper", "in_turn"]

T = TypeVar("T")

GRACE: Final = 5.0
"""How long, in seconds, a disposed call may take to clean up before its session is freed all the same."""

_ATTEMPTS: Final = 2
"""How often a call writes; the first time may be when its loop begins to be closed."""


class Keeper(Protocol):
    """Keeps what a turn has made of a session."""

    def keep(self) -> None:
        """Keep it in memory."""
        ...

    @property
    def writes_itself(self) -> bool:
        """Whether the body has written what it had to before it ended; what is left then came too late."""
        ...

    def left(self, unsaved: Exception | None) -> None:
        """Note that the place is free again, and what could not be written."""
        ...

    @property
    def write(self) -> Callable[[], Awaitable[None]] | None:
        """Writes it to where it outlives the process; None if there is nowhere."""
        ...


def in_turn(
    gate: Gate, body: Callable[[CallScheduler], Observable[T]], keeper: Keeper, *, first: bool = False
) -> Observable[T]:
    """Run a call when its turn in the session has come.

    1. Waits for the calls before it; with `first`, only for the one inside. Disposed while it waits, it never
       begins.
    2. When the body ends or is disposed, waits (bounded) until every task of the call has ended, keeps, and
       only then frees the session; an end is forwarded after that.
    3. Where there is something to write, an event loop that is being closed (as by `asyncio.run`, at its end
       or after a Ctrl-C) disposes the call and lets it write.
    4. A call whose event loop was closed under it is kept and frees the session when the next one comes.

    Errors: those of the body (a failing keeper is added as a note), and of the keeper, but where the body has
    written itself: what could not be written behind its end is reported.
    """

    def subscribe(
        observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        assert isinstance(scheduler, CallScheduler)
        turn = _Turn(gate, body, keeper, observer, scheduler)
        gate.enter(scheduler.loop, turn.go, turn.give_up, first=first)
        return Disposable(turn.dispose)

    return Observable(subscribe)


class _Turn(Generic[T]):
    """One call from its place in the queue to its end."""

    def __init__(
        self,
        gate: Gate,
        body: Callable[[CallScheduler], Observable[T]],
        keeper: Keeper,
        observer: abc.ObserverBase[T],
        scheduler: CallScheduler,
    ) -> None:
        self._gate = gate
        self._body = body
        self._keeper = keeper
        self._observer = observer
        self._scheduler = scheduler
        self._subscription = SingleAssignmentDisposable()
        self._begun = False
        self._over = False
        self._ended: asyncio.Event | None = None
        self._then: Callable[[Exception | None], None] = self._report

    def go(self) -> None:
        if self._over:
            self._gate.leave()
            return
        self._begun = True
        if self._keeper.write is not None:
            # Already under way when the loop is closed: that cancels what has not begun before it can.
            self._ended = asyncio.Event()
            self._create(self._stay(self._ended))
        part = self._scheduler.part(self._escaped)
        try:
            events = self._body(part)
            self._subscription.disposable = events.subscribe(
                self._observer.on_next, self._fail, self._complete, scheduler=part
            )
        except BaseException as error:
            self._escaped(error)

    def give_up(self) -> None:
        self._over = True
        unsaved = self._kept()
        self._report(unsaved)
        self._keeper.left(unsaved)

    def dispose(self) -> None:
        if self._over:
            return
        self._subscription.dispose()
        if self._begun:
            self._when_clean(self._report)
        else:
            self._over = True

    def _complete(self) -> None:
        def forward(unsaved: Exception | None) -> None:
            if unsaved is None or self._keeper.writes_itself:
                self._report(unsaved)
                self._observer.on_completed()
            else:
                self._observer.on_error(unsaved)

        self._when_clean(forward)

    def _fail(self, error: Exception) -> None:
        def forward(unsaved: Exception | None) -> None:
            if unsaved is not None:
                add_unsaved(error, unsaved)
            self._observer.on_error(error)

        self._when_clean(forward)

    def _escaped(self, error: BaseException) -> None:
        if self._over:
            raise error
        self._subscription.dispose()
        self._fail(as_error(error))
        if goes_on(error):
            raise error

    def _when_clean(self, then: Callable[[Exception | None], None]) -> None:
        self._over = True
        self._scheduler.post(lambda: self._end(then))  # an end may come on any thread

    def _end(self, then: Callable[[Exception | None], None]) -> None:
        self._then = then
        if self._ended is not None:
            self._ended.set()
        elif self._scheduler.is_idle:
            self._release(self._kept())
        else:
            self._create(self._clean())

    def _create(self, cleaning: Coroutine[Any, Any, Exception | None]) -> None:
        # A callback, and no code behind an await: a loop that is being closed cancels even what never ran.
        task = self._scheduler.create_task(cleaning, detached=True)
        task.add_done_callback(
            lambda task: self._release(self._kept() if task.cancelled() else _outcome(task))
        )

    async def _stay(self, ended: asyncio.Event) -> Exception | None:
        try:
            await ended.wait()
        except asyncio.CancelledError:
            _go_on()
            self._over = True
            self._subscription.dispose()
        return await self._clean()

    async def _clean(self) -> Exception | None:
        try:
            await self._scheduler.drained(GRACE)
        except asyncio.CancelledError:
            _go_on()
        unsaved = self._kept()
        if self._keeper.write is None:
            return unsaved
        for _ in range(_ATTEMPTS):
            try:
                await self._keeper.write()
                break
            except asyncio.CancelledError:
                _go_on()
            except Exception as error:
                return error
        return unsaved

    def _release(self, unsaved: Exception | None) -> None:
        self._over = True
        self._gate.leave()
        self._then(unsaved)
        self._keeper.left(unsaved)

    def _kept(self) -> Exception | None:
        try:
            self._keeper.keep()
        except Exception as error:
            return error
        return None

    def _report(self, unsaved: Exception | None) -> None:
        if unsaved is not None:
            context = {"message": "a call that was left could not be saved", "exception": unsaved}
            self._scheduler.loop.call_exception_handler(context)


def _outcome(cleaning: asyncio.Task[Exception | None]) -> Exception | None:
    raised = cleaning.exception()
    return cleaning.result() if raised is None else as_error(raised)


def _go_on() -> None:
    """Take back a cancellation: it comes from a loop that is being closed, and waits for all its tasks."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
