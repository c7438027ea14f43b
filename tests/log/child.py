"""A process that writes to a log and is killed: `python -m tests.log.child MODE KIND PLACE`.

It forks: the ones that are killed write down what was acknowledged, and this one, which is not, prints it, a
session and a number a line.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import agentscope_rx._storage
import agentscope_rx.log
from agentscope_rx.log import StreamKey
from tests.killing import Fuse, forked
from tests.log.logs import delta, open_log, text_reply

_LOG, _STORAGE = (Path(part.__file__).parent for part in (agentscope_rx.log, agentscope_rx._storage))
OURS: Final = (
    *(str(_LOG / name) for name in ("_sqlite.py", "_redis.py", "_redis_append.py")),
    *(str(_STORAGE / name) for name in ("_sqlite.py", "_threads.py")),
)
"""What writes; between two lines of the rest, nothing happens that a kill could undo."""

EVENTS: Final = text_reply(2)
CUTS: Final = (0, 3, len(EVENTS))
"""What is written at once ends here; the second time, what is oldest has to go, and the reply ends."""

MAX_LEN: Final = 3


def at_every_line(kind: str, place: str) -> None:
    """For each line that an append runs, in whatever thread, a session that is killed before it."""
    for number in itertools.count(1):
        name = f"line-{number}"
        acknowledged, survived = forked(partial(write_twice, kind, place, name, Fuse(number, OURS)))
        print(name, acknowledged)
        if survived:
            return


async def write_twice(kind: str, place: str, name: str, fuse: Fuse, ack: Callable[[], object]) -> None:
    log, key = open_log(kind, place, max_len=MAX_LEN), StreamKey("ann", name)
    threading.settrace(fuse.trace)
    sys.settrace(fuse.trace)
    await log.append(key, EVENTS[: CUTS[1]])
    ack()
    fuse.burns = True
    await log.append(key, EVENTS[CUTS[1] :])
    fuse.burns = False
    ack()
    await log.close()


def at_any_time(kind: str, place: str) -> None:
    """Sessions that are written to again and again; they kill themselves when they have for a while."""
    for number in range(10):
        name = f"session-{number}"
        acknowledged, _ = forked(partial(write_on, kind, place, name, random.uniform(0.001, 0.05)))
        print(name, acknowledged)


async def write_on(kind: str, place: str, name: str, span: float, ack: Callable[[], object]) -> None:
    log, key = open_log(kind, place), StreamKey("ann", name)
    for number in itertools.count(1):
        await log.append(key, [delta(number)])
        ack()
        if number == 5:
            # From another thread, wherever this one is by then.
            threading.Timer(span, os.kill, (os.getpid(), signal.SIGKILL)).start()


if __name__ == "__main__":
    mode, *where = sys.argv[1:]
    open_log(*where)  # so that not each of them has to import the client
    {"at every line": at_every_line, "at any time": at_any_time}[mode](*where)
