"""A stage listens to its source without an observer of RxPY's in front of it; what that guards, holds."""

from __future__ import annotations

from typing import Any

from reactivex import Observable
from reactivex.disposable import Disposable
from reactivex.subject import Subject

from agentscope_rx.event import TextBlockDeltaEvent
from agentscope_rx.operators import map_type
from tests.operators.marbles import LEGEND

UPPER = map_type(TextBlockDeltaEvent, lambda event: event)


def seen(source: Observable[Any]) -> list[Any]:
    items: list[Any] = []
    source.pipe(UPPER).subscribe(items.append, items.append, lambda: items.append("completed"))
    return items


def test_nothing_passes_after_the_end() -> None:
    def subscribe(observer: Any, _: object = None) -> Disposable:
        observer.on_next(LEGEND["a"])
        observer.on_completed()
        observer.on_next(LEGEND["b"])
        observer.on_error(ValueError("late"))
        observer.on_completed()
        return Disposable()

    assert seen(Observable(subscribe)) == [LEGEND["a"], "completed"]


def test_the_source_is_released_at_the_end() -> None:
    released: list[str] = []

    def subscribe(observer: Any, _: object = None) -> Disposable:
        observer.on_completed()
        return Disposable(lambda: released.append("released"))

    seen(Observable(subscribe))

    assert released == ["released"]


def test_what_subscribing_raises_is_the_error_of_the_stream() -> None:
    error = ValueError("no connection")

    def subscribe(observer: Any, _: object = None) -> Disposable:
        raise error

    assert seen(Observable(subscribe)) == [error]


def test_a_subject_takes_the_stage_as_any_observer() -> None:
    subject: Subject[Any] = Subject()
    items = seen(subject)

    subject.on_next(LEGEND["a"])
    subject.on_completed()

    assert items == [LEGEND["a"], "completed"]


def test_a_source_that_subscribes_in_a_way_of_its_own_does_so() -> None:
    class Counted(Observable[Any]):
        subscriptions = 0

        def subscribe(self, *arguments: Any, **named: Any) -> Any:
            Counted.subscriptions += 1
            return super().subscribe(*arguments, **named)

    def subscribe(observer: Any, _: object = None) -> Disposable:
        observer.on_next(LEGEND["a"])
        observer.on_completed()
        return Disposable()

    assert seen(Counted(subscribe)) == [LEGEND["a"], "completed"]
    assert Counted.subscriptions == 1
