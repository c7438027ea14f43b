"""flat_map_sequential: streams side by side, their items in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import RLock
from typing import Generic, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, SingleAssignmentDisposable

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.typing import Operator

__all__ = ["flat_map_sequential"]

A = TypeVar("A")
B = TypeVar("B")


def flat_map_sequential(f: Callable[[A], Observable[B]], max_concurrent: int | None = None) -> Operator[A, B]:
    """Run a stream for each item, side by side, and emit what they emit in the order of the items.

    1. `f(item)` is subscribed as soon as the item comes, if fewer than `max_concurrent` streams are on; else
       the item waits.
    2. The first stream that is on emits at once; what the others emit is kept until it is their turn.
    3. A stream is on until it has completed and all that it emitted has been emitted.
    4. It completes when the source and all streams have.

    Args:
        f: makes a stream from an item.
        max_concurrent: how many streams may be on; None for any number.

    Marble:
        -a-b-----|            a → ----1-2|, b → -3|
        -----1-2(3,|)
    Shape:  Observable[A] → Observable[B].
    Errors: the first one of the source or of a stream, at once, and what `f` raises; all streams are then
        disposed. `ConfigurationError` at the call for wrong arguments.
    Source: Reactor's `flatMapSequential`.
    """
    if not callable(f):
        raise ConfigurationError(f"flat_map_sequential({f!r}): give a function from an item to an Observable")
    if max_concurrent is not None and max_concurrent < 1:
        raise ConfigurationError(
            f"max_concurrent={max_concurrent!r} would run nothing; give 1 or more, or None"
        )

    def operator(source: Observable[A]) -> Observable[B]:
        def subscribe(
            observer: abc.ObserverBase[B], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            return _Run(f, max_concurrent, observer, scheduler).start(source)

        return Observable(subscribe)

    return operator


class _Stream(Generic[B]):
    __slots__ = ("done", "items", "subscription")

    def __init__(self) -> None:
        self.items: deque[B] = deque()
        self.done = False
        self.subscription = SingleAssignmentDisposable()


class _Run(Generic[A, B]):
    def __init__(
        self,
        f: Callable[[A], Observable[B]],
        max_concurrent: int | None,
        observer: abc.ObserverBase[B],
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self._f = f
        self._max = max_concurrent
        self._observer = observer
        self._scheduler = scheduler
        self._subscriptions = CompositeDisposable()
        self._waiting: deque[A] = deque()
        self._on: deque[_Stream[B]] = deque()
        self._exhausted = False
        self._failed = False
        self._busy = False
        # Streams may emit on threads of their own.
        self._lock = RLock()

    def start(self, source: Observable[A]) -> abc.DisposableBase:
        subscription = SingleAssignmentDisposable()
        self._subscriptions.add(subscription)

        def on_next(item: A) -> None:
            with self._lock:
                self._waiting.append(item)
                self._go_on()

        def on_completed() -> None:
            with self._lock:
                self._exhausted = True
                self._go_on()

        subscription.disposable = source.subscribe(
            on_next, self._fail, on_completed, scheduler=self._scheduler
        )
        return self._subscriptions

    def _fail(self, error: Exception) -> None:
        with self._lock:
            self._failed = True
            self._observer.on_error(error)

    @property
    def _over(self) -> bool:
        return self._failed or self._subscriptions.is_disposed

    def _go_on(self) -> None:
        # A loop, because a stream may complete while it is subscribed.
        if self._busy:
            return
        self._busy = True
        try:
            while not self._over and (self._emit() or self._begin()):
                pass
        finally:
            self._busy = False
        if self._exhausted and not self._over and not self._waiting and not self._on:
            self._observer.on_completed()

    def _emit(self) -> bool:
        """Emit what the first stream has kept; return whether it made room."""
        if not self._on:
            return False
        first = self._on[0]
        while first.items:
            self._observer.on_next(first.items.popleft())
        if not first.done:
            return False
        self._on.popleft()
        self._subscriptions.remove(first.subscription)
        return True

    def _begin(self) -> bool:
        """Subscribe the stream of the next item; return whether there was one, and room for it."""
        if not self._waiting or (self._max is not None and len(self._on) >= self._max):
            return False
        try:
            inner = self._f(self._waiting.popleft())
            if not isinstance(inner, abc.ObservableBase):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
                raise ConfigurationError(
                    f"flat_map_sequential()'s function returned {inner!r}; return an Observable: "
                    "of a coroutine, interop.asyncio.from_coroutine"
                )
        except Exception as error:
            self._fail(error)
            return False
        stream: _Stream[B] = _Stream()
        self._on.append(stream)
        self._subscriptions.add(stream.subscription)

        def on_next(item: B) -> None:
            with self._lock:
                if self._on[0] is stream and not stream.items:
                    self._observer.on_next(item)
                else:
                    stream.items.append(item)

        def on_completed() -> None:
            with self._lock:
                stream.done = True
                self._go_on()

        stream.subscription.disposable = inner.subscribe(
            on_next, self._fail, on_completed, scheduler=self._scheduler
        )
        return True
