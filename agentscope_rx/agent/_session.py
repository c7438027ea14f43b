"""Sessions: calls of one session run one after the other, and a session is free only when all is clean."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from reactivex import Observable, abc
from reactivex.disposable import Disposable, SingleAssignmentDisposable

from agentscope_rx.event import AgentEvent
from agentscope_rx.interop import CallScheduler, as_error, goes_on
from agentscope_rx.state import AgentState

__all__ = ["Gate", "Session", "in_turn"]

GRACE: Final = 5.0
"""How long, in seconds, a disposed call may take to clean up before its session is freed all the same."""


class _Visit(NamedTuple):
    """Someone inside, or waiting: the loop that they live on, how they come in, and how they are given up."""

    loop: asyncio.AbstractEventLoop
    go: Callable[[], None]
    give_up: Callable[[], None]


class Gate:
    """A place for one, first come first served; its visitors may live on different event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[_Visit] = deque()
        self._inside: _Visit | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nobody is inside or waits."""
        with self._lock:
            return self._inside is None and not self._waiting

    def enter(
        self,
        loop: asyncio.AbstractEventLoop,
        go: Callable[[], None],
        give_up: Callable[[], None] = lambda: None,
    ) -> None:
        """Call `go` on `loop` when the place is free: at once if it is.

        Whoever is inside on a loop that is closed cannot leave any more: it is given up for the next one.
        """
        visit = _Visit(loop, go, give_up)
        with self._lock:
            before, self._inside = self._inside, self._inside or visit
            if before is not None:
                self._waiting.append(visit)
                if not before.loop.is_closed():
                    return
                self._inside = visit  # until `leave` lets in whose turn it is
        if before is None:
            go()
        else:
            before.give_up()
            self.leave()

    def leave(self) -> None:
        """Free the place for the next who waits; those whose loop is closed are passed over."""
        while True:
            with self._lock:
                self._inside = self._waiting.popleft() if self._waiting else None
                if self._inside is None:
                    return
                loop, go, _ = self._inside
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
    gate: Gate, body: Callable[[CallScheduler], Observable[AgentEvent]], save: Callable[[], None]
) -> Observable[AgentEvent]:
    """Run a call when its turn in the session has come.

    1. Waits for the calls before it; a call disposed while it waits never begins.
    2. When the body ends or is disposed, waits (bounded) until every task of the call has ended, saves, and
       only then frees the session; an end is forwarded after that.
    3. A call whose event loop was closed under it is saved and frees the session when the next one comes.

    Errors: those of the body (a failing `save` is added as a note), and of `save` where the body completed.
    """

    def subscribe(
        observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        assert isinstance(scheduler, CallScheduler)
        turn = _Turn(gate, body, save, observer, scheduler)
        gate.enter(scheduler.loop, turn.go, turn.give_up)
        return Disposable(turn.dispose)

    return Observable(subscribe)


class _Turn:
    """One call from its place in the queue to its end."""

    def __init__(
        self,
        gate: Gate,
        body: Callable[[CallScheduler], Observable[AgentEvent]],
        save: Callable[[], None],
        observer: abc.ObserverBase[AgentEvent],
        scheduler: CallScheduler,
    ) -> None:
        self._gate = gate
        self._body = body
        self._save = save
        self._observer = observer
        self._scheduler = scheduler
        self._subscription = SingleAssignmentDisposable()
        self._begun = False
        self._over = False

    def go(self) -> None:
        if self._over:
            self._gate.leave()
            return
        self._begun = True
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
        self._report(self._saved())

    def dispose(self) -> None:
        if self._over:
            return
        self._subscription.dispose()
        if self._begun:
            self._when_clean(self._report)
        else:
            self._over = True

    def _complete(self) -> None:
        observer = self._observer
        self._when_clean(lambda error: observer.on_completed() if error is None else observer.on_error(error))

    def _fail(self, error: Exception) -> None:
        def forward(unsaved: Exception | None) -> None:
            if unsaved is not None:
                error.add_note(f"and the session could not be saved: {unsaved!r}")
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
        self._scheduler.post(lambda: self._wait_and_release(then))  # an end may come on any thread

    def _wait_and_release(self, then: Callable[[Exception | None], None]) -> None:
        if self._scheduler.is_idle:
            self._release(then)
            return

        # A callback, and no code behind an await: a loop that is being closed cancels even what never ran.
        drained = self._scheduler.create_task(self._scheduler.drained(GRACE), detached=True)
        drained.add_done_callback(lambda _: self._release(then))

    def _release(self, then: Callable[[Exception | None], None]) -> None:
        try:
            unsaved = self._saved()
        finally:
            self._gate.leave()
        then(unsaved)

    def _saved(self) -> Exception | None:
        try:
            self._save()
        except Exception as error:
            return error
        return None

    def _report(self, unsaved: Exception | None) -> None:
        if unsaved is not None:
            context = {"message": "a call that was left could not be saved", "exception": unsaved}
            self._scheduler.loop.call_exception_handler(context)
