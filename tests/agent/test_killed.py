"""A call whose process is killed, at any step, is gone on with by another one, and nothing is done twice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from agentscope_rx import _json
from tests.store.backends import LASTING, Backend, make

ROOT: Final = Path(__file__).parents[2]


@pytest.fixture(params=LASTING)
def lasting(request: pytest.FixtureRequest) -> Iterator[Backend]:
    yield from make(request.param, request)


def test_a_killed_call_is_gone_on_with_and_no_tool_that_is_known_to_have_ended_runs_again(
    lasting: Backend, tmp_path: Path
) -> None:
    """`kill -9` before and behind each event, each save, and each effect of a tool."""
    folder = tmp_path / "notes"
    folder.mkdir()
    every = 3 if lasting.kind == "sqlite" else 5
    command = [
        sys.executable,
        "-m",
        "tests.agent.child",
        lasting.kind,
        lasting.place,
        str(folder),
        str(every),
    ]
    parent = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert (parent.returncode, parent.stderr) == (0, "")

    *killed, whole = [_json.loads(line) for line in parent.stdout.splitlines()]
    assert whole["seen"][-1] == "end"
    assert sorted(whole["done"]) == [*"abcd"]
    assert whole["again"] == []
    assert len(killed) > 60 // every
    for step in killed:
        check(step)
    # All of it has happened: nothing was stored, a tool had done its work and nobody knew, all was stored.
    assert any(step["left"]["reply"] is None for step in killed)
    assert any(len(step["done"]) > 4 for step in killed)
    assert any(step["left"]["finished"] for step in killed) or every > 3


def check(step: Any) -> None:
    """No acknowledged state is lost, no finished tool runs again, and the reply goes on under its id."""
    left, stored = step["left"], step["stored"]
    acknowledged = [line.split()[1] for line in step["seen"] if line.startswith("success")]
    assert set(acknowledged) <= set(left["results"])
    assert "end" not in step["seen"] or left["finished"]
    for done_before in left["results"].values():
        assert step["done"].count(done_before) == 1, step
    if left["reply"] is not None:
        assert {line for line in step["seen"] if "start" in line} <= {f"start {left['reply']}"}
        assert stored["reply"] == left["reply"]
        assert left["results"].items() <= stored["results"].items()
    assert stored["text"].endswith("done")
    assert sorted(stored["results"].values()) == [*"abcd"]
    assert stored["finished"]
    assert left["finished"] or step["again"][-1] == "end"
