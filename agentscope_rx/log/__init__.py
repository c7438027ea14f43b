"""Logs of events: what was streamed, to be read again from any place on, and followed while it grows.

| log | for | what was written outlives |
|---|---|---|
| `InMemoryEventLog` | one process, and tests | nothing |
| `SQLiteEventLog` | the usual choice: one machine | a kill; a loss of power up to the last end or question |
| `RedisEventLog` | many machines | what the server is told to |

Each is an `EventLog`, and does the same: one contract test runs on all of them.

Logs stand above `wire` and `operators`, since they write JSON, and keep what events have come to.
"""

from agentscope_rx.log._follow import Follower as Follower
from agentscope_rx.log._log import EventLog as EventLog
from agentscope_rx.log._memory import InMemoryEventLog as InMemoryEventLog
from agentscope_rx.log._records import (
    START as START,
    Gap as Gap,
    Logged as Logged,
    Record as Record,
    Snapshot as Snapshot,
    StreamKey as StreamKey,
)
from agentscope_rx.log._recover import Recovered as Recovered, recover as recover
from agentscope_rx.log._redis import RedisEventLog as RedisEventLog
from agentscope_rx.log._sqlite import SQLiteEventLog as SQLiteEventLog

__all__ = [
    "START",
    "EventLog",
    "Follower",
    "Gap",
    "InMemoryEventLog",
    "Logged",
    "Record",
    "Recovered",
    "RedisEventLog",
    "SQLiteEventLog",
    "Snapshot",
    "StreamKey",
    "recover",
]
