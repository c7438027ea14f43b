"""Where logs keep what they keep."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
)
from agentscope_rx.identity import deterministic
from agentscope_rx.log import (
    EventLog,
    Gap,
    InMemoryEventLog,
    Logged,
    Record,
    RedisEventLog,
    SQLiteEventLog,
    StreamKey,
)
from tests.redis_server import RedisServer

KINDS = ("memory", "sqlite", "redis")
LASTING = KINDS[1:]

ANN = StreamKey("ann", "monday")


def open_log(kind: str, place: str, **options: Any) -> EventLog:
    """Make a log; in any process."""
    match kind:
        case "memory":
            return InMemoryEventLog(**options)
        case "sqlite":
            return SQLiteEventLog(Path(place) / "log.db", **options)
        case "redis":
            url, _, prefix = place.partition("#")
            return RedisEventLog(url, prefix=prefix, **options)
        case _:
            raise AssertionError(kind)


class Backend:
    """The data of one test, and the logs that it has opened on it."""

    def __init__(self, kind: str, place: str) -> None:
        self.kind = kind
        self.place = place
        self.opened: list[EventLog] = []

    def open(self, **options: Any) -> EventLog:
        """Make a log on the data: a new one, but for the memory, which has nothing else."""
        if self.kind == "memory" and self.opened:
            return self.opened[0]
        log = open_log(self.kind, self.place, **options)
        self.opened.append(log)
        return log

    async def close(self) -> None:
        for log in self.opened:
            await log.close()


def make(kind: str, request: pytest.FixtureRequest) -> Iterator[Backend]:
    """Make the data of one test, and close its logs behind it, on another loop than theirs."""
    if kind == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        place = f"{server.url}#{uuid4().hex}"
    else:
        place = str(request.getfixturevalue("tmp_path"))
    backend = Backend(kind, place)
    yield backend
    asyncio.run(backend.close())


def delta(number: int) -> AgentEvent:
    """An event that is told from others by a number."""
    return TextBlockDeltaEvent(
        "r1", "text-1", f"{number} ", id=f"e{number}", created_at="2026-01-01T00:00:00Z"
    )


def deltas(count: int, first: int = 1) -> list[AgentEvent]:
    """Events of the numbers from `first` on."""
    return [delta(number) for number in range(first, first + count)]


def text_reply(count: int, reply_id: str = "r1") -> list[AgentEvent]:
    """A reply with a text of so many deltas; the same in every process."""
    with deterministic(f"{reply_id}-"):
        return [
            AgentStartEvent("monday", reply_id, "friend"),
            TextBlockStartEvent(reply_id, "text-1"),
            *(TextBlockDeltaEvent(reply_id, "text-1", f"{number} ") for number in range(1, count + 1)),
            TextBlockEndEvent(reply_id, "text-1"),
            AgentEndEvent(reply_id),
        ]


def events_of(records: Iterable[Record]) -> list[AgentEvent]:
    """What is read, if there is no gap in it."""
    return [logged(record).decode() for record in records]


def logged(record: Record) -> Logged:
    assert isinstance(record, Logged)
    return record


def gap_of(records: Iterable[Record]) -> Gap:
    """The gap that what is read begins with; there is no other."""
    first, *others = records
    assert isinstance(first, Gap)
    assert all(isinstance(record, Logged) for record in others)
    return first


async def read_all(log: EventLog, key: StreamKey = ANN, after: str = "", limit: int = 1000) -> list[Record]:
    """Read to the end, page by page."""
    records: list[Record] = []
    while page := await log.read(key, after, limit):
        records += page
        after = page[-1].cursor
    return records


async def take(log: EventLog, count: int, key: StreamKey = ANN, after: str = "") -> list[Record]:
    """Follow until there are so many records."""
    records: list[Record] = []
    async with log.follow(key, after) as pages:
        async for page in pages:
            records += page
            if len(records) >= count:
                break
    return records
