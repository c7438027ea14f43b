"""switch_if_empty: another stream where this one is empty."""

from __future__ import annotations

from typing import TypeVar

from reactivex import Observable, abc
from reactivex.disposable import SerialDisposable, SingleAssignmentDisposable

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.typing import Operator

__all__ = ["switch_if_empty"]

A = TypeVar("A")


def switch_if_empty(other: Observable[A]) -> Operator[A, A]:
    """Go on with another stream if this one completes without an item.

    1. Items of the source are emitted as they come.
    2. If it completes without one, `other` is subscribed; if not, `other` is never touched.

    Marble:
        -------|
        -------x-y-|          switch_if_empty(-x-y-|)
    Shape:  Observable[A] → Observable[A].
    Errors: those of the source and of `other`. `ConfigurationError` at the call if that is no Observable.
    Source: Reactor's `switchIfEmpty`.
    """
    if not isinstance(other, Observable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise ConfigurationError(
            f"switch_if_empty({other!r}): give an Observable; a value is ops.default_if_empty"
        )

    def operator(source: Observable[A]) -> Observable[A]:
        def subscribe(
            observer: abc.ObserverBase[A], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            current = SerialDisposable()
            first = SingleAssignmentDisposable()
            current.disposable = first
            empty = True

            def on_next(item: A) -> None:
                nonlocal empty
                empty = False
                observer.on_next(item)

            def on_completed() -> None:
                if empty:
                    current.disposable = other.subscribe(observer, scheduler=scheduler)
                else:
                    observer.on_completed()

            first.disposable = source.subscribe(on_next, observer.on_error, on_completed, scheduler=scheduler)
            return current

        return Observable(subscribe)

    return operator
