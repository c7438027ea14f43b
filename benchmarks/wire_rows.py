"""Rows 8 and 9: the events of a stream to JSON and back, one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

from agentscope_rx import wire
from agentscope_rx.event import AgentEvent
from benchmarks._comparison import Comparison, Rival, at_least
from benchmarks._measure import Cost, Effort, best, cpu_time
from benchmarks._profile import hot_spots
from benchmarks._stream import mixed

__all__ = ["ROWS", "comparisons"]

ROWS = frozenset({8, 9})


def comparisons(effort: Effort) -> Iterator[Comparison]:
    """Yield writing, then reading, of a mixed reply."""
    events = mixed(effort.size(10_000))
    yield _encoding(events)
    yield _decoding(events)


def _encoding(events: Sequence[AgentEvent]) -> Comparison:
    def rival(goal: float, name: str, encode: Callable[[Any], object]) -> Rival:
        def prepare() -> Cost:
            from benchmarks import _peer

            return _each(encode, _peer.twins(events))

        return Rival(8, name, at_least(goal), prepare, peer="agentscope")

    return Comparison(
        f"JSON written, a mixed reply of {len(events)} events",
        _each(wire.dumps_event, events),
        [
            rival(5, "`event.model_dump_json()`", lambda event: event.model_dump_json()),
            rival(
                10,
                "`json.dumps(event.model_dump(mode='json'))`",
                lambda event: json.dumps(event.model_dump(mode="json")),
            ),
        ],
        lambda: hot_spots(lambda: [wire.dumps_event(event) for event in events]),
    )


def _decoding(events: Sequence[AgentEvent]) -> Comparison:
    lines = [wire.dumps_event(event) for event in events]
    if [wire.loads_event(line) for line in lines] != events:
        raise AssertionError("the events that were read are not those that were written")

    def rival(goal: float, name: str, decoder: Callable[[], Callable[[bytes], object]]) -> Rival:
        def prepare() -> Cost:
            from benchmarks import _peer

            twins = _peer.twins(events)
            decode = decoder()
            theirs = [event.model_dump_json().encode() for event in twins]
            if [decode(line) for line in theirs] != twins:
                raise AssertionError("the peer does not read what it has written")
            return _each(decode, theirs)

        return Rival(9, name, at_least(goal), prepare, peer="agentscope")

    return Comparison(
        f"JSON read, a mixed reply of {len(events)} events",
        _each(wire.loads_event, lines),
        [
            rival(2.8, "pydantic's union, discriminated by `type`", _discriminated),
            rival(25, "its own union: `adapter.validate_python(json.loads(text))`", _undiscriminated),
        ],
        lambda: hot_spots(lambda: [wire.loads_event(line) for line in lines]),
    )


def _each(function: Callable[[Any], object], items: Sequence[Any]) -> Cost:
    def run() -> None:
        for item in items:
            function(item)

    return best(cpu_time(run), times=3)


def _discriminated() -> Callable[[bytes], object]:
    from agentscope.event import AgentEvent as PeerEvent
    from pydantic import Field, TypeAdapter

    return TypeAdapter(Annotated[PeerEvent, Field(discriminator="type")]).validate_json


def _undiscriminated() -> Callable[[bytes], object]:
    """Return what the peer itself does with events from its bus."""
    from agentscope.event import AgentEvent as PeerEvent
    from pydantic import TypeAdapter

    validate = TypeAdapter(PeerEvent).validate_python
    return lambda line: validate(json.loads(line))
