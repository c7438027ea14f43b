"""Where stores keep what they keep, and how to damage it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
import redis
from attrs import evolve

from agentscope_rx.errors import StateConflictError
from agentscope_rx.message import Msg, UserMessage
from agentscope_rx.state import AgentState
from agentscope_rx.store import (
    ABSENT,
    AgentStateStore,
    InMemoryAgentStateStore,
    JsonFileAgentStateStore,
    RedisAgentStateStore,
    SQLiteAgentStateStore,
    StateKey,
)
from tests.redis_server import RedisServer

KINDS = ("memory", "json_file", "sqlite", "redis")
LASTING = KINDS[1:]


def open_store(kind: str, place: str) -> AgentStateStore:
    """Make a store; in any process."""
    match kind:
        case "json_file":
            return JsonFileAgentStateStore(place)
        case "sqlite":
            return SQLiteAgentStateStore(Path(place) / "state.db")
        case "redis":
            url, _, prefix = place.partition("#")
            return RedisAgentStateStore(url, prefix=prefix)
        case _:
            raise AssertionError(kind)


class Backend:
    """The data of one test, and the stores that it has opened on it."""

    def __init__(self, kind: str, place: str) -> None:
        self.kind = kind
        self.place = place
        self.opened: list[AgentStateStore] = []

    def open(self) -> AgentStateStore:
        """Make a store on the data: a new one, but for the memory, which has nothing else."""
        if self.kind == "memory":
            store = self.opened[0] if self.opened else InMemoryAgentStateStore()
        else:
            store = open_store(self.kind, self.place)
        self.opened.append(store)
        return store

    async def close(self) -> None:
        for store in self.opened:
            await store.close()

    def read(self, key: StateKey) -> bytes:
        """Return the document that is stored."""
        match self.kind:
            case "json_file":
                return self._file().read_bytes()
            case "sqlite":
                with closing(sqlite3.connect(Path(self.place) / "state.db")) as connection:
                    return connection.execute("SELECT CAST(state AS BLOB) FROM agent_state").fetchone()[0]
            case _:
                with self._client() as client:
                    return client.hget(self._redis_key(key), "state")

    def write(self, key: StateKey, document: bytes) -> None:
        """Put anything in the place of the only document that is stored."""
        match self.kind:
            case "json_file":
                self._file().write_bytes(document)
            case "sqlite":
                with closing(sqlite3.connect(Path(self.place) / "state.db")) as connection, connection:
                    assert connection.execute("UPDATE agent_state SET state = ?", (document,)).rowcount == 1
            case _:
                with self._client() as client:
                    assert client.hset(self._redis_key(key), "state", document) == 0

    def _file(self) -> Path:
        (file,) = Path(self.place).rglob("*.json")
        return file

    def _redis_key(self, key: StateKey) -> str:
        assert (key.user_id, key.agent_name) == ("ann", "friend")
        return f"{self.place.partition('#')[2]}:{{u-ann}}:{key.session_id}:friend"

    def _client(self) -> redis.Redis:
        return redis.Redis.from_url(self.place.partition("#")[0])


def make(kind: str, request: pytest.FixtureRequest) -> Iterator[Backend]:
    """Make the data of one test, and close its stores behind it, on another loop than theirs."""
    if kind == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        place = f"{server.url}#{uuid4().hex}"
    else:
        place = str(request.getfixturevalue("tmp_path") / "store")
        if kind == "sqlite":
            Path(place).mkdir()
    backend = Backend(kind, place)
    yield backend
    asyncio.run(backend.close())


ANN = StateKey("ann", "monday", "friend")


def a_state(key: StateKey = ANN, count: int = 0, *context: Msg) -> AgentState:
    """A state that is told from others by a count."""
    return AgentState(key.session_id, key.user_id, context=context, cur_iter=count)


def counted(state: AgentState) -> AgentState:
    """A state with one message more."""
    number = state.cur_iter + 1
    return evolve(state, cur_iter=number, context=(*state.context, UserMessage(f"message {number}")))


async def count_up(store: AgentStateStore, times: int, key: StateKey = ANN) -> None:
    """Load, add a message, save, until it has worked so many times."""
    for _ in range(times):
        while True:
            stored = await store.load(key)
            state, version = (a_state(key), ABSENT) if stored is None else (stored.state, stored.version)
            try:
                await store.save(key, counted(state), version, durable=False)
                break
            except StateConflictError:
                continue
