"""What a subscriber raises is the subscriber's."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, cast, final

from reactivex import Observable, abc
from reactivex.disposable import SerialDisposable

from agentscope_rx.interop._errors import goes_on
from agentscope_rx.interop._scheduler import running_loop

__all__ = ["report", "shield"]

T = TypeVar("T")


_log = logging.getLogger("agentscope_rx")


@final
class Stream(Observable[T]):
    """A stream that is no sequence, and that ends with the one who waits for it.

    RxPY's can be indexed, so `for event in agent.call("hi")` would go on for ever; here it is a `TypeError`.
    RxPY's `run` leaves the stream running after a Ctrl-C; here it is disposed. What is
    piped behind it is such a stream, too.
    """

    __iter__: ClassVar[Any] = None

    def pipe(self, *operators: Callable[[Any], Any]) -> Any:
        """Compose operators, left to right."""
        piped: Any = super().pipe(*operators)
        return _as_stream(cast("Observable[Any]", piped)) if type(piped) is Observable else piped

    def run(self, scheduler: abc.SchedulerBase | None = None) -> T:
        """Wait for the end and return the last item."""
        subscription = SerialDisposable()

        def subscribe(
            observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            subscription.disposable = self.subscribe(observer, scheduler=scheduler)
            return subscription

        waited_for: Observable[T] = Observable(subscribe)
        try:
            return waited_for.run(scheduler)
        finally:
            subscription.dispose()


def _as_stream(source: Observable[Any]) -> Stream[Any]:
    def subscribe(
        observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        return source.subscribe(observer, scheduler=scheduler)

    return Stream(subscribe)


def shield(source: Observable[T]) -> Observable[T]:
    """Let a subscriber that raises end its own subscription, and nothing else.

    1. Items, completion and errors pass.
    2. What the subscriber raises goes to the exception handler of the running loop; its subscription is
       disposed, so the source is released; it gets nothing more.
    3. `SystemExit` and `KeyboardInterrupt` release the source, too, and go on where a program of the
       user's runs the loop.

    An operator: it protects the subscribers of a shared stream from each other, one `shield` each:
    `shared.pipe(shield).subscribe(…)`.

    Errors: those of the source.
    """

    def subscribe(
        observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        subscription = SerialDisposable()

        def failed(where: str, error: BaseException) -> None:
            subscription.dispose()
            if goes_on(error):
                raise error
            report(f"a subscriber raised in {where}: its subscription is disposed", error)

        def on_next(item: T) -> None:
            if subscription.is_disposed:
                return
            try:
                observer.on_next(item)
            except BaseException as error:
                failed("on_next", error)

        def on_error(error: Exception) -> None:
            if subscription.is_disposed:
                return
            try:
                observer.on_error(error)
            except BaseException as raised:
                failed("on_error, or has none" if raised is error else "on_error", raised)

        def on_completed() -> None:
            if subscription.is_disposed:
                return
            try:
                observer.on_completed()
            except BaseException as error:
                failed("on_completed", error)

        subscription.disposable = source.subscribe(on_next, on_error, on_completed, scheduler=scheduler)
        return subscription

    return Stream(subscribe)


def report(message: str, error: BaseException) -> None:
    """Tell of an exception that has nobody to go to."""
    loop = running_loop()
    if loop is None:
        _log.error(message, exc_info=error)
    else:
        loop.call_exception_handler({"message": message, "exception": error})
