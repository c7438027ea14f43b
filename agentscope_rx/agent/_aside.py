"""A stream on a stack of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from reactivex import Observable, abc
from reactivex.disposable import (
    BooleanDisposable,
    CompositeDisposable,
    Disposable,
    SingleAssignmentDisposable,
)

from agentscope_rx.interop import CallScheduler
from agentscope_rx.typing import Operator

__all__ = ["aside"]

T = TypeVar("T")


def aside(scheduler: CallScheduler) -> Operator[T, T]:
    """Let what a stream brings come out in turns of the loop of its own, in order; and so leave it.

    Streams inside each other are calls inside each other, and there is an end to how deep those may be.

    Errors: those of the source.
    """

    def operator(source: Observable[T]) -> Observable[T]:
        def subscribe(
            observer: abc.ObserverBase[T], _: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            left, inner = BooleanDisposable(), SingleAssignmentDisposable()

            def soon(action: Callable[[], None]) -> None:
                def in_turn(*_: object) -> None:
                    if not left.is_disposed:
                        action()

                scheduler.schedule(in_turn)

            def leave() -> None:
                def in_turn(*_: object) -> None:
                    inner.dispose()

                scheduler.schedule(in_turn)

            inner.disposable = source.subscribe(
                lambda item: soon(partial(observer.on_next, item)),
                lambda error: soon(partial(observer.on_error, error)),
                lambda: soon(observer.on_completed),
                scheduler=scheduler,
            )
            return CompositeDisposable(left, Disposable(leave))

        return Observable(subscribe)

    return operator
