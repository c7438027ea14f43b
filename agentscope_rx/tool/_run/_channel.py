"""From a running tool, on whatever thread, to the stream of its call."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from threading import Semaphore, get_ident
from typing import Any, Final, TypeAlias, final

from attrs import frozen

from agentscope_rx.tool._emitter import Cancelled, Emitted

__all__ = ["Channel", "Outcome", "Piece", "Raised", "Returned", "TimedOut"]

_LEAD: Final = 1024
"""Pieces that a sync tool may be ahead of the reader."""

_ROOM: Final = 64
"""Pieces that an async tool that awaits its `emit` may be ahead of the reader."""


@final
@frozen
class Returned:
    """What a tool has returned: a result, or something to wait for or to stream."""

    value: Any


@final
@frozen
class Raised:
    """What a tool has raised; `is_final` if it has done its work by then."""

    error: BaseException
    is_final: bool = False


@final
@frozen
class TimedOut:
    """The tool's time is over."""

    seconds: float


Outcome: TypeAlias = Returned | Raised | TimedOut
Piece: TypeAlias = Emitted | Outcome


class Channel:
    """Carries pieces in order, with one wake-up of the loop per burst.

    Attributes:
        begun: whether the tool has given something.
        cancelled: whether nobody reads any more.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.begun = False
        self.cancelled = False
        self._loop = loop
        self._thread = get_ident()
        self._pieces: deque[Piece] = deque()
        self._lead = Semaphore(_LEAD)
        self._signalled = False
        self._reader: asyncio.Future[None] | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._when_room = _Awaitable(self._room.wait)

    def send(self, piece: Emitted) -> Awaitable[object]:
        """What a tool emits: see `ToolEmitter.emit`."""
        self.begun = True
        if get_ident() != self._thread:
            self._lead.acquire()
            if self.cancelled:
                self._lead.release()  # for the next thread that waits
                raise Cancelled
            self.put(piece)
        elif not self.cancelled:
            self._pieces.append(piece)
            if len(self._pieces) >= _ROOM:
                self._room.clear()
            self._wake()
        return self._when_room

    def put(self, piece: Piece) -> None:
        """Add a piece, whatever the lead, from any thread."""
        self._pieces.append(piece)
        if not self._signalled:
            self._signalled = True
            with suppress(RuntimeError):  # the loop is closed: nobody reads any more
                self._loop.call_soon_threadsafe(self._signal)

    async def next(self) -> Piece:
        """Take the next piece."""
        while not self._pieces:
            self._reader = self._loop.create_future()
            await self._reader
        piece = self._pieces.popleft()
        self._lead.release()
        if len(self._pieces) < _ROOM:
            self._room.set()
        return piece

    def cancel(self) -> None:
        """Take nothing more; let go of a tool that waits for room."""
        self.cancelled = True
        self._lead.release()
        self._room.set()

    def _signal(self) -> None:
        self._signalled = False  # before the pieces are read: what comes now signals again
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


@final
@frozen
class _Awaitable:
    """What may be awaited, or not, any number of times."""

    start: Callable[[], Coroutine[Any, Any, object]]

    def __await__(self) -> Generator[Any, None, object]:
        return self.start().__await__()
