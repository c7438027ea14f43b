"""What a log of events does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from agentscope_rx import wire
from agentscope_rx.errors import ConfigurationError, LogConflictError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
)
from agentscope_rx.log._follow import Follower
from agentscope_rx.log._records import START, Record, StreamKey

__all__ = ["LIMIT", "MAX_LEN", "TTL", "EventLog", "check_end", "check_limits", "encoded", "is_durable"]

LIMIT: Final = 1_000
"""Events that readers get at once, if they do not say."""

MAX_LEN: Final = 10_000
"""Events that are kept of a stream, by default."""

TTL: Final = 7 * 24 * 3600.0
"""Seconds after its last event that a stream is kept, by default."""

_DURABLE: Final = (AgentEndEvent, RequireExternalExecutionEvent, RequireUserConfirmEvent)


class EventLog(Protocol):
    """Keeps the events of sessions, in order, for whoever reads them from any place on.

    1. Each event has a cursor. What is read after a cursor is every later event, once, in order.
    2. A stream keeps its newest events; what older ones have come to is kept in their place. Who asks for
       events that are not kept gets a `Gap` with that, and then all that is kept. So does who brings a
       cursor that is not, or not any more, one of this stream.
    3. May be used from any event loop, thread and process at once. Cancelling a method that waits leaves open
       whether it still happens, but never half of it.

    Errors: `LogError` of all methods of a log that is closed.
    """

    async def append(
        self, key: StreamKey, events: Sequence[AgentEvent], *, after: str | None = None
    ) -> tuple[str, ...]:
        """Write events behind each other, all or none, and return their cursors.

        1. When it returns, no kill of a process undoes it; where a reply ends or asks, no loss of power
           either, as far as the log can say.
        2. With `after`, only if that is the stream's `end`.

        Errors: `LogConflictError` if another event is the last; `LogAppendError` if it cannot be written (or,
        over a network, has been and the answer was lost); `WireError` for what JSON cannot hold.
        """
        ...

    async def read(self, key: StreamKey, after: str = START, limit: int = LIMIT) -> tuple[Record, ...]:
        """Return what is kept after a cursor, at most `limit` events and about a megabyte; empty at the end.

        Read on after the cursor of the last.

        Errors: `LogReadError`.
        """
        ...

    def follow(self, key: StreamKey, after: str = START, *, limit: int = LIMIT) -> Follower:
        """Read what is kept after a cursor, and then whatever comes, as it comes: see `Follower`."""
        ...

    async def end(self, key: StreamKey) -> str:
        """Return the cursor of the last event; `START` if there is none.

        Errors: `LogReadError`.
        """
        ...

    async def delete(self, key: StreamKey) -> bool:
        """Remove a stream; say whether there was one. Who follows it gets a `Gap`.

        Errors: `LogAppendError`.
        """
        ...

    async def close(self) -> None:
        """Wait for what has begun, and let go of files, threads and connections; may be called again."""
        ...


def check_limits(max_len: int, ttl: float | None) -> None:
    """Refuse what nothing could be kept with.

    Errors: `ConfigurationError`.
    """
    if max_len < 1:
        raise ConfigurationError(f"max_len={max_len!r} keeps nothing; give 1 or more")
    if ttl is not None and ttl <= 0:
        raise ConfigurationError(f"ttl={ttl!r} keeps nothing; give seconds above 0, or None for ever")


def check_end(key: StreamKey, expected: str | None, found: str) -> None:
    """Refuse to write behind another event than the one that was expected.

    Errors: `LogConflictError`.
    """
    if expected is not None and expected != found:
        raise LogConflictError(
            f"nothing was written to {key}: somebody else has written. Read on, and decide again",
            expected=expected,
            found=found,
        )


def encoded(events: Sequence[AgentEvent]) -> list[bytes]:
    """Encode events.

    Errors: `WireError`.
    """
    return [wire.dumps_event(event) for event in events]


def is_durable(events: Sequence[AgentEvent]) -> bool:
    """Whether a reply ends with one of these, or asks."""
    return any(isinstance(event, _DURABLE) and not event.source for event in events)
