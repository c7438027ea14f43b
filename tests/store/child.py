"""A process that uses a store, and may be killed: `python -m tests.store.child MODE KIND PLACE`.

The modes of killing fork: the ones that are killed write down what was acknowledged, and this one, which is
not, prints it, a session and a number a line.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import agentscope_rx._storage
import agentscope_rx.store
from agentscope_rx.store import ABSENT, StateKey
from tests.store.backends import a_state, count_up, open_store

OURS = tuple(str(Path(part.__file__).parent) for part in (agentscope_rx.store, agentscope_rx._storage))


async def count(kind: str, place: str) -> None:
    store = open_store(kind, place)
    await count_up(store, 10)
    await store.close()


def at_every_line(kind: str, place: str) -> None:
    """For each line that a save runs, in whatever thread, a session whose second save is killed before it."""
    for number in itertools.count(1):
        name = f"line-{number}"
        acknowledged, survived = forked(partial(save_twice, kind, place, name, Fuse(number)))
        print(name, acknowledged)
        if survived:
            return


class Fuse:
    """Kills the process before the n-th line of ours that it runs once it burns."""

    def __init__(self, lines: int) -> None:
        self.lines = lines
        self.burns = False
        self._lock = threading.Lock()

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if event == "line" and self.burns:
            with self._lock:
                self.lines -= 1
                if self.lines == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        return self.trace


async def save_twice(kind: str, place: str, name: str, fuse: Fuse, ack: Callable[[], object]) -> None:
    store, key = open_store(kind, place), StateKey("ann", name, "friend")
    threading.settrace(fuse.trace)
    sys.settrace(fuse.trace)
    version = await store.save(key, a_state(key, 1), ABSENT)
    ack()
    fuse.burns = True
    await store.save(key, a_state(key, 2), version)
    fuse.burns = False
    ack()
    await store.close()


def at_any_time(kind: str, place: str) -> None:
    """Sessions that are saved again and again until they are killed."""
    for number in range(12):
        name = f"session-{number}"
        acknowledged, _ = forked(partial(save_on, kind, place, name), random.uniform(0.02, 0.08))
        print(name, acknowledged)


async def save_on(kind: str, place: str, name: str, ack: Callable[[], object]) -> None:
    store, key = open_store(kind, place), StateKey("ann", name, "friend")
    version, number = ABSENT, 0
    while True:
        number += 1
        version = await store.save(key, a_state(key, number), version, durable=number % 2 == 0)
        ack()


def forked(work: Callable[[Callable[[], object]], Any], kill_after: float | None = None) -> tuple[int, bool]:
    """Run it in a process of its own; return how often it acknowledged, and whether it survived."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        asyncio.run(work(lambda: os.write(writer, b".")))
        os._exit(0)
    os.close(writer)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as acknowledgements:
        return len(acknowledgements.read()), status == 0


if __name__ == "__main__":
    mode, *where = sys.argv[1:]
    if mode == "count":
        asyncio.run(count(*where))
    else:
        {"at every line": at_every_line, "at any time": at_any_time}[mode](*where)
