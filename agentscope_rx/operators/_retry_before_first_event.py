"""retry_before_first_event: try again, but only while nothing has been said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import reactivex
from attrs import evolve
from reactivex import Observable, abc, operators as ops

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import ModelCallEndEvent, ModelCallStartEvent
from agentscope_rx.message import ChatUsage
from agentscope_rx.typing import Operator

__all__ = ["retry_before_first_event"]

A = TypeVar("A")


def _at_once(_: Exception, __: int) -> float | None:
    return 0


def retry_before_first_event(
    max_attempts: int, *, wait: Callable[[Exception, int], float | None] = _at_once
) -> Operator[A, A]:
    """Subscribe again after a failure, as long as nothing has been emitted.

    1. There are at most `max_attempts` attempts, the first one included, as with `ops.retry`.
    2. `ModelCallStart` does not count, nor does the End of a model call that said nothing; neither is
       repeated: the attempts show as one model call, whose End has the usage of all.
    3. An attempt with another model ends the call that shows, and starts one with its own name.
    4. After anything else a failure is final, so that nothing is said twice.
    5. `wait` says of a failure, and of how many there were, how long to wait for the next attempt; None if
       there is none. `model.backoff` is one: it waits only where waiting can help.

    Marble:
        -M-#                  M = ModelCallStart; the first attempt
            -M-S-t-#          the second, which fails in the middle
        -M-----S-t-#          retry_before_first_event(3)
    Shape:  Observable[A] → Observable[A], of events or of anything else.
    Units:  `wait` returns seconds; they pass on the subscriber's scheduler.
    Errors: that of the last attempt, and what `wait` raises. `ConfigurationError` for fewer than 1 attempt.
    """
    if type(max_attempts) is not int or max_attempts < 1:
        raise ConfigurationError(f"max_attempts is {max_attempts!r}; give an int ≥ 1, the first one included")

    def operator(source: Observable[A]) -> Observable[A]:
        def attempts(plan: _Plan) -> Iterator[Observable[A]]:
            attempt = _attempt(source, plan)
            yield attempt
            while plan.pause is not None:
                yield _after(plan.pause, attempt)

        return reactivex.defer(
            lambda _: reactivex.catch_with_iterable(attempts(_Plan(max_attempts - 1, wait)))
        )

    return operator


class _Plan:
    """How the attempts follow each other.

    Attributes:
        show: what is shown of them.
        pause: seconds until the next one; None if there is none.
    """

    __slots__ = ("_failures", "_left", "_wait", "pause", "show")

    def __init__(self, left: int, wait: Callable[[Exception, int], float | None]) -> None:
        self._left = left
        self._wait = wait
        self._failures = 0
        self.show = _Show()
        self.pause: float | None = None

    def fail(self, error: Exception) -> None:
        """Decide what follows a failure."""
        self._failures += 1
        self.pause = None
        if self._left and not self.show.begun:
            self._left -= 1
            self.pause = self._wait(error, self._failures)


def _after(seconds: float, attempt: Observable[A]) -> Observable[A]:
    if seconds <= 0:
        return attempt
    return reactivex.timer(seconds).pipe(ops.flat_map(lambda _: attempt))


def _attempt(source: Observable[A], plan: _Plan) -> Observable[A]:
    show = plan.show

    def subscribe(
        observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        def on_next(item: A) -> None:
            for shown in show.of(item):
                observer.on_next(shown)

        def on_error(error: Exception) -> None:
            try:
                plan.fail(error)
            except Exception as raised:
                error = raised
            if plan.pause is None:
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
