"""The threads behind the stores, also when there are none any more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

SCRIPT = """
import asyncio, atexit, sys
from agentscope_rx.store import ABSENT, StateSlot
from tests.store.backends import ANN, a_state, open_store

store = open_store(sys.argv[1], sys.argv[2])
version = asyncio.run(store.save(ANN, a_state(ANN, 1), ABSENT))

async def last():
    await store.save(ANN, a_state(ANN, 2), version)
    assert (await store.load(ANN)).state.cur_iter == 2
    await store.close()
    print("saved")

atexit.register(lambda: asyncio.run(last()))
"""


@pytest.mark.parametrize("kind", ["json_file", "sqlite"])
def test_a_program_can_save_while_it_ends(kind: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", SCRIPT, kind, str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert (run.stdout, run.stderr) == ("saved\n", "")
