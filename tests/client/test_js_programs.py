"""What of the browser's client has tests of its own in JavaScript, run in Node."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.nodejs import find_node

FILES = sorted((Path(__file__).parent / "js").glob("*.test.mjs"))


@pytest.mark.parametrize("file", [pytest.param(file, id=file.name.split(".")[0]) for file in FILES])
def test_the_tests_in_javascript_pass(file: Path) -> None:
    command = [find_node(), "--test", "--test-reporter=tap", str(file)]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)

    assert run.returncode == 0, run.stdout
    passed, skipped = (
        re.search(rf"^# {word} (\d+)$", run.stdout, re.MULTILINE) for word in ("pass", "skipped")
    )
    assert passed is not None
    assert skipped is not None
    assert int(passed[1]) > 0
    assert int(skipped[1]) == 0
