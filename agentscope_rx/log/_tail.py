"""The newest events of streams that somebody follows, shared by all who do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from threading import Lock
from typing import Final
from weakref import WeakValueDictionary

from agentscope_rx.log._page import cut
from agentscope_rx.log._records import START, Logged, StreamKey, number_of, time_of

__all__ = ["Tail", "Tails"]

KEPT: Final = 1_024
"""Events that followers need not read from the log; up to twice as many at times."""

KEPT_BYTES: Final = 4 * 2**20


class Tail:
    """A run of events without a hole, the newest that are known, and who waits for more.

    1. It is a shortcut: what it does not have is read from the log. However slow its readers are, it keeps no
       event for them.
    2. Who has read the newest that it knows waits. So whoever writes here offers it in the order of writing,
       late as it may be; and where others write, too, somebody looks for their last event again and again,
       at least once for each tail.

    Attributes:
        mark: changes whenever there may be something new.
    """

    __slots__ = (
        "__weakref__",
        "_first",
        "_floor",
        "_lock",
        "_records",
        "_size",
        "_waiting",
        "is_ready",
        "mark",
    )

    def __init__(self, *, is_ready: bool) -> None:
        self._lock = Lock()
        self._records: list[Logged] = []
        self._first = 0  # the number of the first of them
        self._size = 0
        self._floor = _place(START)  # the newest event that was ever known
        self._waiting: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
        self.is_ready = is_ready
        self.mark = 0

    @property
    def end(self) -> str:
        """The newest event that is known."""
        with self._lock:
            return self._records[-1].cursor if self._records else START

    def has(self, cursor: str) -> bool:
        """Whether an event is known."""
        return self.after(cursor, 0) is not None

    def after(self, cursor: str, limit: int) -> list[Logged] | None:
        """Return what is known after a cursor; None if the log has to be asked."""
        with self._lock:
            place = number_of(cursor) - self._first if self._records and cursor else -1
            if not 0 <= place < len(self._records) or self._records[place].cursor != cursor:
                return None
            return cut(self._records[place + 1 : place + 1 + limit])

    def offer(self, records: Sequence[Logged]) -> None:
        """Take what was written, and wake who waits; it may be known already."""
        with self._lock:
            self._take(records)
        self.wake()

    def clear(self, end: str = START) -> None:
        """Let everyone ask the log, whose last event is this one, or a later one."""
        with self._lock:
            self._records, self._size = [], 0
            self._floor = max(self._floor, _place(end))
        self.wake()

    def wake(self) -> None:
        """Let everyone who waits look again."""
        with self._lock:
            self.mark += 1
            waiting, self._waiting = self._waiting, {}
        for loop, futures in waiting.items():
            try:
                loop.call_soon_threadsafe(_set, futures)
            except RuntimeError:  # it is closed, and nobody waits on it any more
                continue

    async def changed(self, mark: int) -> None:
        """Wait until there may be something that there was not at `mark`."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if self.mark != mark:
                return
            future: asyncio.Future[None] = loop.create_future()
            futures = self._waiting.setdefault(loop, [])
            futures.append(future)
        try:
            await future
        finally:
            with self._lock:
                if future.cancelled() and future in futures:
                    futures.remove(future)

    def _take(self, records: Sequence[Logged]) -> None:
        end = _place(records[-1].cursor)
        if end <= self._floor:
            return  # whoever has read up to there must not take it for the end
        self._floor = end
        first, known = number_of(records[0].cursor), self._records
        place = first - self._first
        goes_on = known and (
            place == len(known) or (0 <= place < len(known) and known[place].cursor == records[0].cursor)
        )
        if goes_on:
            records = records[len(known) - place :]
            known += records
        else:
            self._records, self._first, self._size = list(records), first, 0
        self._size += sum(len(record.data) for record in records)
        if len(self._records) > 2 * KEPT or self._size > KEPT_BYTES:
            self._drop_old()

    def _drop_old(self) -> None:
        kept = size = 0
        for record in reversed(self._records):
            size += len(record.data)
            if kept == KEPT or (kept and size > KEPT_BYTES // 2):
                size -= len(record.data)
                break
            kept += 1
        self._first += len(self._records) - kept
        self._records, self._size = self._records[-kept:], size


class Tails:
    """The tail of each stream that somebody follows, as long as somebody does."""

    def __init__(self, *, are_ready: bool = True) -> None:
        self._lock = Lock()
        self._are_ready = are_ready
        self._tails: WeakValueDictionary[StreamKey, Tail] = WeakValueDictionary()

    def of(self, key: StreamKey) -> Tail:
        """Return the tail of a stream, for somebody who begins to follow it."""
        with self._lock:
            tail = self._tails.get(key)
            if tail is None:
                tail = self._tails[key] = Tail(is_ready=self._are_ready)
            return tail

    def get(self, key: StreamKey) -> Tail | None:
        """Return the tail of a stream, if somebody follows it."""
        return self._tails.get(key)

    def offer(self, key: StreamKey, records: Sequence[Logged]) -> None:
        """Tell who follows a stream what was written to it."""
        tail = self._tails.get(key)
        if tail is not None and records:
            tail.offer(records)

    def all(self) -> dict[StreamKey, Tail]:
        """Return those that there are."""
        with self._lock:
            return dict(self._tails)

    def clear(self) -> None:
        """Let everyone ask the log."""
        for tail in self.all().values():
            tail.clear()


def _place(cursor: str) -> tuple[int, int]:
    return time_of(cursor), number_of(cursor)


def _set(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
