"""Threads for what blocks, so that no event loop has to wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from threading import Lock
from typing import Any, TypeVar

from agentscope_rx.errors import AgentScopeError

__all__ = ["Threads"]

T = TypeVar("T")


class Threads:
    """A few threads, started when they are needed; callers may live on different event loops.

    Args:
        count: how many.
        name: what the threads are called.
        closed: the error of whoever comes when they have ended.
        owner: what it says is closed.
    """

    def __init__(self, count: int, name: str, closed: type[AgentScopeError], owner: str) -> None:
        self._pool = ThreadPoolExecutor(count, name)
        self._error = closed(f"the {owner} is closed; make another one")
        self._lock = Lock()
        self._closed = False

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """Call a function on one of the threads; with one thread, in the order of the calls.

        Errors: those of the function; the one for that once closed.
        """
        return await asyncio.wrap_future(self.submit(function, *args))

    def submit(self, function: Callable[..., T], *args: Any) -> Future[T]:
        """Call a function on one of the threads, some time.

        Errors: the one for that once closed.
        """
        with self._lock:
            if self._closed:
                raise copy(self._error)
            try:
                return self._pool.submit(function, *args)
            except RuntimeError:
                # The interpreter ends and has ended the threads: who still has to save does it on their own.
                return _called(function, *args)

    async def close(self, last: Callable[[], object] = lambda: None) -> None:
        """Wait for what was submitted, call `last` (on the thread, if there is only one), end the threads."""
        with self._lock:
            already, self._closed = self._closed, True
            try:
                if not already:
                    self._pool.submit(last)
                ended = asyncio.get_running_loop().run_in_executor(None, self._pool.shutdown)
            except RuntimeError:  # the same
                _called(last).result()
                return
        await ended


def _called(function: Callable[..., T], *args: Any) -> Future[T]:
    future: Future[T] = Future()
    try:
        future.set_result(function(*args))
    except BaseException as error:
        future.set_exception(error)
    return future
