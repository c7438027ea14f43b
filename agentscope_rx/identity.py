"""Ids and time: the one seam through which events and messages get theirs.

An id is the prefix of its emitter (one per process and call, renewed after a fork) and a count, so that
ids are cheap, unique across processes, and the ids of one call compress to a run. `deterministic()`
replaces ids and clock for the length of a `with` block.
"""

from __future__ import annotations

import calendar
import itertools
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from threading import Lock
from typing import Final
from weakref import WeakSet

__all__ = ["Emitter", "deterministic", "emitting", "format_timestamp", "new_emitter", "new_id", "now"]


class Emitter:
    """A source of ids: `prefix` and a count; safe to share between threads."""

    __slots__ = ("__weakref__", "next", "prefix")

    def __init__(self, prefix: str, first: int = 1) -> None:
        self.prefix = prefix
        self.next: Callable[[], int] = itertools.count(first).__next__


# Counts of one length, so that the ids of an emitter rise as strings, too: then whoever remembers ids has to
# look up only one that does not.
_FIRST: Final = 1_000_000

_process = os.urandom(6).hex()
_calls = itertools.count(1)
_alive: Final[WeakSet[Emitter]] = WeakSet()


def _unique_prefix() -> str:
    return f"{_process}.{next(_calls)}-"


def _unique_emitter() -> Emitter:
    emitter = Emitter(_unique_prefix(), _FIRST)
    _alive.add(emitter)
    return emitter


_provider: Callable[[], Emitter] = _unique_emitter
_shared = _unique_emitter()
_emitter: Final[ContextVar[Emitter | None]] = ContextVar("agentscope_rx_emitter", default=None)
_current = _emitter.get


def new_id() -> str:
    """Return an id that no other event, message or block has, in this process or another."""
    emitter = _current() or _shared
    return f"{emitter.prefix}{emitter.next()}"


def new_emitter() -> Emitter:
    """Return an emitter of its own prefix, for one agent call."""
    return _provider()


@contextmanager
def emitting(emitter: Emitter) -> Generator[None]:
    """Make `emitter` the source of all ids that this context (its tasks, its callbacks) makes."""
    token = _emitter.set(emitter)
    try:
        yield
    finally:
        _emitter.reset(token)


_clock: Callable[[], int] = time.time_ns
_stamp: tuple[int, str] = (-1, "")
"""A time as text, and when, in nanoseconds, it is over."""
_stamping = Lock()


def now() -> str:
    """Return the time as ISO 8601 UTC with milliseconds and `Z`; it never goes back."""
    nanoseconds = _clock()
    stamp = _stamp
    return stamp[1] if nanoseconds < stamp[0] else _later(nanoseconds // 1_000_000)


def _later(milliseconds: int) -> str:
    global _stamp
    seconds, fraction = divmod(milliseconds, 1000)
    text = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{fraction:03d}Z"
    with _stamping:  # two threads at once: the later of their times stays
        _stamp = max(_stamp, ((milliseconds + 1) * 1_000_000, text))
        return _stamp[1]


def format_timestamp(created_at: str) -> str:
    """Turn an event's time into a message's: `2026-01-02T03:04:05.678Z` → `2026-01-02 03:04:05.678`.

    Cut, not rounded, to milliseconds. A time with another offset is turned into UTC, one without is taken
    as UTC; what is no ISO 8601 time comes back as it is.
    """
    try:
        moment = datetime.fromisoformat(created_at)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return created_at
    return moment.isoformat(" ", "milliseconds")


@contextmanager
def deterministic(
    prefix: str = "e", start: str = "2026-01-01T00:00:00.000Z", step_ms: int = 1
) -> Generator[None]:
    """Replace ids and clock: ids `e1, e2, …`, times from `start`, each `step_ms` later.

    For tests. Process-wide while the block runs, so that other threads see it, too.
    """
    global _provider, _shared, _clock, _stamp
    first = datetime.fromisoformat(start)
    times = itertools.count(calendar.timegm(first.utctimetuple()) * 1000 + first.microsecond // 1000, step_ms)
    emitter = Emitter(prefix)
    saved = (_provider, _shared, _clock, _stamp)
    _provider, _shared, _clock, _stamp = lambda: emitter, emitter, lambda: next(times) * 1_000_000, (-1, "")
    try:
        with emitting(emitter):
            yield
    finally:
        _provider, _shared, _clock, _stamp = saved


def _renew_after_fork() -> None:
    global _process, _stamping
    _process = os.urandom(6).hex()
    _stamping = Lock()  # the parent's may be held by a thread that the child does not have
    for emitter in _alive:
        emitter.prefix = _unique_prefix()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)
