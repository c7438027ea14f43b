"""A SQLite database that one thread uses, with group commit."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from attrs import frozen

from agentscope_rx._storage._threads import Threads
from agentscope_rx.errors import AgentScopeError

__all__ = ["Database"]

T = TypeVar("T")


@frozen
class _Write:
    """What is to be done inside a transaction, and who waits for it."""

    run: Callable[[sqlite3.Connection], Any]
    durable: bool
    outcome: Future[Any]


class Database:
    """A file with some tables of ours in it; there may be others, and other processes that use it.

    1. One thread has the one connection. Writes that come while it is busy are one transaction, so that many
       that come at once wait for the disk once.
    2. A write-ahead log: a kill undoes nothing that was committed; a loss of power nothing that was
       `durable` (`synchronous=FULL`, else `NORMAL`).
    3. A write that raises an error of ours has changed nothing, and fails alone. After any other, each
       write of its transaction is done in one of its own.

    Args:
        path: the file; made, with its folder, when it is needed.
        tables: the statements that make the tables, if they are not there.
        threads: one thread.
        timeout: seconds to wait for another process that writes.
    """

    def __init__(
        self, path: str | os.PathLike[str], tables: tuple[str, ...], threads: Threads, timeout: float
    ) -> None:
        self._path = Path(path).absolute()
        self._tables = tables
        self._threads = threads
        self._timeout = timeout
        self._lock = Lock()
        self._queue: list[_Write] = []
        self._connection: sqlite3.Connection | None = None
        self._synchronous = ""

    async def read(self, run: Callable[[sqlite3.Connection], T]) -> T:
        """Do something that writes nothing."""
        return await asyncio.wrap_future(self.submit(run))

    def submit(self, run: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Do something that writes nothing, some time."""
        return self._threads.submit(lambda: run(self._open()))

    async def write(
        self,
        run: Callable[[sqlite3.Connection], Any],
        durable: bool,
        then: Callable[[Any], None] | None = None,
    ) -> Any:
        """Do something inside a transaction, which may be one with what others write.

        `then` is told what came of it: on the thread, in the order in which it was written.
        """
        write = _Write(run, durable, Future())
        if then is not None:
            write.outcome.add_done_callback(partial(_tell, then))
        with self._lock:
            self._queue.append(write)
        self._threads.submit(self._write_queued)
        return await asyncio.wrap_future(write.outcome)

    async def close(self) -> None:
        """Wait for what has begun, close the database, and end the thread."""
        await self._threads.close(self._close)

    def _write_queued(self) -> None:
        with self._lock:
            queue, self._queue = self._queue, []
        writes = [write for write in queue if write.outcome.set_running_or_notify_cancel()]
        if writes:
            self._commit(writes)

    def _commit(self, writes: list[_Write]) -> None:
        """Do it all in one transaction; if that fails, each in one of its own."""
        try:
            outcomes = self._transaction(writes)
        except BaseException as error:
            if len(writes) == 1:
                writes[0].outcome.set_exception(error)
            else:
                for write in writes:
                    self._commit([write])
            return
        for write, outcome in zip(writes, outcomes, strict=True):
            if isinstance(outcome, AgentScopeError):
                write.outcome.set_exception(outcome)
            else:
                write.outcome.set_result(outcome)

    def _transaction(self, writes: list[_Write]) -> list[Any]:
        connection = self._open()
        self._synchronize("FULL" if any(write.durable for write in writes) else "NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            outcomes = [_outcome(write, connection) for write in writes]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return outcomes

    def _synchronize(self, mode: str) -> None:
        if mode != self._synchronous:
            self._open().execute(f"PRAGMA synchronous={mode}")
            self._synchronous = mode

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # SQLite would let everyone read what is said here.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            connection = sqlite3.connect(
                self._path,
                timeout=self._timeout,
                isolation_level=None,
                check_same_thread=False,  # when the interpreter ends, another one does the thread's work
            )
            try:
                _turn_on_log(connection, time.monotonic() + self._timeout)
                for table in self._tables:
                    connection.execute(table)
            except BaseException:
                connection.close()
                raise
            self._connection, self._synchronous = connection, ""
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _tell(then: Callable[[Any], None], outcome: Future[Any]) -> None:
    if not outcome.cancelled() and outcome.exception() is None:
        then(outcome.result())


def _turn_on_log(connection: sqlite3.Connection, deadline: float) -> None:
    # The one statement that does not wait for other processes which do the same.
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def _outcome(write: _Write, connection: sqlite3.Connection) -> Any:
    try:
        return write.run(connection)
    except AgentScopeError as error:
        return error
