"""What holds for every operator, whatever else it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from reactivex import Observable, abc
from reactivex.disposable import Disposable
from reactivex.scheduler import VirtualTimeScheduler

from agentscope_rx import wire
from agentscope_rx.errors import ModelError
from tests.laws.operator_laws import CONVERSATION, LAWS, LONG, Law, conversation

BOOM = ValueError("boom")

EVERY = [
    pytest.param(law, id=name if len(laws) == 1 else f"{name}-{number}")
    for name, laws in LAWS.items()
    for number, law in enumerate(laws, 1)
]
every_operator = pytest.mark.parametrize("law", EVERY)
every_operator_with_a_function = pytest.mark.parametrize(
    "law", [param for param in EVERY if param.values[0].calling is not None]
)


class Feed:
    """One subscription of a source, driven by hand."""

    def __init__(self, observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None) -> None:
        self.observer = observer
        self.scheduler = scheduler
        self.released = False

    def release(self) -> None:
        self.released = True

    def send(self, *items: Any) -> None:
        for item in items:
            if not self.released:
                self.observer.on_next(item)


class Source:
    """A cold source, and what its subscribers get from it through the operator; time stands still."""

    def __init__(self, law: Law) -> None:
        self.feeds: list[Feed] = []
        self.clock = VirtualTimeScheduler()
        self.law = law
        self.pipeline: Observable[Any] = Observable(self._subscribe).pipe(law.make())

    def _subscribe(
        self, observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        feed = Feed(observer, scheduler)
        self.feeds.append(feed)
        return Disposable(feed.release)

    def subscribe(self) -> tuple[Feed, Heard]:
        heard = Heard(self.law)
        heard.subscription = self.pipeline.subscribe(heard, scheduler=self.clock)
        self.turn()
        return self.feeds[-1], heard

    def turn(self) -> None:
        """Let everything run that is due now."""
        self.clock.advance_by(1e-6)


class Heard(abc.ObserverBase[Any]):
    """What a subscriber got."""

    def __init__(self, law: Law, patience: int | None = None) -> None:
        self.law = law
        self.items: list[Any] = []
        self.ends: list[Any] = []
        self.patience = patience
        self.subscription: abc.DisposableBase = Disposable()

    def on_next(self, value: Any) -> None:
        self.items.append(self.law.shown(value))
        if len(self.items) == self.patience:
            self.subscription.dispose()

    def on_error(self, error: Exception) -> None:
        self.ends.append(error)

    def on_completed(self) -> None:
        self.ends.append("completed")


def heard(law: Law, items: Sequence[Any]) -> list[Any]:
    """What comes of a whole stream."""
    source = Source(law)
    feed, got = source.subscribe()
    feed.send(*items)
    feed.observer.on_completed()
    source.turn()
    assert got.ends == ["completed"]
    return got.items


@every_operator
def test_nothing_happens_before_somebody_subscribes(law: Law) -> None:
    source = Source(law)
    assert source.feeds == []

    source.subscribe()
    assert len(source.feeds) == 1


@every_operator
def test_the_second_subscription_gets_what_the_first_one_got(law: Law) -> None:
    source = Source(law)
    results: list[list[Any]] = []
    for _ in range(2):
        feed, got = source.subscribe()
        feed.send(*CONVERSATION)
        feed.observer.on_completed()
        source.turn()
        results.append(got.items)

    assert results[0] != [], "an entry from which nothing comes shows nothing"
    assert results[0] == results[1]


@every_operator
def test_one_operator_serves_many_streams(law: Law) -> None:
    operator = law.make()
    once = Law(lambda: operator, law.shown)

    for items in (CONVERSATION, CONVERSATION[1:14], CONVERSATION):
        assert heard(once, items) == heard(law, items)


@every_operator
def test_two_subscriptions_at_once_share_nothing(law: Law) -> None:
    source = Source(law)
    (one, left), (other, right) = source.subscribe(), source.subscribe()
    for item in CONVERSATION:
        one.send(item)
        other.send(item)
        source.turn()
    one.observer.on_completed()
    other.observer.on_completed()
    source.turn()

    assert left.items == right.items == heard(law, CONVERSATION)


@every_operator
@pytest.mark.parametrize("error", [BOOM, ModelError("gone")], ids=["foreign", "ours"])
@pytest.mark.parametrize("after", [0, 1, 8, len(CONVERSATION)])
def test_the_very_error_is_passed_on(law: Law, error: Exception, after: int) -> None:
    source = Source(law)
    feed, got = source.subscribe()
    feed.send(*CONVERSATION[:after])
    while not got.ends and not source.feeds[-1].released:  # an operator may try again
        source.feeds[-1].observer.on_error(error)
        source.turn()

    assert len(got.ends) == 1
    assert got.ends[0] is error


@every_operator
@pytest.mark.parametrize("items", [(), CONVERSATION], ids=["empty", "whole"])
def test_it_completes_when_the_source_does_and_not_before(law: Law, items: Sequence[Any]) -> None:
    source = Source(law)
    feed, got = source.subscribe()
    feed.send(*items)
    source.turn()
    assert got.ends == []

    feed.observer.on_completed()
    source.turn()
    assert got.ends == ["completed"]


@every_operator
@pytest.mark.parametrize("after", [0, 1, 7, len(CONVERSATION)])
def test_disposal_releases_the_source_at_once_and_nothing_comes_after_it(law: Law, after: int) -> None:
    source = Source(law)
    feed, got = source.subscribe()
    feed.send(*CONVERSATION[:after])
    before = len(got.items)
    got.subscription.dispose()
    assert feed.released

    feed.observer.on_next(CONVERSATION[7])
    feed.observer.on_completed()
    source.clock.advance_by(3600)  # a timer that is still armed would go off
    assert len(got.items) == before
    assert got.ends == []


@every_operator
def test_the_source_is_released_when_it_ends(law: Law) -> None:
    for end in ("on_completed", "on_error"):
        source = Source(law)
        feed, got = source.subscribe()
        feed.send(*CONVERSATION)
        getattr(feed.observer, end)(*([BOOM] if end == "on_error" else []))
        source.turn()

        assert got.ends
        assert all(each.released for each in source.feeds)


@every_operator
def test_a_subscriber_that_disposes_in_on_next_gets_no_more(law: Law) -> None:
    source = Source(law)
    got = Heard(law, patience=1)
    got.subscription = source.pipeline.subscribe(got, scheduler=source.clock)
    source.turn()
    [feed] = source.feeds
    feed.send(*CONVERSATION)
    if not feed.released:
        feed.observer.on_completed()
    source.turn()

    assert feed.released
    assert len(got.items) == 1
    assert got.ends == []


@every_operator
def test_the_source_gets_the_scheduler_of_the_subscription(law: Law) -> None:
    source = Source(law)
    feed, _ = source.subscribe()

    assert feed.scheduler is source.clock


@every_operator
def test_twenty_thousand_events_in_one_turn_need_no_stack(law: Law) -> None:
    def subscribe(
        observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        for event in LONG:
            observer.on_next(event)
        observer.on_completed()
        return Disposable()

    ends: list[Any] = []
    clock = VirtualTimeScheduler()
    Observable(subscribe).pipe(law.make()).subscribe(
        lambda _: None, ends.append, lambda: ends.append("completed"), scheduler=clock
    )
    clock.advance_by(1e-6)

    assert ends == ["completed"]


@every_operator
def test_events_are_left_as_they_were(law: Law) -> None:
    events = conversation()
    before = [wire.to_dict(event) for event in events]
    heard(law, events)

    assert [wire.to_dict(event) for event in events] == before


@every_operator_with_a_function
def test_what_a_function_of_the_users_raises_is_the_streams_error_and_frees_the_source(law: Law) -> None:
    def broken(*_: Any) -> Any:
        raise BOOM

    calling = law.calling
    assert calling is not None
    source = Source(Law(lambda: calling(broken)))
    got = Heard(law)
    got.subscription = source.pipeline.subscribe(got, scheduler=source.clock)
    for feed in source.feeds:
        feed.send(*CONVERSATION)
    source.turn()

    assert len(got.ends) == 1
    assert got.ends[0] is BOOM
    assert all(feed.released for feed in source.feeds)
