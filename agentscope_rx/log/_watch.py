"""A thread that looks for what others have written, as long as somebody follows."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Final

from agentscope_rx.log._tail import Tails

__all__ = ["Watch"]

_PAUSE: Final = 0.2
"""Seconds after a look that has failed."""


class Watch:
    """Calls `look` again and again while there are tails.

    Where it fails, everyone who follows looks for himself, and fails in his turn, or finds that all is well.

    Args:
        name: what the thread is called.
        tails: what there is to follow.
        look: waits for news, or returns at once.
        interval: seconds between two looks.
    """

    def __init__(self, name: str, tails: Tails, look: Callable[[], object], interval: float) -> None:
        self._name = name
        self._tails = tails
        self._look = look
        self._interval = interval
        self._lock = Lock()
        self._over = Event()
        self._thread: Thread | None = None

    def begin(self) -> None:
        """Look, from now on; called behind the making of a tail."""
        with self._lock:
            if self._thread is None and not self._over.is_set():
                self._thread = Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def end(self) -> Thread | None:
        """Look no more; return the thread that may still do."""
        with self._lock:
            self._over.set()
            return self._thread

    def _run(self) -> None:
        while not self._is_done():
            try:
                self._look()
            except Exception:
                self._tails.clear()
                self._over.wait(_PAUSE)
            self._over.wait(self._interval)

    def _is_done(self) -> bool:
        with self._lock:
            if self._over.is_set() or not self._tails.all():
                self._thread = None
                return True
            return False
