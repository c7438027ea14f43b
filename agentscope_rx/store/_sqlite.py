"""Sessions in a SQLite database: the store of an agent that remembers."""

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
from typing import Any, Final

from attrs import frozen

from agentscope_rx.errors import StateConflictError, StateLoadError, StateSaveError
from agentscope_rx.state import AgentState
from agentscope_rx.store._document import failing, parse_document, read_document, write_document
from agentscope_rx.store._names import decode, encode, encode_user
from agentscope_rx.store._store import ABSENT, StateKey, Versioned, check_version, new_version
from agentscope_rx.store._threads import Threads

__all__ = ["SQLiteAgentStateStore"]

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS agent_state (
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    version TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (user, session, agent)
)"""
_WHERE: Final = "WHERE user = ? AND session = ? AND agent = ?"
_LOAD: Final = f"SELECT CAST(version AS TEXT), CAST(state AS TEXT) FROM agent_state {_WHERE}"
_VERSION: Final = f"SELECT version FROM agent_state {_WHERE}"
_DELETE: Final = f"DELETE FROM agent_state {_WHERE}"
_SAVE: Final = """
INSERT INTO agent_state VALUES (?, ?, ?, ?, ?)
ON CONFLICT (user, session, agent) DO UPDATE SET version = excluded.version, state = excluded.state"""
_LIST: Final = "SELECT session, agent FROM agent_state WHERE user = ?"


@frozen
class _Write:
    """What is to be done inside a transaction, and who waits for it."""

    run: Callable[[sqlite3.Connection], Any]
    durable: bool
    outcome: Future[Any]


class SQLiteAgentStateStore:
    """Keeps states in one table, `agent_state`, of a database that may hold other things, too.

    1. One thread has the one connection. Writes that come while it is busy are one transaction, so that many
       sessions that end at once wait for the disk once.
    2. A write-ahead log: several processes of one machine may use the file. A kill undoes nothing that was
       acknowledged; a loss of power nothing that was `durable` (`synchronous=FULL`, else `NORMAL`).

    States are Java's `AgentState` as JSON text, with `checkpoint` added; names are written with `%` and two
    digits for all but lower-case letters, digits, `_` and `-`.
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 30.0) -> None:
        """Keep states in the file at `path`, which is made when it is needed.

        `timeout` is how many seconds a method waits for another process that writes.
        """
        self._path = Path(path).absolute()
        self._timeout = timeout
        self._threads = Threads(1, "agentscope-rx-sqlite")
        self._lock = Lock()
        self._queue: list[_Write] = []
        self._connection: sqlite3.Connection | None = None
        self._synchronous = ""

    async def load(self, key: StateKey) -> Versioned | None:
        """Return what is stored, if anything is."""
        with failing(StateLoadError, f"{key} could not be loaded", sqlite3.Error):
            return await self._threads.run(self._load, key)

    async def save(
        self, key: StateKey, state: AgentState, expected: str | None, *, durable: bool = True
    ) -> str:
        """Store a state, if `expected` is the version that is stored."""
        with failing(StateSaveError, f"{key} could not be saved", sqlite3.Error):
            document = await self._threads.run(write_document, key, state)
            version = new_version()
            await self._write(partial(_save, key, document.decode(), expected, version), durable)
        return version

    async def delete(self, key: StateKey) -> bool:
        """Remove what is stored; say whether there was anything."""
        with failing(StateSaveError, f"{key} could not be deleted", sqlite3.Error):
            return await self._write(partial(_delete, key), durable=True)

    async def list_sessions(self, user_id: str | None) -> tuple[StateKey, ...]:
        """Return what is stored of a user."""
        with failing(StateLoadError, f"sessions of user {user_id!r} could not be listed", sqlite3.Error):
            return await self._threads.run(self._list, user_id)

    async def close(self) -> None:
        """Wait for what has begun, close the database, and end the thread."""
        await self._threads.close(self._close)

    def _load(self, key: StateKey) -> Versioned | None:
        row = self._open().execute(_LOAD, _columns(key)).fetchone()
        return None if row is None else Versioned(read_document(key, parse_document(key, row[1])), row[0])

    def _list(self, user_id: str | None) -> tuple[StateKey, ...]:
        rows = self._open().execute(_LIST, (encode_user(user_id),))
        return tuple(sorted(StateKey(user_id, decode(session), decode(agent)) for session, agent in rows))

    async def _write(self, run: Callable[[sqlite3.Connection], Any], durable: bool) -> Any:
        write = _Write(run, durable, Future())
        with self._lock:
            self._queue.append(write)
        self._threads.submit(self._write_queued)
        return await asyncio.wrap_future(write.outcome)

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
            if isinstance(outcome, StateConflictError):
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
                connection.execute(_TABLE)
            except BaseException:
                connection.close()
                raise
            self._connection, self._synchronous = connection, ""
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


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


def _columns(key: StateKey) -> tuple[str, str, str]:
    return encode_user(key.user_id), encode(key.session_id), encode(key.agent_name)


def _outcome(write: _Write, connection: sqlite3.Connection) -> Any:
    try:
        return write.run(connection)
    except StateConflictError as error:
        return error


def _save(
    key: StateKey, document: str, expected: str | None, version: str, connection: sqlite3.Connection
) -> None:
    row = connection.execute(_VERSION, _columns(key)).fetchone()
    check_version(key, expected, ABSENT if row is None else row[0])
    connection.execute(_SAVE, (*_columns(key), version, document))


def _delete(key: StateKey, connection: sqlite3.Connection) -> bool:
    return connection.execute(_DELETE, _columns(key)).rowcount > 0
