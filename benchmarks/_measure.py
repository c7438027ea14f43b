"""Costs of contenders, taken in interleaved rounds.

The clock of a shared machine drifts by a factor of two within minutes, so that only what is taken side by
side can be compared: every round measures each contender once, and the ratio is taken within the round.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from time import process_time
from typing import TypeAlias

__all__ = ["Cost", "Effort", "Spread", "best", "cpu_time", "interleave", "memory", "process_cpu"]

Cost: TypeAlias = Callable[[], float]
"""Measures its contender once: seconds, or bytes."""


@dataclass(frozen=True)
class Effort:
    """How long to measure: the number of rounds, and the part of each size that is used."""

    rounds: int = 9
    scale: float = 1.0

    def size(self, full: int, least: int = 1) -> int:
        """Return a size, scaled."""
        return max(least, round(full * self.scale))


@dataclass(frozen=True)
class Spread:
    """The median of some values, and their quartiles."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the quartiles of at least two values."""
        return cls(*statistics.quantiles(values, n=4, method="inclusive"))


def cpu_time(run: Callable[[], object], *, times: int = 1) -> Cost:
    """Return the cost of `run` in seconds of CPU, as the mean of `times` runs."""

    def cost() -> float:
        start = process_time()
        for _ in repeat(None, times):
            run()
        return (process_time() - start) / times

    return cost


def best(cost: Cost, *, times: int) -> Cost:
    """Return the least of `times` costs: of a run that nobody disturbed, and whose data are in the cache."""
    return lambda: min(cost() for _ in range(times))


def memory(make: Callable[[], object], *, times: int) -> Cost:
    """Return the cost of what `make` returns in bytes, all that it alone holds included."""

    def cost() -> float:
        kept: list[object] = [None] * times
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for index in range(times):
                kept[index] = make()
            return (tracemalloc.get_traced_memory()[0] - before) / times
        finally:
            tracemalloc.stop()

    return cost


def process_cpu(code: str, *, times: int = 1) -> Cost:
    """Return the cost of a Python process that runs `code`, beyond one that runs nothing, in CPU seconds."""

    # With bytecode cached, as it is for whoever imports a library twice.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run(code: str) -> float:
        process = subprocess.Popen([sys.executable, "-c", code], env=environment)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, code)
        return used.ru_utime + used.ru_stime

    return lambda: sum(run(code) - run("pass") for _ in range(times)) / times


def interleave(costs: Sequence[Cost], rounds: int) -> list[list[float]]:
    """Return each contender's costs, one a round; every second round goes backwards, the first is warm-up.

    The collector runs as it would in a program, but not over what the benchmark itself keeps.
    """
    taken: list[list[float]] = [[] for _ in costs]
    gc.collect()
    gc.freeze()
    try:
        for round_ in range(rounds + 1):
            contenders = list(zip(costs, taken, strict=True))
            for cost, values in contenders if round_ % 2 else reversed(contenders):
                gc.collect()
                value = cost()
                if round_:
                    values.append(value)
    finally:
        gc.unfreeze()
    return taken
