"""What was found in a log as what its readers get. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, final

from attrs import frozen

from agentscope_rx.log._records import START, Gap, Logged, Record, number_of
from agentscope_rx.log._replies import snapshots_of

__all__ = ["PAGE_BYTES", "Found", "cut", "page"]

PAGE_BYTES: Final = 2**20
"""What a page has at most, but for one event that is larger."""


@final
@frozen
class Found:
    """What a log has found.

    Attributes:
        known: whether it has, or had just before the oldest, the event at the cursor; if not, the rest is
            from the beginning of what is kept.
        events: the events that follow.
        base: the cursor of the newest event that is not kept; `START` if all are.
        condensate: what the events up to `base` have come to; not needed if the cursor is known.
    """

    known: bool
    events: Sequence[Logged]
    base: str = START
    condensate: bytes | None = None


def page(after: str, found: Found) -> tuple[Record, ...]:
    """Return what a reader gets that has asked for what is behind `after`.

    Errors: `LogReadError`.
    """
    events = found.events
    begins = after if found.known else found.base
    # A server, or somebody, may have dropped events without a word.
    whole = not events or number_of(events[0].cursor) == number_of(begins) + 1
    if whole and begins == after and (found.known or after == START):
        return tuple(events)
    snapshots = snapshots_of(found.condensate) if whole and found.condensate is not None else ()
    return Gap(after, begins, snapshots), *events


def cut(records: Iterable[Logged]) -> list[Logged]:
    """Return the first of some records, as many as are a page."""
    taken: list[Logged] = []
    size = 0
    for record in records:
        size += len(record.data)
        if taken and size > PAGE_BYTES:
            break
        taken.append(record)
    return taken
