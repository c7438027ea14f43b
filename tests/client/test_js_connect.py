"""The browser's connection, run in Node against a server on this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.nodejs import find_node


def test_the_connection_keeps_what_it_says() -> None:
    file = Path(__file__).parent / "js" / "connect.test.mjs"
    run = subprocess.run([find_node(), "--test", str(file)], capture_output=True, text=True, timeout=120)

    assert run.returncode == 0, run.stdout
    assert "# skipped 0" in run.stdout or "ℹ skipped 0" in run.stdout
