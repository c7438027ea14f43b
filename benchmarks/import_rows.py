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
    """Yield the import of the top level, after a check that it leaves the network client alone."""
    _check()
    times = effort.size(3)
    yield Comparison(
        "`import agentscope_rx`, without aiohttp",
        process_cpu("import agentscope_rx", times=times),
        [
            Rival(
                17,
                "`import attrs, reactivex`",
                at_most(1.5),
                lambda: process_cpu("import attrs, reactivex", times=times),
            )
        ],
        _slowest,
    )


def _check() -> None:
    code = "import agentscope_rx, sys; sys.exit('aiohttp' in sys.modules)"
    if subprocess.run([sys.executable, "-c", code], check=False).returncode:
        raise AssertionError(
            "`import agentscope_rx` imports aiohttp; import it where the first request is made"
        )


def _slowest(lines: int = 12) -> str:
    """Say which modules take longest themselves, once attrs and reactivex are there."""
    command = [sys.executable, "-X", "importtime", "-c", "import attrs, reactivex; import agentscope_rx"]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    rows = [line.removeprefix("import time:").split("|") for line in report.splitlines()[1:]]
    names = [row[2].strip() for row in rows]
    added = rows[names.index("reactivex") + 1 :]
    longest = sorted(added, key=lambda row: -int(row[0]))[:lines]
    return "\n".join(f"{int(own):>7} µs  {name.strip()}" for own, _, name in longest)
