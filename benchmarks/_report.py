"""The table of the ratios, for the terminal, as JSON, and in the README."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks._comparison import Result

__all__ = ["HEADER", "facts", "line", "reasons", "save"]

_HERE = Path(__file__).parent
_MARK = "<!-- Below this line `make bench` writes. -->\n"
_PACKAGES = ("agentscope-rx", "reactivex", "attrs", "cattrs", "msgspec", "agentscope", "pydantic")

HEADER = "| row | benchmark | against | goal | reached | quartiles | met |\n|---|---|---|---|---|---|---|"


def line(result: Result) -> str:
    """Return the result's line of the table."""
    reached = result.reached
    cells = (
        str(result.row),
        result.benchmark,
        result.against,
        result.goal,
        f"**{_short(reached.median)}**",
        f"{_short(reached.low)} – {_short(reached.high)}",
        "yes" if result.is_met else "**no**",
    )
    return f"| {' | '.join(cells)} |"


def _short(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.3g}"


def reasons(results: Iterable[Result]) -> list[str]:
    """Return a paragraph for each goal that was missed, with what takes the time."""
    return [
        f"Row {result.row}, {result.benchmark}, against {result.against}: "
        f"{_short(result.reached.median)}, goal {result.goal}.\n\n```\n{result.why}\n```"
        for result in results
        if not result.is_met
    ]


def facts() -> dict[str, str]:
    """Return what the figures depend on."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        platform.python_implementation(): platform.python_version(),
        platform.system(): f"{platform.machine()} with {os.cpu_count()} cores",
        **{name: version(name) for name in _PACKAGES},
    }


def save(results: Sequence[Result], command: str) -> None:
    """Write the table into the README, and all of it as JSON."""
    about = facts()
    data = {"command": command, "facts": about, "results": [asdict(result) for result in results]}
    (_HERE / "results.json").write_text(
        json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    readme = _HERE / "README.md"
    head, _, _ = readme.read_text(encoding="utf-8").partition(_MARK)
    short = reasons(results)
    parts = [
        f"## The newest table\n\n`{command}`, {results[0].rounds} rounds; "
        + ", ".join(f"{name} {value}" for name, value in about.items())
        + ".",
        "\n".join([HEADER, *map(line, results)]),
        *(["## Short of the goal", *short] if short else []),
    ]
    readme.write_text(f"{head}{_MARK}\n" + "\n\n".join(parts) + "\n", encoding="utf-8")
