"""Sessions in a SQLite database: the store of an agent that remembers."""

from __future__ import annotations

import os
import sqlite3
from functools import partial
from typing import Final

from agentscope_rx._storage import Database, Threads, decode, encode, encode_user, failing
from agentscope_rx.errors import StateError, StateLoadError, StateSaveError
from agentscope_rx.state import AgentState
from agentscope_rx.store._document import parse_document, read_document, write_document
from agentscope_rx.store._store import ABSENT, StateKey, Versioned, check_version, new_version

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
        threads = Threads(1, "agentscope-rx-sqlite", StateError, "store")
        self._threads = threads
        self._database = Database(path, (_TABLE,), threads, timeout)

    async def load(self, key: StateKey) -> Versioned | None:
        """Return what is stored, if anything is."""
        with failing(StateLoadError, f"{key} could not be loaded", sqlite3.Error):
            return await self._database.read(partial(_load, key))

    async def save(
        self, key: StateKey, state: AgentState, expected: str | None, *, durable: bool = True
    ) -> str:
        """Store a state, if `expected` is the version that is stored."""
        with failing(StateSaveError, f"{key} could not be saved", sqlite3.Error):
            document = await self._threads.run(write_document, key, state)
            version = new_version()
            await self._database.write(partial(_save, key, document.decode(), expected, version), durable)
        return version

    async def delete(self, key: StateKey) -> bool:
        """Remove what is stored; say whether there was anything."""
        with failing(StateSaveError, f"{key} could not be deleted", sqlite3.Error):
            return await self._database.write(partial(_delete, key), durable=True)

    async def list_sessions(self, user_id: str | None) -> tuple[StateKey, ...]:
        """Return what is stored of a user."""
        with failing(StateLoadError, f"sessions of user {user_id!r} could not be listed", sqlite3.Error):
            return await self._database.read(partial(_list, user_id))

    async def close(self) -> None:
        """Wait for what has begun, close the database, and end the thread."""
        await self._database.close()


def _load(key: StateKey, connection: sqlite3.Connection) -> Versioned | None:
    row = connection.execute(_LOAD, _columns(key)).fetchone()
    return None if row is None else Versioned(read_document(key, parse_document(key, row[1])), row[0])


def _list(user_id: str | None, connection: sqlite3.Connection) -> tuple[StateKey, ...]:
    rows = connection.execute(_LIST, (encode_user(user_id),))
    return tuple(sorted(StateKey(user_id, decode(session), decode(agent)) for session, agent in rows))


def _columns(key: StateKey) -> tuple[str, str, str]:
    return encode_user(key.user_id), encode(key.session_id), encode(key.agent_name)


def _save(
    key: StateKey, document: str, expected: str | None, version: str, connection: sqlite3.Connection
) -> None:
    row = connection.execute(_VERSION, _columns(key)).fetchone()
    check_version(key, expected, ABSENT if row is None else row[0])
    connection.execute(_SAVE, (*_columns(key), version, document))


def _delete(key: StateKey, connection: sqlite3.Connection) -> bool:
    return connection.execute(_DELETE, _columns(key)).rowcount > 0
