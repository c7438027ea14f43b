"""Row 17: importing the library, in CPU over a Python that imports nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks._comparison import Comparison, Rival, at_most
from benchmarks._measure import Effort, process_cpu

__all__ = ["ROWS", "comparisons"]

ROWS = frozenset({17})


def comparisons(effort: Effort) -> Iterator[Comparison]:
    """Yield the import of the top level, which finds its names when they are asked for, then all of them."""
    _check()
    times = effort.size(3)
    for code in ("import agentscope_rx", "from agentscope_rx import *"):
        yield Comparison(
            f"`{code}`, without aiohttp", process_cpu(code, times=times), [_substrate(times)], _slowest
        )


def _substrate(times: int) -> Rival:
    code = "import attrs, reactivex"
    return Rival(17, f"`{code}`", at_most(1.5), lambda: process_cpu(code, times=times))


def _check() -> None:
    code = "from agentscope_rx import *; import sys; sys.exit('aiohttp' in sys.modules)"
    if subprocess.run([sys.executable, "-c", code], check=False).returncode:
        raise AssertionError("the top level imports aiohttp; import it where the first request is made")


def _slowest(lines: int = 12) -> str:
    """Say which modules take longest themselves, once attrs and reactivex are there."""
    code = "import attrs, reactivex; from agentscope_rx import *"
    command = [sys.executable, "-X", "importtime", "-c", code]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    rows = [line.removeprefix("import time:").split("|") for line in report.splitlines()[1:]]
    names = [row[2].strip() for row in rows]
    added = rows[names.index("reactivex") + 1 :]
    longest = sorted(added, key=lambda row: -int(row[0]))[:lines]
    own = sum(int(row[0]) for row in added)
    title = f"{own:>7} µs  {len(added)} modules; where there are values, attrs making a class takes 500 µs"
    return "\n".join([title, *(f"{int(time):>7} µs  {name.strip()}" for time, _, name in longest)])
