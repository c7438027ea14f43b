"""One of ours against its rivals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from benchmarks._measure import Cost, Spread, interleave

__all__ = ["Comparison", "Goal", "Result", "Rival", "at_least", "at_most", "measure"]


@dataclass(frozen=True)
class Goal:
    """What a ratio shall be: so much more than one, or at most so much."""

    bound: float
    upwards: bool

    def __str__(self) -> str:
        return f"≥ {self.bound:g}×" if self.upwards else f"≤ {self.bound:g}"

    def ratio(self, ours: float, rival: float) -> float:
        """Return how many times cheaper than the rival ours is, or, downwards, how many times dearer."""
        return rival / ours if self.upwards else ours / rival

    def is_met(self, ratio: float) -> bool:
        """Return whether the ratio is good enough."""
        return ratio >= self.bound if self.upwards else ratio <= self.bound


def at_least(bound: float) -> Goal:
    """Return the goal that the rival costs so many times what ours does."""
    return Goal(bound, upwards=True)


def at_most(bound: float) -> Goal:
    """Return the goal that ours costs at most so many times what the rival does."""
    return Goal(bound, upwards=False)


@dataclass(frozen=True)
class Rival:
    """What ours is compared with.

    Attributes:
        row: the row of the table of goals that it stands for.
        name: what it is.
        goal: what the ratio shall be.
        prepare: builds its data and returns its cost; a peer is imported in there, not before.
        peer: the package that it comes from, which only the peers' environment has; None if it is no peer.
    """

    row: int
    name: str
    goal: Goal
    prepare: Callable[[], Cost]
    peer: str | None = None

    def __str__(self) -> str:
        return self.name if self.peer is None else f"{self.peer} {version(self.peer)}: {self.name}"


@dataclass(frozen=True)
class Comparison:
    """What is measured, ours, and the rivals.

    Attributes:
        benchmark: what is done, and how much of it.
        ours: our cost.
        rivals: one or more.
        why: says where our time goes, for a goal that is missed.
    """

    benchmark: str
    ours: Cost
    rivals: Sequence[Rival]
    why: Callable[[], str]


@dataclass(frozen=True)
class Result:
    """What came out of one rival."""

    row: int
    benchmark: str
    against: str
    goal: str
    reached: Spread
    is_met: bool
    rounds: int
    why: str | None = None


def measure(comparison: Comparison, rows: frozenset[int], rounds: int) -> Iterator[Result]:
    """Measure ours and the rivals of the wanted rows side by side."""
    rivals = [rival for rival in comparison.rivals if rival.row in rows]
    if not rivals:
        return
    ours, *theirs = interleave([comparison.ours, *(rival.prepare() for rival in rivals)], rounds)
    for rival, costs in zip(rivals, theirs, strict=True):
        goal = rival.goal
        reached = Spread.of([goal.ratio(*pair) for pair in zip(ours, costs, strict=True)])
        is_met = goal.is_met(reached.median)
        why = None if is_met else comparison.why()
        yield Result(rival.row, comparison.benchmark, str(rival), str(goal), reached, is_met, rounds, why)
