"""How a stage listens to its source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from reactivex import Observable, abc

__all__ = ["attach"]

A = TypeVar("A")

_subscribe: Final[Any] = Observable[Any].subscribe


@abc.ObserverBase.register
class _Listener:
    """An observer that is its three functions, with nothing in front of them."""

    __slots__ = ("on_completed", "on_error", "on_next")

    def __init__(
        self,
        on_next: Callable[[Any], object],
        on_error: Callable[[Exception], None],
        on_completed: Callable[[], None],
    ) -> None:
        self.on_next = on_next
        self.on_error = on_error
        self.on_completed = on_completed


def attach(
    source: Observable[A],
    on_next: Callable[[A], object],
    on_error: Callable[[Exception], None],
    on_completed: Callable[[], None],
    scheduler: abc.SchedulerBase | None,
) -> abc.DisposableBase:
    """Subscribe a stage to its source, from within the subscription to the stage.

    `source.subscribe` would put an observer between them that ignores what comes after the end, and disposes
    then. The stage's subscriber is behind such an observer already, and disposes what this returns. Without
    the second one a stage is 1.1 times (a fold) to 1.4 times (one that passes events on) faster.
    """
    listener: Any = _Listener(on_next, on_error, on_completed)
    if type(source).subscribe is not _subscribe:  # a source with a way of its own
        return source.subscribe(listener, scheduler=scheduler)
    return source._subscribe_core(listener, scheduler)  # pyright: ignore[reportPrivateUsage]
