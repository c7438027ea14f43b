"""Rows 1, 2, 3 and 5: a message rebuilt from its events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from agentscope_rx.event import AgentEvent
from benchmarks._comparison import Comparison, Rival, at_least, at_most
from benchmarks._measure import Cost, Effort, best, cpu_time
from benchmarks._profile import hot_spots
from benchmarks._rebuild import by_hand, ours, outline, stock
from benchmarks._stream import mixed, one_image, texts

__all__ = ["ROWS", "comparisons"]

ROWS = frozenset({1, 2, 3, 5})


def comparisons(effort: Effort) -> Iterator[Comparison]:
    """Yield the rebuilding of replies against others, then against itself at other sizes."""
    size = effort.size
    yield _rebuild("a mixed reply", mixed(size(1_000)), [_peer(12)])
    yield _rebuild("a mixed reply", mixed(size(10_000)), [_peer(25), _by_hand, _stock(12)])
    yield _rebuild("a mixed reply", mixed(size(100_000)), [_peer(100)])
    yield _rebuild("small texts", texts(size(1_800), 3), [_peer(80), _stock(60)])
    yield _linear("one text", 1.3, [texts(1, size(10_000)) for _ in range(10)], texts(1, size(100_000)))
    yield _linear("texts", 2.5, [texts(size(80), 111)], texts(size(1_800), 3))
    yield _linear(
        "an image, chunks of 3 kB",
        1.3,
        [one_image(size(500), 3_000) for _ in range(4)],
        one_image(size(2_000), 3_000),
    )


def _rebuild(
    name: str, events: Sequence[AgentEvent], rivals: Sequence[Callable[[Sequence[AgentEvent]], Rival]]
) -> Comparison:
    return Comparison(
        f"rebuild {name}: {_size(events)}",
        _per_event(ours, events),
        [rival(events) for rival in rivals],
        lambda: hot_spots(lambda: ours(events)),
    )


def _linear(
    name: str, bound: float, small: Sequence[Sequence[AgentEvent]], large: Sequence[AgentEvent]
) -> Comparison:
    """Compare the time per event with that of smaller replies, together as large: caches count alike."""
    return Comparison(
        f"time per event, {name}: {_size(large)}",
        _per_event(ours, large),
        [Rival(5, f"itself with {_size(small[0])}", at_most(bound), lambda: _per_event(ours, *small))],
        lambda: hot_spots(lambda: ours(large)),
    )


def _size(events: Sequence[AgentEvent]) -> str:
    blocks = len(ours(events).content)
    return f"{len(events)} events, {blocks} block{'s' * (blocks > 1)}"


def _per_event(rebuild: Callable[[Sequence[Any]], object], *replies: Sequence[Any]) -> Cost:
    def run() -> None:
        for events in replies:
            rebuild(events)

    events = sum(map(len, replies))
    cost = best(cpu_time(run), times=max(1, 30_000 // events))
    return lambda: cost() / events


def _peer(bound: float) -> Callable[[Sequence[AgentEvent]], Rival]:
    def rival(events: Sequence[AgentEvent]) -> Rival:
        def prepare() -> Cost:
            from benchmarks import _peer

            twins = _peer.twins(events)
            _same(_peer.outline(_peer.rebuild(twins)), outline(ours(events)))
            return _per_event(_peer.rebuild, twins)

        return Rival(1, "`Msg.append_event`", at_least(bound), prepare, peer="agentscope")

    return rival


def _by_hand(events: Sequence[AgentEvent]) -> Rival:
    def prepare() -> Cost:
        _same(by_hand(events), ours(events))
        return _per_event(by_hand, events)

    return Rival(2, "a tight loop by hand", at_least(0.3), prepare)


def _stock(bound: float) -> Callable[[Sequence[AgentEvent]], Rival]:
    def rival(events: Sequence[AgentEvent]) -> Rival:
        def prepare() -> Cost:
            _same(stock(events), ours(events))
            return _per_event(stock, events)

        return Rival(3, "stock `ops.group_by` + `flat_map(reduce)`", at_least(bound), prepare)

    return rival


def _same(theirs: object, wanted: object) -> None:
    if theirs != wanted:
        raise AssertionError("the contenders make different messages of the same events")
