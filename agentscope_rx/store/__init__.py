"""Stores of sessions: where an agent's state is kept between calls, and between processes.

| store | for | what was stored outlives |
|---|---|---|
| `InMemoryAgentStateStore` | tests, and agents that may forget | nothing |
| `JsonFileAgentStateStore` | sessions that people read, few writers | a kill, and a loss of power |
| `SQLiteAgentStateStore` | the usual choice: an agent that remembers | a kill; loss of power if `durable` |
| `RedisAgentStateStore` | agents on many machines | what the server is told to |

Each is an `AgentStateStore`, and does the same: one contract test runs on all of them. A store may be used by
any number of event loops, threads and processes at once. A value that it returns is Java's `AgentState` in
JSON, with `checkpoint` added.

Stores stand above `wire`, since they write JSON; the values that they keep are in `state`, below it.
"""

from agentscope_rx.store._json_file import JsonFileAgentStateStore as JsonFileAgentStateStore
from agentscope_rx.store._memory import InMemoryAgentStateStore as InMemoryAgentStateStore
from agentscope_rx.store._redis import RedisAgentStateStore as RedisAgentStateStore
from agentscope_rx.store._slot import ConflictPolicy as ConflictPolicy, StateSlot as StateSlot
from agentscope_rx.store._sqlite import SQLiteAgentStateStore as SQLiteAgentStateStore
from agentscope_rx.store._store import (
    ABSENT as ABSENT,
    AgentStateStore as AgentStateStore,
    StateKey as StateKey,
    Versioned as Versioned,
)

__all__ = [
    "ABSENT",
    "AgentStateStore",
    "ConflictPolicy",
    "InMemoryAgentStateStore",
    "JsonFileAgentStateStore",
    "RedisAgentStateStore",
    "SQLiteAgentStateStore",
    "StateKey",
    "StateSlot",
    "Versioned",
]
