"""A place for one: calls of one session come in one after the other."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Gate"]


class _Visit(NamedTuple):
    """Someone inside, or waiting: the loop that they live on, how they come in, and how they are given up."""

    loop: asyncio.AbstractEventLoop
    go: Callable[[], None]
    give_up: Callable[[], None]


class Gate:
    """A place for one, first come first served; its visitors may live on different event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[_Visit] = deque()
        self._inside: _Visit | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nobody is inside or waits."""
        with self._lock:
            return self._inside is None and not self._waiting

    def enter(
        self,
        loop: asyncio.AbstractEventLoop,
        go: Callable[[], None],
        give_up: Callable[[], None] = lambda: None,
        *,
        first: bool = False,
    ) -> None:
        """Call `go` on `loop` when the place is free: at once if it is; with `first`, before all who wait.

        Whoever is inside on a loop that is closed cannot leave any more: it is given up for the next one.
        """
        visit = _Visit(loop, go, give_up)
        with self._lock:
            before, self._inside = self._inside, self._inside or visit
            if before is not None:
                (self._waiting.appendleft if first else self._waiting.append)(visit)
                if not before.loop.is_closed():
                    return
                self._inside = visit  # until `leave` lets in whose turn it is
        if before is None:
            go()
        else:
            before.give_up()
            self.leave()

    def leave(self) -> None:
        """Free the place for the next who waits; those whose loop is closed are passed over."""
        while True:
            with self._lock:
                self._inside = self._waiting.popleft() if self._waiting else None
                if self._inside is None:
                    return
                loop, go, _ = self._inside
            try:
                loop.call_soon_threadsafe(go)
            except RuntimeError:
                continue
            return
