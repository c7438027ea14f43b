"""Batches of events on their way to a Redis server."""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import Future
from threading import Lock
from typing import Any, Final, final

from attrs import Factory, frozen

from agentscope_rx._storage import Threads, connect
from agentscope_rx.errors import LogError
from agentscope_rx.log._redis_scripts import APPEND

__all__ = ["Append", "Appends"]

_PAUSES: Final = (0.05, 0.2, 0.5)
"""Seconds before a batch is sent again."""


@final
@frozen
class Append:
    """A batch, and who waits for it."""

    keys: list[str]
    events: list[bytes]
    after: str | None
    name: str = Factory(lambda: os.urandom(8).hex())
    outcome: Future[Any] = Factory(Future[Any])


class Appends:
    """Sends batches in the order in which they come, as many at once as there are.

    What a broken connection has left open is sent again under its name, which the server knows; unless the
    user's options have a `retry` of their own: then never.
    """

    def __init__(self, who: str, url: str, options: dict[str, Any], ttl: int) -> None:
        from redis import exceptions

        self._client, _ = connect(who, url, options, protocol=2, retry=None)
        self._broken = (exceptions.ConnectionError, exceptions.TimeoutError)
        self._unknown: type[Exception] = exceptions.NoScriptError
        self._pauses = () if "retry" in options else _PAUSES
        self._ttl = ttl
        self._script = self._client.register_script(APPEND).sha
        self._threads = Threads(1, "agentscope-rx-log-append", LogError, "log")
        self._lock = Lock()
        self._queue: list[Append] = []

    async def append(self, batch: Append) -> Any:
        """Send a batch; return what the script returns."""
        with self._lock:
            self._queue.append(batch)
        self._threads.submit(self._send_queued)
        return await asyncio.wrap_future(batch.outcome)

    async def close(self) -> None:
        """Wait for what has begun, and end thread and connection."""
        await self._threads.close(self._client.close)

    def _send_queued(self) -> None:
        with self._lock:
            queue, self._queue = self._queue, []
        batches = [batch for batch in queue if batch.outcome.set_running_or_notify_cancel()]
        again = False
        for pause in (*self._pauses, None):
            try:
                batches = self._send(batches, again)
            except self._broken as error:
                if pause is None:
                    for batch in batches:
                        batch.outcome.set_exception(error)
                    return
                time.sleep(pause)
                again = True
            except BaseException as error:
                for batch in batches:
                    batch.outcome.set_exception(error)
                return
            else:
                if not batches:
                    return

    def _send(self, batches: list[Append], again: bool) -> list[Append]:
        """Send batches; return those that the server did not know what to do with, and now does."""
        if not batches:
            return []
        with self._client.pipeline(transaction=False) as all_:
            for batch in batches:
                after = "?" if batch.after is None else batch.after
                arguments = [after, self._ttl, batch.name, int(again), *batch.events]
                all_.evalsha(self._script, len(batch.keys), *batch.keys, *arguments)
            answers = all_.execute(raise_on_error=False)
        left = [
            batch for batch, answer in zip(batches, answers, strict=True) if isinstance(answer, self._unknown)
        ]
        if left:
            self._client.script_load(APPEND)
        for batch, answer in zip(batches, answers, strict=True):
            if isinstance(answer, self._unknown):
                continue
            if isinstance(answer, BaseException):
                batch.outcome.set_exception(answer)
            else:
                batch.outcome.set_result(answer)
        return left
