"""Ids and time: the one seam through which events and messages get theirs.

An id is the prefix of its emitter (one per process and call, renewed after a fork) and a count, so that
ids are cheap, unique across processes, and the ids of one call compress to a run. `deterministic()`
replaces ids and clock for the length of a `with` block.
"""

from __future__ import annotations

import itertools
import os
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

__all__ = ["Emitter", "deterministic", "emitting", "format_timestamp", "new_emitter", "new_id", "now"]


class Emitter:
    """A source of ids: `prefix` + 1, 2, 3 …; safe to share between threads."""

    __slots__ = ("next", "prefix")

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.next: Callable[[], int] = itertools.count(1).__next__


_process = secrets.token_hex(6)
_calls = itertools.count(1)


def _next_emitter() -> Emitter:
    return Emitter(f"{_process}.{next(_calls)}-")


_provider: Callable[[], Emitter] = _next_emitter
_shared = _next_emitter()
_emitter: Final = ContextVar("agentscope_rx_emitter", default=_shared)
_current = _emitter.get


def new_id() -> str:
    """Return an id that no other event, message or block has, in this process or another."""
    emitter = _current()
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


def now() -> str:
    """Return the time as ISO 8601 UTC with milliseconds and `Z`; it never goes back."""
    global _stamp
    milliseconds = _clock() // 1_000_000
    stamp = _stamp
    if milliseconds <= stamp[0]:
        return stamp[1]
    seconds, fraction = divmod(milliseconds, 1000)
    text = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{fraction:03d}Z"
    _stamp = (milliseconds, text)
    return text


def format_timestamp(created_at: str) -> str:
    """Turn an event's time into a message's: `2026-01-02T03:04:05.678Z` → `2026-01-02 03:04:05.678`.

    Cut, not rounded, to milliseconds; what is no ISO 8601 UTC time comes back as it is.
    """
    day, separator, rest = created_at.partition("T")
    if not separator:
        return created_at
    clock, _, fraction = rest.removesuffix("Z").partition(".")
    return f"{day} {clock}.{(fraction + '000')[:3]}"


@contextmanager
def deterministic(
    prefix: str = "e", start: str = "2026-01-01T00:00:00.000Z", step_ms: int = 1
) -> Generator[None]:
    """Replace ids and clock: ids `e1, e2, …`, times from `start`, each `step_ms` later.

    For tests. Process-wide while the block runs, so that other threads see it too.
    """
    import calendar

    global _provider, _clock, _stamp
    whole, _, fraction = start.removesuffix("Z").partition(".")
    first = calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) * 1000 + int((fraction + "000")[:3])
    times = itertools.count(first, step_ms)
    emitter = Emitter(prefix)
    saved = (_provider, _clock, _stamp)
    _provider, _clock, _stamp = (lambda: emitter), (lambda: next(times) * 1_000_000), (-1, "")
    try:
        with emitting(emitter):
            yield
    finally:
        _provider, _clock, _stamp = saved


def _renew_after_fork() -> None:
    global _process
    _process = secrets.token_hex(6)
    fresh = _next_emitter()
    current = _current()
    current.prefix, current.next = fresh.prefix, fresh.next


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)
