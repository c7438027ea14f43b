"""What only the log in SQLite does."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agentscope_rx._storage import Database
from agentscope_rx.errors import LogAppendError, LogReadError, WireError
from agentscope_rx.event import AgentEndEvent, RequireUserConfirmEvent
from agentscope_rx.log import SQLiteEventLog, StreamKey
from agentscope_rx.store import ABSENT, SQLiteAgentStateStore
from tests.log.logs import ANN, delta, deltas, events_of, logged
from tests.store.backends import ANN as STATE, a_state


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "log.db"


@pytest.fixture
def log(file: Path) -> Iterator[SQLiteEventLog]:
    log = SQLiteEventLog(file, timeout=0.1)
    yield log
    asyncio.run(log.close())


class Watched(Database):
    """Writes down how many writes were one transaction, and how it was synced."""

    transactions: ClassVar[list[tuple[int, str]]] = []

    def _transaction(self, writes: list[Any]) -> list[Any]:
        outcomes = super()._transaction(writes)
        assert self._connection is not None
        (mode,) = self._connection.execute("PRAGMA synchronous").fetchone()
        self.transactions.append((len(writes), {1: "NORMAL", 2: "FULL"}[mode]))
        return outcomes


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    monkeypatch.setattr("agentscope_rx.log._sqlite.Database", Watched)
    monkeypatch.setattr(Watched, "transactions", [])
    return Watched.transactions


@pytest.mark.asyncio
async def test_only_where_a_reply_ends_or_asks_anyone_waits_for_the_disk(
    transactions: list[tuple[int, str]], file: Path
) -> None:
    log = SQLiteEventLog(file)
    child = AgentEndEvent("r2", source="main/child")
    for event in (delta(1), child, RequireUserConfirmEvent("r1", []), delta(2), AgentEndEvent("r1")):
        await log.append(ANN, [event])
    await log.close()

    assert [mode for _, mode in transactions] == ["NORMAL", "NORMAL", "FULL", "NORMAL", "FULL"]


@pytest.mark.asyncio
async def test_what_is_written_at_once_is_few_transactions(
    transactions: list[tuple[int, str]], file: Path
) -> None:
    log = SQLiteEventLog(file)
    await asyncio.gather(*(log.append(StreamKey("ann", str(n)), deltas(3)) for n in range(100)))
    await log.close()

    assert sum(number for number, _ in transactions) == 100
    assert len(transactions) < 20


@pytest.mark.asyncio
async def test_people_can_read_the_events_and_nobody_else_may(log: SQLiteEventLog, file: Path) -> None:
    await log.append(ANN, deltas(2))
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute(
            "SELECT user, session, number, json_extract(event, '$.delta')"
            " FROM event JOIN event_stream ON stream = id"
        ).fetchall()

    assert rows == [("u-ann", "monday", 1, "1 "), ("u-ann", "monday", 2, "2 ")]
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in file.parent.iterdir()} == {0}


@pytest.mark.asyncio
async def test_states_and_events_may_be_in_one_file(log: SQLiteEventLog, file: Path) -> None:
    store = SQLiteAgentStateStore(file)
    await asyncio.gather(store.save(STATE, a_state(), ABSENT), log.append(ANN, deltas(2)))

    assert await store.load(STATE) is not None
    assert events_of(await log.read(ANN)) == deltas(2)
    await store.close()


@pytest.mark.asyncio
async def test_a_file_that_is_no_database_is_an_error(log: SQLiteEventLog, file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"x" * 100)

    for use in (log.read(ANN), log.end(ANN), anext(log.follow(ANN))):
        with pytest.raises(LogReadError, match="session 'monday' of user 'ann' could not be read: Database"):
            await use
    for use in (log.append(ANN, deltas(1)), log.delete(ANN)):
        with pytest.raises(LogAppendError, match=r"could not be (written|deleted): DatabaseError"):
            await use
    file.unlink()
    await log.append(ANN, deltas(1))


@pytest.mark.asyncio
async def test_a_process_that_never_ends_its_transaction_is_an_error(log: SQLiteEventLog, file: Path) -> None:
    await log.append(ANN, deltas(1))
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogAppendError, match="OperationalError: database is locked"):
            await log.append(ANN, deltas(1, first=2))
        assert events_of(await log.read(ANN)) == deltas(1)
    await log.append(ANN, deltas(1, first=2))


@pytest.mark.asyncio
async def test_what_is_damaged_is_told_where_it_is_read(file: Path) -> None:
    log = SQLiteEventLog(file, max_len=2)
    await log.append(ANN, deltas(10))
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE event SET event = '{' WHERE number = 10")
        connection.execute("UPDATE event_stream SET condensate = CAST('[{}]' AS BLOB)")

    end = await log.end(ANN)
    _, last = await log.read(ANN, (await _base(file)))
    assert last.cursor == end
    with pytest.raises(WireError):
        logged(last).decode()
    with pytest.raises(LogReadError, match="what older events have come to is damaged"):
        await log.read(ANN)
    await log.append(ANN, deltas(10, first=11))
    assert await log.delete(ANN) is True
    await log.close()


async def _base(file: Path) -> str:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT base FROM event_stream").fetchone()[0]
