"""What events have come to, reply by reply. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from attrs import evolve

from agentscope_rx import _json, wire
from agentscope_rx.errors import LogReadError, WireError
from agentscope_rx.event import AgentEvent, AgentStartEvent, ReplyEvent
from agentscope_rx.event.grammar import ENDS, STARTS, Lifecycle, key_of
from agentscope_rx.log._records import Logged, Snapshot
from agentscope_rx.operators import ReplyFold

__all__ = ["Replies", "Reply", "condensed", "snapshots_of"]

_Key: TypeAlias = tuple[str | None, str]


class Reply:
    """One reply of an agent or a subagent, as far as its events have come."""

    def __init__(self, source: str | None, reply_id: str, fold: ReplyFold) -> None:
        self.source = source
        self.reply_id = reply_id
        self.fold = fold
        self.begun = False
        self.open: dict[tuple[Lifecycle, str], AgentEvent] = {}

    @property
    def running(self) -> bool:
        """Whether it has begun and not ended."""
        return self.begun and not self.fold.complete

    def take(self, event: AgentEvent) -> None:
        """Take the next event."""
        kind = type(event)
        if not self.fold.apply(evolve(event, source=None) if event.source else event):
            return
        if kind is AgentStartEvent:
            self.begun = True
        elif kind in STARTS:
            self.open[STARTS[kind], key_of(event)] = event
        elif kind in ENDS:
            self.open.pop((ENDS[kind], key_of(event)), None)
        if self.fold.complete:
            self.open.clear()

    def snapshot(self) -> Snapshot:
        """Return it as a value."""
        opened = tuple(self.open.values())
        return Snapshot(self.source, self.reply_id, self.fold.checkpoint(), opened, self.running)


class Replies:
    """The replies that are told of in a stream; of those that have ended, the newest of each source."""

    def __init__(self, snapshots: Iterable[Snapshot] = ()) -> None:
        self._replies: dict[_Key, Reply] = {}
        self._newest: dict[str | None, Reply] = {}
        for snapshot in snapshots:
            self.resume(snapshot)

    def __iter__(self) -> Iterator[Reply]:
        return iter(self._replies.values())

    def resume(self, snapshot: Snapshot) -> None:
        """Go on from what earlier events have come to."""
        fold = ReplyFold(snapshot.reply_id, seed=snapshot.checkpoint)
        reply = self._add(Reply(snapshot.source, snapshot.reply_id, fold))
        reply.begun = snapshot.running
        for start in snapshot.open:
            reply.open[STARTS[type(start)], key_of(start)] = start

    def take(self, event: AgentEvent) -> None:
        """Take the next event; one that names no reply is of the newest of its source."""
        source = event.source or None
        reply_id = getattr(event, "reply_id", "") if isinstance(event, ReplyEvent) else ""
        reply = self._replies.get((source, reply_id)) if reply_id else self._newest.get(source)
        if reply is None:
            if not reply_id:
                return
            reply = self._add(Reply(source, reply_id, ReplyFold(reply_id)))
        reply.take(event)

    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return them as values."""
        return tuple(reply.snapshot() for reply in self if not reply.fold.empty)

    def _add(self, reply: Reply) -> Reply:
        before = self._newest.get(reply.source)
        if before is not None and not before.running:
            del self._replies[before.source, before.reply_id]
        self._replies[reply.source, reply.reply_id] = self._newest[reply.source] = reply
        return reply


def condensed(before: bytes | None, records: Iterable[Logged]) -> bytes:
    """Return what the oldest events of a stream come to, given what those before them have.

    What cannot be read has come to nothing.
    """
    try:
        replies = Replies(() if before is None else snapshots_of(before))
    except LogReadError:
        replies = Replies()
    for record in records:
        try:
            replies.take(record.decode())
        except WireError:
            continue
    return _json.dumps([_written(snapshot) for snapshot in replies.snapshots()])


def snapshots_of(condensate: bytes) -> tuple[Snapshot, ...]:
    """Read what `condensed` has written.

    Errors: `LogReadError`.
    """
    try:
        return tuple(_read(members) for members in _json.loads(condensate))
    except (_json.JSONError, WireError, KeyError, TypeError, ValueError) as error:
        raise LogReadError(f"what older events have come to is damaged: {error}; delete the stream") from None


def _written(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "source": snapshot.source,
        "replyId": snapshot.reply_id,
        "checkpoint": snapshot.checkpoint,
        "open": [wire.to_dict(start) for start in snapshot.open],
        "running": snapshot.running,
    }


def _read(members: dict[str, Any]) -> Snapshot:
    return Snapshot(
        members["source"],
        members["replyId"],
        members["checkpoint"],
        tuple(wire.from_dict(AgentEvent, start) for start in members["open"]),
        members["running"],
    )
