"""Events in the memory of the process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Lock

from agentscope_rx.errors import LogError
from agentscope_rx.event import AgentEvent
from agentscope_rx.log._follow import Follower, check_limit
from agentscope_rx.log._log import LIMIT, MAX_LEN, TTL, check_end, check_limits, encoded
from agentscope_rx.log._page import Found, cut, page
from agentscope_rx.log._records import START, Logged, Record, StreamKey, is_cursor, make_cursor, number_of
from agentscope_rx.log._replies import condensed
from agentscope_rx.log._tail import Tail, Tails

__all__ = ["InMemoryEventLog"]


class _Stream:
    """The events that are kept, and what those before them have come to."""

    __slots__ = ("base", "condensate", "records", "time")

    def __init__(self) -> None:
        self.records: list[Logged] = []
        self.base = START
        self.condensate: bytes | None = None
        self.time = 0

    @property
    def end(self) -> str:
        return self.records[-1].cursor if self.records else self.base


class InMemoryEventLog:
    """Keeps events until the process or the log ends: for one process that may forget, and for tests.

    Whoever reconnects to the process finds what it has missed; a restart loses everything.
    """

    def __init__(self, *, max_len: int = MAX_LEN, ttl: float | None = TTL) -> None:
        """Keep about `max_len` events of each stream, and a stream `ttl` seconds after its last."""
        check_limits(max_len, ttl)
        self._max_len = max_len
        self._ttl = None if ttl is None else int(ttl * 1e6)
        self._lock = Lock()
        self._streams: dict[StreamKey, _Stream] | None = {}  # the one that was written last is last
        self._time = 0
        self._tails = Tails()

    @property
    def _kept(self) -> dict[StreamKey, _Stream]:
        if self._streams is None:
            raise LogError("the log is closed; make another one")
        return self._streams

    async def append(
        self, key: StreamKey, events: Sequence[AgentEvent], *, after: str | None = None
    ) -> tuple[str, ...]:
        """Write events behind each other, and return their cursors."""
        data = encoded(events)
        with self._lock:
            stream = self._kept.pop(key, None) or _Stream()
            if stream.end:
                self._kept[key] = stream
            check_end(key, after, stream.end)
            if not data:
                return ()
            stream.time = self._time = max(self._time + 1, time.time_ns() // 1000)
            first = number_of(stream.end) + 1
            records = [Logged(make_cursor(self._time, n), each) for n, each in enumerate(data, first)]
            stream.records += records
            self._kept[key] = stream
            self._drop_old(stream)
            self._tails.offer(key, records)
        return tuple(record.cursor for record in records)

    async def read(self, key: StreamKey, after: str = START, limit: int = LIMIT) -> tuple[Record, ...]:
        """Return what is kept after a cursor."""
        check_limit(limit)
        with self._lock:
            found = self._find(key, after, limit)
        return page(after, found)

    def follow(self, key: StreamKey, after: str = START, *, limit: int = LIMIT) -> Follower:
        """Read what is kept after a cursor, and then whatever comes."""

        async def subscribe() -> Tail:
            return self._tails.of(key)

        return Follower(subscribe, self.read, key, after, limit)

    async def end(self, key: StreamKey) -> str:
        """Return the cursor of the last event."""
        stream = self._kept.get(key)
        return START if stream is None else stream.end

    async def delete(self, key: StreamKey) -> bool:
        """Remove a stream; say whether there was one."""
        with self._lock:
            found = self._kept.pop(key, None)
        tail = self._tails.get(key)
        if tail is not None:
            tail.clear()
        return found is not None

    async def close(self) -> None:
        """Forget everything."""
        self._streams = None
        self._tails.clear()

    def _find(self, key: StreamKey, after: str, limit: int) -> Found:
        stream = self._kept.get(key)
        if stream is None:
            return Found(after == START, ())
        place = _place_after(stream, after)
        if place is None:
            return Found(False, cut(stream.records[:limit]), stream.base, stream.condensate)
        return Found(True, cut(stream.records[place : place + limit]))

    def _drop_old(self, stream: _Stream) -> None:
        while len(stream.records) > self._max_len + self._max_len // 4:
            count = len(stream.records) - self._max_len
            old = stream.records[:count]
            stream.condensate = condensed(stream.condensate, old)
            stream.base = old[-1].cursor
            del stream.records[:count]
        if self._ttl is not None:
            streams, last = self._kept, self._time - self._ttl
            while (oldest := next(iter(streams))) and streams[oldest].time < last:
                del streams[oldest]


def _place_after(stream: _Stream, cursor: str) -> int | None:
    """Return where the events after a cursor begin; None if it is none that is kept."""
    place = number_of(cursor) - number_of(stream.base) if is_cursor(cursor) or cursor == START else 0
    if not 0 <= place <= len(stream.records):
        return None
    known = stream.records[place - 1].cursor if place else stream.base
    return place if known == cursor else None
