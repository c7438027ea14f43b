"""A process that uses a store, and may be killed: `python -m tests.store.child MODE KIND PLACE`.

The modes of killing fork: the ones that are killed write down what was acknowledged, and this one, which is
not, prints it, a session and a number a line.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import agentscope_rx._storage
import agentscope_rx.store
from agentscope_rx.store import ABSENT, StateKey
from tests.killing import Fuse, forked
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
        acknowledged, survived = forked(partial(save_twice, kind, place, name, Fuse(number, OURS)))
        print(name, acknowledged)
        if survived:
            return


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


if __name__ == "__main__":
    mode, *where = sys.argv[1:]
    if mode == "count":
        asyncio.run(count(*where))
    else:
        {"at every line": at_every_line, "at any time": at_any_time}[mode](*where)
