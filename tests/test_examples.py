"""Every example runs, offline, and prints what its docstring says."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_an_example_prints_what_its_docstring_says(example: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )

    assert (run.returncode, run.stderr) == (0, "")
    assert stripped(run.stdout) == stripped(promised(example))


def promised(example: Path) -> str:
    """The indented end of the docstring, below a line that begins with `Prints`."""
    doc = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8"))) or ""
    before, _, after = doc.partition("\nPrints")
    assert after, f"{example.name} does not say what it prints: {before.splitlines()[:1]}"
    return textwrap.dedent(after.partition("\n")[2])


def stripped(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]
