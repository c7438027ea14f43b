"""The loop for programs that have none: one daemon thread per process, started when it is needed."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from contextlib import suppress
from typing import Any, Final

from reactivex.abc import DisposableBase

__all__ = ["private_loop"]

_DISPOSED: Final = 1.2
_CANCELLED: Final = 0.4
_JOINED: Final = 2.0
"""Seconds at exit: for what disposing ends, then for what cancelling ends, and for everything."""


class _PrivateLoop:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._abandoned: list[asyncio.AbstractEventLoop] = []
        self.live: set[DisposableBase] = set()
        """What is subscribed from threads without a loop: disposed at exit."""

    def get(self) -> asyncio.AbstractEventLoop:
        """Return the loop; start it if it does not run."""
        with self._lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run, args=(self._loop,), name="agentscope-rx-loop", daemon=True
                )
                self._thread.start()
            return self._loop

    def owns(self, loop: asyncio.AbstractEventLoop | None) -> bool:
        """Whether it is this loop: there an exit can reach nobody, since nobody waits for its thread."""
        return loop is not None and loop is self._loop

    def close(self) -> None:
        """Dispose what is subscribed, cancel what is left, wait for it, but not long."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or not thread.is_alive():
            return
        with suppress(RuntimeError):
            asyncio.run_coroutine_threadsafe(self._shut_down(loop), loop)
            thread.join(_JOINED)
        if not thread.is_alive():
            loop.close()

    async def _shut_down(self, loop: asyncio.AbstractEventLoop) -> None:
        for subscription in tuple(self.live):
            subscription.dispose()
        await _ended(_DISPOSED)
        for task in _others():
            task.cancel()
        await _ended(_CANCELLED)
        with suppress(TimeoutError):
            await asyncio.wait_for(loop.shutdown_asyncgens(), _CANCELLED)
        loop.stop()

    def forget(self) -> None:
        """In a forked child: the thread is not there any more."""
        if self._loop is not None:
            self._abandoned.append(self._loop)  # closing it here would touch what the parent uses
        self._lock = threading.Lock()
        self._loop = self._thread = None
        self.live = set()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    while True:
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            continue  # of one subscriber; the calls of all others live on this loop, too
        return


def _others() -> set[asyncio.Task[Any]]:
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


async def _ended(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while (waiting := _others()) and (left := deadline - loop.time()) > 0:
        await asyncio.wait(waiting, timeout=left)


private_loop = _PrivateLoop()
atexit.register(private_loop.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=private_loop.forget)
