"""Row 18: many calls of one agent at once, against one alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from time import process_time

from reactivex import operators as ops

from agentscope_rx import ReActAgent, RuntimeContext
from agentscope_rx.event import AgentEvent
from agentscope_rx.testing import ScriptedModel
from benchmarks._comparison import Comparison, Rival, at_most
from benchmarks._measure import Cost, Effort
from benchmarks._profile import hot_spots

__all__ = ["ROWS", "comparisons"]

ROWS = frozenset({18})

_CALLS = 100
_ALONE = 10
"""Calls one after the other, of which the mean is the cost of one alone."""


def comparisons(effort: Effort) -> Iterator[Comparison]:
    """Yield the time per event of a hundred calls at once."""
    deltas = effort.size(1_000)
    yield Comparison(
        f"time per event, {_CALLS} calls at once, {deltas} deltas each",
        _per_event(deltas, at_once=_CALLS, in_turn=1),
        [Rival(18, "one call alone", at_most(1.3), lambda: _per_event(deltas, at_once=1, in_turn=_ALONE))],
        lambda: hot_spots(lambda: asyncio.run(_run(deltas, _CALLS, 1))),
    )


def _per_event(deltas: int, *, at_once: int, in_turn: int) -> Cost:
    def cost() -> float:
        start = process_time()
        events = asyncio.run(_run(deltas, at_once, in_turn))
        return (process_time() - start) / events

    return cost


async def _run(deltas: int, at_once: int, in_turn: int) -> int:
    """Run so many rounds of so many calls, each in a session of its own; return how many events came."""
    agent = ReActAgent("friend", model=ScriptedModel(lambda _: "token " * deltas))
    events = 0

    def see(_: AgentEvent) -> None:
        nonlocal events
        events += 1

    async def call(session: str) -> None:
        await agent.call("go", RuntimeContext(session)).pipe(ops.do_action(see))

    for turn in range(in_turn):
        await asyncio.gather(*(call(f"session-{turn}-{number}") for number in range(at_once)))
    return events
