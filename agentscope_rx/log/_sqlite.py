"""Events in a SQLite database: the log of one machine."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final
from weakref import WeakSet

from agentscope_rx._storage import Database, Threads, encode, encode_user, failing
from agentscope_rx.errors import LogAppendError, LogError, LogReadError
from agentscope_rx.event import AgentEvent
from agentscope_rx.log._follow import Follower, check_limit
from agentscope_rx.log._log import LIMIT, MAX_LEN, TTL, check_end, check_limits, encoded, is_durable
from agentscope_rx.log._page import Found, cut, page
from agentscope_rx.log._records import (
    START,
    Logged,
    Record,
    StreamKey,
    is_cursor,
    make_cursor,
    number_of,
    time_of,
)
from agentscope_rx.log._replies import condensed
from agentscope_rx.log._tail import Tail, Tails
from agentscope_rx.log._watch import Watch

__all__ = ["SQLiteEventLog"]

_TABLES: Final = (
    """
CREATE TABLE IF NOT EXISTS event_stream (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    end TEXT NOT NULL,
    base TEXT NOT NULL,
    condensate BLOB,
    UNIQUE (user, session)
)""",
    """
CREATE TABLE IF NOT EXISTS event (
    stream INTEGER NOT NULL,
    number INTEGER NOT NULL,
    time INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (stream, number)
) WITHOUT ROWID""",
)
_STREAM: Final = "SELECT id, end, base, condensate FROM event_stream WHERE user = ? AND session = ?"
_ADD_STREAM: Final = "INSERT INTO event_stream (user, session, end, base) VALUES (?, ?, '', '')"
_ADD: Final = "INSERT INTO event VALUES (?, ?, ?, ?)"
_END: Final = "UPDATE event_stream SET end = ? WHERE id = ?"
_BASE: Final = "UPDATE event_stream SET base = ?, condensate = ? WHERE id = ?"
_TIME: Final = "SELECT time FROM event WHERE stream = ? AND number = ?"
_READ: Final = """
SELECT time, number, CAST(event AS BLOB) FROM event WHERE stream = ? AND number > ? ORDER BY number LIMIT ?"""
_DROP: Final = "DELETE FROM event WHERE stream = ? AND number <= ?"
_DROP_STREAM: Final = "DELETE FROM event_stream WHERE id = ?"
_OLD: Final = "SELECT id FROM event_stream WHERE CAST(end AS INTEGER) < ?"

_TIDY: Final = 60 * 10**6
"""Microseconds between two looks for streams that are too old."""


class SQLiteEventLog:
    """Keeps events in the tables `event_stream` and `event` of a database that may hold other things, too.

    1. One thread writes. Events that come while it is busy are one transaction: many calls that stream at
       once wait for the disk once, and that only where a reply ends or asks. Another thread reads.
    2. A write-ahead log: a kill undoes nothing that was acknowledged; a loss of power may undo what came
       after the last end or question. Cursors of what was undone are known as such.
    3. Several processes of one machine may use the file. What another one writes, followers see within about
       `interval`; what their own writes, at once.

    Events are JSON text; names are written with `%` and two digits for all but lower-case letters, digits,
    `_` and `-`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_len: int = MAX_LEN,
        ttl: float | None = TTL,
        timeout: float = 30.0,
        interval: float = 0.05,
    ) -> None:
        """Keep events in the file at `path`, which is made when it is needed.

        Of each stream about `max_len` events are kept, and a stream `ttl` seconds after its last. `timeout`
        is how many seconds a method waits for another process that writes.
        """
        check_limits(max_len, ttl)
        self._max_len = max_len
        self._ttl = None if ttl is None else int(ttl * 1e6)
        self._tidied = 0
        writing = Threads(1, "agentscope-rx-log-write", LogError, "log")
        reading = Threads(1, "agentscope-rx-log-read", LogError, "log")
        self._writer = Database(path, _TABLES, writing, timeout)
        self._reader = Database(path, _TABLES, reading, timeout)
        self._tails = Tails()
        self._version = -1
        self._seen: WeakSet[Tail] = WeakSet()
        self._watch = Watch("agentscope-rx-log-watch", self._tails, self._look, interval)

    async def append(
        self, key: StreamKey, events: Sequence[AgentEvent], *, after: str | None = None
    ) -> tuple[str, ...]:
        """Write events behind each other, and return their cursors."""
        data = encoded(events)
        with failing(LogAppendError, f"{key} could not be written", sqlite3.Error):
            write = partial(self._append, key, data, after)
            told = partial(self._tails.offer, key)
            records: list[Logged] = await self._writer.write(write, is_durable(events), told)
        return tuple(record.cursor for record in records)

    async def read(self, key: StreamKey, after: str = START, limit: int = LIMIT) -> tuple[Record, ...]:
        """Return what is kept after a cursor."""
        check_limit(limit)
        with failing(LogReadError, f"{key} could not be read", sqlite3.Error):
            return page(after, await self._reader.read(partial(_find, key, after, limit)))

    def follow(self, key: StreamKey, after: str = START, *, limit: int = LIMIT) -> Follower:
        """Read what is kept after a cursor, and then whatever comes."""

        async def subscribe() -> Tail:
            tail = self._tails.of(key)
            self._watch.begin()
            return tail

        return Follower(subscribe, self.read, key, after, limit)

    async def end(self, key: StreamKey) -> str:
        """Return the cursor of the last event."""
        with failing(LogReadError, f"{key} could not be read", sqlite3.Error):
            return await self._reader.read(partial(_end, key))

    async def delete(self, key: StreamKey) -> bool:
        """Remove a stream; say whether there was one."""
        with failing(LogAppendError, f"{key} could not be deleted", sqlite3.Error):
            found = await self._writer.write(partial(_delete, key), True)
        tail = self._tails.get(key)
        if tail is not None:
            tail.clear()
        return found

    async def close(self) -> None:
        """Wait for what has begun, close the database, and end the threads."""
        self._watch.end()
        await self._writer.close()
        await self._reader.close()
        self._tails.clear()

    def _append(
        self, key: StreamKey, data: list[bytes], after: str | None, connection: sqlite3.Connection
    ) -> list[Logged]:
        row = connection.execute(_STREAM, _columns(key)).fetchone()
        stream, end, base, condensate = row or (0, START, START, None)
        check_end(key, after, end)
        if not data:
            return []
        if row is None:
            stream: int = connection.execute(_ADD_STREAM, _columns(key)).lastrowid or 0
        now, first = max(time_of(end) + 1, time.time_ns() // 1000), number_of(end) + 1
        records = [Logged(make_cursor(now, number), each) for number, each in enumerate(data, first)]
        rows = ((stream, number, now, each.decode()) for number, each in enumerate(data, first))
        connection.executemany(_ADD, rows)
        connection.execute(_END, (records[-1].cursor, stream))
        count = first - 1 + len(data) - number_of(base) - self._max_len
        if count > self._max_len // 4:
            _condense(connection, stream, base, condensate, count)
        self._tidy(connection, now)
        return records

    def _tidy(self, connection: sqlite3.Connection, now: int) -> None:
        if self._ttl is None or now < self._tidied + min(_TIDY, self._ttl):
            return
        self._tidied = now
        for (stream,) in connection.execute(_OLD, (now - self._ttl,)).fetchall():
            _drop(connection, stream)

    def _look(self) -> None:
        """Find out what other processes have written; runs on the thread of the watch."""
        self._reader.submit(self._look_at).result()

    def _look_at(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        changed, self._version = version != self._version, version
        for key, tail in self._tails.all().items():
            if changed or tail not in self._seen:
                self._seen.add(tail)
                end = _end(key, connection)
                if not tail.has(end):
                    tail.clear(end)


def _columns(key: StreamKey) -> tuple[str, str]:
    return encode_user(key.user_id), encode(key.session_id)


def _end(key: StreamKey, connection: sqlite3.Connection) -> str:
    row = connection.execute(_STREAM, _columns(key)).fetchone()
    return START if row is None else row[1]


def _find(key: StreamKey, after: str, limit: int, connection: sqlite3.Connection) -> Found:
    connection.execute("BEGIN")  # so that what is read is of one moment
    try:
        row = connection.execute(_STREAM, _columns(key)).fetchone()
        if row is None:
            return Found(after == START, ())
        stream, _, base, condensate = row
        known = after == base or (is_cursor(after) and _is_kept(connection, stream, after))
        events = cut(_events(connection, stream, number_of(after if known else base), limit))
        return Found(known, events, base, condensate)
    finally:
        connection.execute("COMMIT")


def _is_kept(connection: sqlite3.Connection, stream: int, cursor: str) -> bool:
    return connection.execute(_TIME, (stream, number_of(cursor))).fetchone() == (time_of(cursor),)


def _events(connection: sqlite3.Connection, stream: int, number: int, limit: int) -> Iterator[Logged]:
    for time_, number_, data in connection.execute(_READ, (stream, number, limit)):
        yield Logged(make_cursor(time_, number_), data)


def _condense(
    connection: sqlite3.Connection, stream: int, base: str, condensate: bytes | None, count: int
) -> None:
    old = list(_events(connection, stream, number_of(base), count))
    connection.execute(_BASE, (old[-1].cursor, condensed(condensate, old), stream))
    connection.execute(_DROP, (stream, number_of(old[-1].cursor)))


def _delete(key: StreamKey, connection: sqlite3.Connection) -> bool:
    row = connection.execute(_STREAM, _columns(key)).fetchone()
    if row is not None:
        _drop(connection, row[0])
    return row is not None


def _drop(connection: sqlite3.Connection, stream: int) -> None:
    connection.execute(_DROP, (stream, 2**62))
    connection.execute(_DROP_STREAM, (stream,))
