"""retry_before_first_event: try again, but only while nothing has been said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import reactivex
from attrs import evolve
from reactivex import Observable, abc

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import ModelCallEndEvent, ModelCallStartEvent
from agentscope_rx.message import ChatUsage
from agentscope_rx.typing import Operator

__all__ = ["retry_before_first_event"]

A = TypeVar("A")


def retry_before_first_event(max_attempts: int) -> Operator[A, A]:
    """Subscribe again after a failure, as long as nothing has been emitted.

    1. There are at most `max_attempts` attempts, the first one included, as with `ops.retry`.
    2. `ModelCallStart` does not count, nor does the End of a model call that said nothing; neither is
       repeated: the attempts show as one model call, whose End has the usage of all.
    3. An attempt with another model ends the call that shows, and starts one with its own name.
    4. After anything else a failure is final, so that nothing is said twice.

    Marble:
        -M-#                  M = ModelCallStart; the first attempt
            -M-S-t-#          the second, which fails in the middle
        -M-----S-t-#          retry_before_first_event(3)
    Shape:  Observable[A] → Observable[A], of events or of anything else.
    Errors: that of the last attempt. Raises `ConfigurationError` for fewer than 1 attempt.
    """
    if type(max_attempts) is not int or max_attempts < 1:
        raise ConfigurationError(f"max_attempts is {max_attempts!r}; give an int ≥ 1, the first one included")

    def operator(source: Observable[A]) -> Observable[A]:
        def attempts(show: _Show) -> Iterator[Observable[A]]:
            for left in reversed(range(max_attempts)):
                yield _attempt(source, show, last=not left)
                if show.begun:
                    return

        return reactivex.defer(lambda _: reactivex.catch_with_iterable(attempts(_Show())))

    return operator


def _attempt(source: Observable[A], show: _Show, last: bool) -> Observable[A]:
    def subscribe(
        observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        def on_next(item: A) -> None:
            for shown in show.of(item):
                observer.on_next(shown)

        def on_error(error: Exception) -> None:
            if last:
                rest()
            observer.on_error(error)

        def on_completed() -> None:
            rest()
            observer.on_completed()

        def rest() -> None:
            for shown in show.rest():
                observer.on_next(shown)

        return source.subscribe(on_next, on_error, on_completed, scheduler=scheduler)

    return Observable(subscribe)


class _Show:
    """What is shown of the attempts: one model call, until something is said.

    Attributes:
        begun: whether something has been said.
    """

    __slots__ = ("_end", "_start", "_usage", "begun")

    def __init__(self) -> None:
        self.begun = False
        self._start: ModelCallStartEvent | None = None
        self._end: ModelCallEndEvent | None = None
        self._usage: ChatUsage | None = None

    def of(self, item: object) -> Iterator[object]:
        """Return what is shown when an item comes."""
        own = not getattr(item, "source", None)
        if self.begun:
            yield self._with_usage(item) if own and isinstance(item, ModelCallEndEvent) else item
        elif own and isinstance(item, ModelCallStartEvent):
            yield from self._restart(item)
        elif own and isinstance(item, ModelCallEndEvent) and self._start and not self._end:
            self._end = item
        else:
            self.begun = True
            yield from self.rest()
            yield item

    def rest(self) -> Iterator[object]:
        """Return the End that has been held back."""
        end, self._end = self._end, None
        if end:
            yield self._with_usage(end)

    def _restart(self, start: ModelCallStartEvent) -> Iterator[object]:
        end, self._end = self._end, None
        if self._start is None:
            yield start
        elif self._start.model_name == start.model_name:
            if end and end.usage:
                self._usage = _sum(self._usage, end.usage)
            return
        else:
            yield self._with_usage(end or ModelCallEndEvent(self._start.reply_id))
            yield start
        self._start = start

    def _with_usage(self, end: ModelCallEndEvent) -> ModelCallEndEvent:
        spent, self._usage = self._usage, None
        return evolve(end, usage=_sum(spent, end.usage)) if spent else end


def _sum(first: ChatUsage | None, second: ChatUsage | None) -> ChatUsage | None:
    return first + second if first and second else first or second
