"""`python -m benchmarks`: measure, print the table, and keep it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from benchmarks import _environment


def main(arguments: list[str]) -> None:
    """Measure the rows that are asked for."""
    options = _options(arguments)
    _environment.enter(arguments)

    # Only here is agentscope_rx, and what it needs, sure to be installed.
    from benchmarks import _report
    from benchmarks._comparison import Result, measure
    from benchmarks._measure import Effort
    from benchmarks.rows import GROUPS

    effort = Effort(rounds=3, scale=0.1) if options.quick else Effort()
    wanted = options.rows or frozenset().union(*(group.ROWS for group in GROUPS))

    def results() -> Iterator[Result]:
        for group in GROUPS:
            if group.ROWS & wanted:
                for comparison in group.comparisons(effort):
                    yield from measure(comparison, wanted, effort.rounds)

    print(_report.HEADER)
    found = []
    for result in results():
        print(_report.line(result), flush=True)
        found.append(result)
    found.sort(key=lambda result: result.row)
    for reason in _report.reasons(found):
        print(f"\n{reason}")
    if not (options.rows or options.quick):
        _report.save(found, "python -m benchmarks")


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--rows",
        type=lambda text: frozenset(map(int, text.split(","))),
        help="only these rows of the table of goals, as 1,7; the README stays as it is",
    )
    parser.add_argument(
        "--quick", action="store_true", help="three rounds at a tenth of the size; the README stays as it is"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
