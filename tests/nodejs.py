"""Node, for what runs in browsers and for simulators; and a program in it that one can talk to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

__all__ = ["NodeProgram", "find_node", "without"]


def find_node() -> str:
    """Return the path of Node; without one the test skips, but never in CI."""
    return shutil.which("node") or without("there is no node; Node 20 or newer runs this test")


def without(reason: str) -> Any:
    """Skip for want of a part; in CI every part must be there."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


class NodeProgram:
    """A program that answers each line of JSON with one."""

    def __init__(self, script: Path) -> None:
        self._process = subprocess.Popen(
            [find_node(), str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def __enter__(self) -> NodeProgram:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.communicate()
        assert self._process.returncode == 0

    def __call__(self, do: str, /, **arguments: Any) -> Any:
        """Let the program do something; return what it answers."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["value"]
