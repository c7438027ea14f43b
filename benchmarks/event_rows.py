"""Row 7: an event made and stamped with its id and time, and the memory that it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from timeit import timeit

from agentscope_rx.event import TextBlockDeltaEvent
from agentscope_rx.identity import new_id, now
from benchmarks._comparison import Comparison, Rival, at_least
from benchmarks._measure import Effort, cpu_time, memory

__all__ = ["ROWS", "comparisons"]

ROWS = frozenset({7})

_PEER = "its pydantic event"


def comparisons(effort: Effort) -> Iterator[Comparison]:
    """Yield time, then memory."""
    times = effort.size(20_000)
    yield Comparison(
        "a text delta made and stamped: time",
        cpu_time(_ours, times=times),
        [Rival(7, _PEER, at_least(3.5), lambda: cpu_time(_peer(), times=times), peer="agentscope")],
        _parts,
    )
    yield Comparison(
        "a text delta made and stamped: memory",
        memory(_ours, times=times),
        [Rival(7, _PEER, at_least(4), lambda: memory(_peer(), times=times), peer="agentscope")],
        _parts,
    )


def _ours() -> object:
    return TextBlockDeltaEvent("reply", "text-1", "token")


def _peer() -> Callable[[], object]:
    from agentscope.event import TextBlockDeltaEvent as PeerEvent

    return lambda: PeerEvent(reply_id="reply", block_id="text-1", delta="token")


def _parts() -> str:
    """Say what the parts of making an event cost."""
    parts = {
        "all": _ours,
        "id": new_id,
        "time": now,
        "id and time given": lambda: TextBlockDeltaEvent("reply", "text-1", "token", id="1", created_at="2"),
    }
    return "\n".join(f"{timeit(run, number=100_000) * 1e4:7.0f} ns  {name}" for name, run in parts.items())
