"""The scheduler of one call: RxPY's only subscriber context, so it carries the call's scope."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar, copy_context
from copy import copy
from typing import Any, Final, Self, TypeVar

from reactivex import Observable, abc, typing
from reactivex.disposable import Disposable, SerialDisposable
from reactivex.scheduler.eventloop import AsyncIOScheduler

__all__ = ["CallScheduler", "occupied", "running_loop"]

T = TypeVar("T")
S = TypeVar("S")

_LAST_CHANCE: Final = 0.1
"""Seconds that a task has to end after `drained` cancelled it."""

occupied: Final[ContextVar[frozenset[Any]]] = ContextVar("agentscope_rx_occupied", default=frozenset())
"""What the calls occupy that wait for the code that runs here; nothing in a subscriber's code."""

_inside: ContextVar[CallScheduler | None] = ContextVar("agentscope_rx_call", default=None)
_detached: set[asyncio.Task[Any]] = set()


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs on this thread, or None."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class CallScheduler(AsyncIOScheduler):
    """Runs everything of one call on one event loop, and knows the tasks of the call.

    Attributes:
        loop: the event loop of the call.
        gate: closed (cleared) while a bounded reader lags; whoever makes events waits for it between two.
        tasks: what runs for this call and for the calls inside it.
        stopping: those of them that were told to end, and are cleaning up.
        parent: the scope of the call that this one belongs to, or None.
        context: the context variables of the call.
        inside: what the call and those that wait for it occupy: to wait for that in it is a deadlock.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, parent: CallScheduler | None = None) -> None:
        super().__init__(loop)
        self.loop = loop
        self.parent = parent
        self.tasks: set[asyncio.Task[Any]] = set()
        self.stopping: set[asyncio.Task[Any]] = set()
        self.context: Context = copy_context()
        self.inside: frozenset[Any] = frozenset()
        self._take: Callable[[BaseException], None] | None = None
        if parent is None:
            self.gate = asyncio.Event()
            self.gate.set()
        else:
            self.gate = parent.gate
            self.inside = parent.inside

    @property
    def is_current(self) -> bool:
        """Whether this thread is running the call's loop."""
        return running_loop() is self.loop

    @contextmanager
    def entered(self) -> Generator[None]:
        """Make what is started in the block part of the call: its tasks and callbacks inherit it."""
        token = _inside.set(self)
        self.context = copy_context()
        try:
            yield
        finally:
            _inside.reset(token)

    @property
    def _is_entered(self) -> bool:
        entered = _inside.get()
        return entered is not None and entered.tasks is self.tasks  # it, or a part of it

    def create_task(self, coro: Coroutine[Any, Any, T], *, detached: bool = False) -> asyncio.Task[T]:
        """Run a coroutine as part of the call, with the call's context variables.

        A `detached` task is not waited for by this call's `drained`, but by those of the calls around it:
        for the clean-up that itself waits for `drained`.
        """
        # Disposing comes from anywhere: what it starts must still see the variables of the call.
        context = copy_context() if self._is_entered else self.context.copy()
        task = self.loop.create_task(coro, context=context)
        scope = self
        if detached:
            _detached.add(task)
            task.add_done_callback(_detached.discard)
            scope = self.parent
        while scope is not None:
            scope.tasks.add(task)
            task.add_done_callback(scope.tasks.discard)
            scope = scope.parent
        return task

    def part(self, take: Callable[[BaseException], None]) -> Self:
        """Return the scheduler for a part of the call: what escapes from that goes to `take`."""
        part = copy(self)
        part._take = take
        return part

    def escaped(self, error: BaseException) -> None:
        """Let whoever contains this part of the call end it with an error that nobody has caught.

        Errors: raises it, if nobody does.
        """
        if self._take is None:
            raise error
        self._take(error)

    def invoke_action(self, action: typing.ScheduledAction[S], state: S | None = None) -> abc.DisposableBase:
        """Run a scheduled action; what it raises ends the part of the call that has scheduled it."""
        try:
            return super().invoke_action(action, state)
        except BaseException as error:
            self.escaped(error)
            return Disposable()

    async def drained(self, grace: float = 5.0) -> bool:
        """Wait until all tasks but the caller have ended; after `grace` seconds cancel what is left.

        Returns False if something ignored even that: it is abandoned.
        """
        deadline = self.loop.time() + grace
        while waiting := self._others():
            left = deadline - self.loop.time()
            if left <= 0:
                for task in waiting:
                    task.cancel()
                await asyncio.wait(waiting, timeout=_LAST_CHANCE)
                return not self._others()
            await asyncio.wait(waiting, timeout=left)
        return True

    def note_stopping(self, task: asyncio.Task[Any]) -> None:
        """Note that a task was told to end."""
        scope = self
        while scope is not None:
            scope.stopping.add(task)
            task.add_done_callback(scope.stopping.discard)
            scope = scope.parent

    async def cleaned(self, grace: float = 5.0) -> None:
        """Wait until the tasks that were told to end have ended, for `grace` seconds at most."""
        if waiting := self.stopping - {asyncio.current_task()}:
            await asyncio.wait(waiting, timeout=grace)

    @property
    def is_idle(self) -> bool:
        """Whether no task of the call runs."""
        return not self.tasks

    def count_out(self, task: asyncio.Task[Any]) -> None:
        """Wait no more for a task that has nothing left to do but to say so."""
        scope = self
        while scope is not None:
            scope.tasks.discard(task)
            scope = scope.parent

    def _others(self) -> set[asyncio.Task[Any]]:
        return self.tasks - {asyncio.current_task()}

    def home(self, source: Observable[T]) -> Observable[T]:
        """Bring a stream back to the call's loop and scheduler, whatever operators brought instead."""

        def subscribe(
            observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            home = scheduler if isinstance(scheduler, CallScheduler) else self

            def begin(_: abc.SchedulerBase, __: object = None) -> abc.DisposableBase:
                return source.subscribe(observer, scheduler=home)

            return begin(home) if home.is_current else home.schedule(begin)

        return Observable(subscribe)

    def post(self, action: Callable[[], object]) -> None:
        """Run an action on the call's loop: now if this is its thread, else soon."""
        if self.is_current:
            action()
        else:
            with suppress(RuntimeError):  # the loop is closed: nothing of the call is left
                self.loop.call_soon_threadsafe(action)

    def schedule(self, action: typing.ScheduledAction[S], state: S | None = None) -> abc.DisposableBase:
        """Run an action in the loop's next turn."""
        if self.is_current:
            return super().schedule(action, state)
        return self._from_thread(lambda: self.schedule(action, state))

    def schedule_relative(
        self, duetime: typing.RelativeTime, action: typing.ScheduledAction[S], state: S | None = None
    ) -> abc.DisposableBase:
        """Run an action after a time."""
        if self.is_current:
            return super().schedule_relative(duetime, action, state)
        return self._from_thread(lambda: self.schedule_relative(duetime, action, state))

    def _from_thread(self, schedule: Callable[[], abc.DisposableBase]) -> abc.DisposableBase:
        inner = SerialDisposable()

        def start() -> None:
            if not inner.is_disposed:
                inner.disposable = schedule()

        self.post(start)
        return Disposable(lambda: self.post(inner.dispose))
