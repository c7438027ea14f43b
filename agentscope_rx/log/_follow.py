"""A reader that goes on when it has read everything."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Self

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.log._records import Record, StreamKey, number_of
from agentscope_rx.log._tail import Tail

__all__ = ["Follower", "check_limit"]


class Follower(AsyncIterator[tuple[Record, ...]]):
    """Reads what is kept of a stream after a cursor, and then whatever comes, in pages as `read` gives them.

    1. Every event comes once and in order, whatever is written meanwhile; what is not kept, as a `Gap`.
    2. It subscribes before it reads, and what it is told of it takes by number: no event falls between.
    3. It keeps one page. Who reads slowly does not make anyone else wait or keep anything: what was written
       meanwhile is read from the log, as long as that keeps it, and then comes as a `Gap`.
    4. It never ends by itself. After an error, or when it is closed, `cursor` is where another one goes on.

    Use it in an `async with`; without, it subscribes when it is first read.

    Attributes:
        cursor: of the last that was read.

    Errors: `LogReadError` if the log cannot be read; `LogError` when it is closed.
    """

    def __init__(
        self,
        subscribe: Callable[[], Awaitable[Tail]],
        read: Callable[[StreamKey, str, int], Awaitable[tuple[Record, ...]]],
        key: StreamKey,
        after: str,
        limit: int,
    ) -> None:
        check_limit(limit)
        self._subscribe = subscribe
        self._read = read
        self._key = key
        self._limit = limit
        self._tail: Tail | None = None
        self._closed = False
        self.cursor = after

    @property
    def behind(self) -> int:
        """How many events it knows of that were not read; 0 if it does not know."""
        end = self._tail.end if self._tail is not None else ""
        return max(0, number_of(end) - number_of(self.cursor)) if end else 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[Record, ...]:
        tail = await self._subscribed()
        while True:
            mark = tail.mark
            records = tail.after(self.cursor, self._limit)
            if records is None:
                records = await self._read(self._key, self.cursor, self._limit)
            if records:
                self.cursor = records[-1].cursor
                return tuple(records)
            await tail.changed(mark)
            if self._closed:
                raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        await self._subscribed()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Let go of the stream; who waits for the next page gets the end."""
        self._closed = True
        tail, self._tail = self._tail, None
        if tail is not None:
            tail.wake()

    async def _subscribed(self) -> Tail:
        if self._closed:
            raise StopAsyncIteration
        if self._tail is None:
            tail = await self._subscribe()
            if self._closed:
                raise StopAsyncIteration
            self._tail = self._tail or tail
        return self._tail


def check_limit(limit: int) -> None:
    """Refuse pages that have no room.

    Errors: `ConfigurationError`.
    """
    if limit < 1:
        raise ConfigurationError(f"limit={limit!r} reads nothing; give 1 or more")
