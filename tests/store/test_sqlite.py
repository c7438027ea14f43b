"""What only the store in SQLite does."""

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
from agentscope_rx.errors import StateLoadError, StateSaveError
from agentscope_rx.store import ABSENT, SQLiteAgentStateStore, StateKey
from tests.store.backends import ANN, a_state


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "state.db"


@pytest.fixture
def store(file: Path) -> Iterator[SQLiteAgentStateStore]:
    store = SQLiteAgentStateStore(file, timeout=0.1)
    yield store
    asyncio.run(store.close())


def keys(number: int) -> list[StateKey]:
    return [StateKey("ann", f"s{n}", "friend") for n in range(number)]


async def save_all(store: SQLiteAgentStateStore, wanted: list[StateKey], **options: Any) -> list[Any]:
    saves = (store.save(key, a_state(key), ABSENT, **options) for key in wanted)
    return await asyncio.gather(*saves, return_exceptions=True)


@pytest.mark.asyncio
async def test_people_can_read_the_table_and_sql_the_states(store: SQLiteAgentStateStore, file: Path) -> None:
    version = await store.save(ANN, a_state(ANN, 5), ABSENT)
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute(
            "SELECT user, session, agent, version, json_extract(state, '$.cur_iter') FROM agent_state"
        ).fetchall()

    assert rows == [("u-ann", "monday", "friend", version, 5)]


@pytest.mark.asyncio
async def test_nobody_else_may_read_what_is_said(store: SQLiteAgentStateStore, file: Path) -> None:
    await store.save(ANN, a_state(), ABSENT)

    assert {path.name for path in file.parent.iterdir()} == {"state.db", "state.db-wal", "state.db-shm"}
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in file.parent.iterdir()} == {0}


@pytest.mark.asyncio
async def test_what_else_is_in_the_database_stays(store: SQLiteAgentStateStore, file: Path) -> None:
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE mine (x)")
        connection.execute("INSERT INTO mine VALUES (1)")
        connection.execute("PRAGMA user_version = 7")
    await store.save(ANN, a_state(), ABSENT)

    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT x FROM mine").fetchall() == [(1,)]
        assert connection.execute("PRAGMA user_version").fetchone() == (7,)


@pytest.mark.asyncio
async def test_the_last_to_close_leaves_one_file(store: SQLiteAgentStateStore, file: Path) -> None:
    await store.save(ANN, a_state(), ABSENT)
    await store.close()

    assert [path.name for path in file.parent.iterdir()] == ["state.db"]


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
    monkeypatch.setattr("agentscope_rx.store._sqlite.Database", Watched)
    monkeypatch.setattr(Watched, "transactions", [])
    return Watched.transactions


@pytest.mark.asyncio
async def test_only_what_is_durable_waits_for_the_disk(
    file: Path, transactions: list[tuple[int, str]]
) -> None:
    store = SQLiteAgentStateStore(file)
    for durable in (True, False, False, True):
        await store.save(ANN, a_state(), None, durable=durable)
    await store.delete(ANN)
    await store.close()

    assert [mode for _, mode in transactions] == ["FULL", "NORMAL", "NORMAL", "FULL", "FULL"]


@pytest.mark.asyncio
async def test_saves_at_once_are_few_transactions(file: Path, transactions: list[tuple[int, str]]) -> None:
    store = SQLiteAgentStateStore(file)
    outcomes = await save_all(store, keys(100))
    await store.close()

    assert all(isinstance(outcome, str) for outcome in outcomes)
    assert sum(number for number, _ in transactions) == 100
    assert len(transactions) < 20


@pytest.mark.asyncio
async def test_a_write_that_fails_fails_alone(file: Path) -> None:
    store = SQLiteAgentStateStore(file)
    await store.save(ANN, a_state(), ABSENT)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "CREATE TRIGGER no BEFORE INSERT ON agent_state WHEN new.session = 's7'"
            " BEGIN SELECT RAISE(ABORT, 'not this one'); END"
        )
    outcomes = await save_all(store, keys(10))
    listed = await store.list_sessions("ann")
    await store.close()

    assert [n for n, outcome in enumerate(outcomes) if not isinstance(outcome, str)] == [7]
    assert isinstance(outcomes[7], StateSaveError)
    assert "session 's7' of user 'ann' with agent 'friend' could not be saved" in str(outcomes[7])
    assert "not this one" in str(outcomes[7])
    assert len(listed) == 10


@pytest.mark.asyncio
async def test_a_process_that_never_ends_its_transaction_is_an_error(
    store: SQLiteAgentStateStore, file: Path
) -> None:
    version = await store.save(ANN, a_state(ANN, 1), ABSENT)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateSaveError, match="OperationalError: database is locked"):
            await store.save(ANN, a_state(ANN, 2), version)
        assert (await store.load(ANN)) is not None
    await store.save(ANN, a_state(ANN, 2), version)


@pytest.mark.asyncio
@pytest.mark.parametrize("content", [b"x" * 100, b"SQLite format 3\x00" + b"\xff" * 4096])
async def test_a_file_that_is_no_database_is_an_error(
    store: SQLiteAgentStateStore, file: Path, content: bytes
) -> None:
    file.parent.mkdir()
    file.write_bytes(content)

    for use in (store.load(ANN), store.list_sessions("ann")):
        with pytest.raises(StateLoadError, match=r"could not be (loaded|listed): DatabaseError"):
            await use
    for use in (store.save(ANN, a_state(), None), store.delete(ANN)):
        with pytest.raises(StateSaveError, match=r"could not be (saved|deleted): DatabaseError"):
            await use
    assert file.read_bytes() == content
    file.unlink()
    await store.save(ANN, a_state(), ABSENT)


@pytest.mark.asyncio
async def test_a_database_with_damaged_pages_is_an_error(store: SQLiteAgentStateStore, file: Path) -> None:
    for key in keys(200):
        await store.save(key, a_state(key), ABSENT, durable=False)
    await store.close()
    content = file.read_bytes()
    file.write_bytes(content[:4096] + b"\x0d" * (len(content) - 4096))

    again = SQLiteAgentStateStore(file)
    with pytest.raises(StateLoadError, match="malformed"):
        await again.load(keys(200)[100])
    await again.close()


@pytest.mark.asyncio
async def test_a_value_of_another_type_is_damage(store: SQLiteAgentStateStore, file: Path) -> None:
    await store.save(ANN, a_state(), ABSENT)
    for wrong in (5, 1.5, b"\xff", ""):
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE agent_state SET state = ?, version = ?", (wrong, 5))
        with pytest.raises(StateLoadError):
            await store.load(ANN)
