"""Where the time of a run goes, for the reader of a goal that was missed."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from pathlib import PurePath

__all__ = ["hot_spots"]


def hot_spots(run: Callable[[], object], *, lines: int = 12) -> str:
    """Return the functions in which `run` spends its own time, the most expensive first."""
    with cProfile.Profile() as profile:
        run()
    stats = pstats.Stats(profile)
    total = stats.total_tt or 1.0
    found = sorted(stats.stats.items(), key=lambda item: -item[1][2])
    rows = [
        f"{own / total:6.1%} {calls:>9} calls  {_name(*place)}"
        for place, (_, calls, own, *_) in found[:lines]
    ]
    return "\n".join(rows)


def _name(path: str, line: int, function: str) -> str:
    if path == "~":
        return function
    return f"{'/'.join(PurePath(path).parts[-2:])}:{line} {function}"
