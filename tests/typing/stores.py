"""Every store is an `AgentStateStore`, and so is one that a user writes."""

from typing import assert_type

from agentscope_rx.state import AgentState
from agentscope_rx.store import (
    ABSENT,
    AgentStateStore,
    InMemoryAgentStateStore,
    JsonFileAgentStateStore,
    RedisAgentStateStore,
    SQLiteAgentStateStore,
    StateKey,
    StateSlot,
    Versioned,
)


class MyStore:
    async def load(self, key: StateKey) -> Versioned | None:
        return None

    async def save(
        self, key: StateKey, state: AgentState, expected: str | None, *, durable: bool = True
    ) -> str:
        return key.session_id

    async def delete(self, key: StateKey) -> bool:
        return False

    async def list_sessions(self, user_id: str | None) -> tuple[StateKey, ...]:
        return (StateKey(user_id, "monday", "friend"),)

    async def close(self) -> None: ...


stores: tuple[AgentStateStore, ...] = (
    InMemoryAgentStateStore(),
    JsonFileAgentStateStore("states"),
    SQLiteAgentStateStore("state.db"),
    RedisAgentStateStore(password="secret"),
    MyStore(),
)


async def use(store: AgentStateStore, key: StateKey) -> None:
    stored = await store.load(key)
    assert_type(stored, Versioned | None)
    version = ABSENT if stored is None else stored.version
    assert_type(await store.save(key, AgentState(), version, durable=False), str)
    assert_type(await StateSlot(store, key, "overwrite").load(), AgentState | None)
