"""well_formed: an error where a stream of events breaks the grammar."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from reactivex import Observable, abc

from agentscope_rx.errors import (
    NotAnEventError,
    OrphanEventError,
    ProtocolError,
    ReplyMismatchError,
    UnclosedBlockError,
)
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    ReplyEvent,
)
from agentscope_rx.event.grammar import DELTAS, ENDS, OF_A_MODEL_CALL, STARTS, Lifecycle, key_of
from agentscope_rx.typing import Operator

__all__ = ["well_formed"]


def well_formed() -> Operator[Any, AgentEvent]:
    """Pass the events of one reply, and fail where they break the grammar.

    1. A block, a tool call, a tool's result and a model call each have a Start, then deltas, then an End. A
       key may be used again after its End; blocks and results may stand open side by side.
    2. At a ModelCallStart and a ModelCallEnd no text, thinking, data block or tool call is open. Blocks
       outside of model calls are fine, and so is a result without its call: a resumed reply has both.
    3. If there is an AgentStart it is the first event of its reply, and AgentEnd the last, with nothing open.
       An AgentStart after that goes on with the same reply. A stream without the two, as of a phase in a
       middleware, is checked without them.
    4. There is one reply: every event names the same `reply_id`, or none.
    5. Each subagent's events, those with a `source`, are such a stream of their own for each of its replies.
    6. Custom, exposing and unknown events may stand anywhere.
    7. A copy of an event is a second event here: leave out what a reconnection brought twice before.

    Marble:
        -S-a-b-E-|            S = the Start, a, b = deltas, E = the End of a block
        -S-a-b-E-|
        -S-a-|
        -S-a-#                UnclosedBlockError
    Shape:  Observable[AgentEvent] → Observable[AgentEvent], the same items.
    Errors: those of the source; at the first violation `OrphanEventError`, `UnclosedBlockError`,
        `ReplyMismatchError` or `NotAnEventError`, all of them a `ProtocolError`.
    """

    def operator(source: Observable[Any]) -> Observable[AgentEvent]:
        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            grammar = _Grammar()

            def on_next(event: Any) -> None:
                try:
                    grammar.take(event)
                except ProtocolError as error:
                    observer.on_error(error)
                else:
                    observer.on_next(event)

            def on_completed() -> None:
                try:
                    grammar.finish()
                except ProtocolError as error:
                    observer.on_error(error)
                else:
                    observer.on_completed()

            return source.subscribe(on_next, observer.on_error, on_completed, scheduler=scheduler)

        return Observable(subscribe)

    return operator


class _Grammar:
    """The replies of a stream, so far."""

    def __init__(self) -> None:
        self._replies: dict[tuple[str, str], _Reply] = {}
        self._current: dict[str, _Reply] = {}

    def take(self, event: object) -> None:
        """Check the next event."""
        if not isinstance(event, AgentEvent):
            raise NotAnEventError(f"{event!r} is no AgentEvent; emit events only, or use of_type() first")
        if isinstance(event, ReplyEvent):
            self._reply_of(event).take(event)

    def finish(self) -> None:
        """Check that nothing is open."""
        for reply in self._replies.values():
            reply.finish()

    def _reply_of(self, event: ReplyEvent) -> _Reply:
        source, reply_id = event.source or "", event.reply_id
        current = self._current.get(source)
        if current and (not reply_id or reply_id == current.reply_id):
            return current
        if current and not current.reply_id:
            current.reply_id = reply_id
        elif current and not source:
            raise ReplyMismatchError(
                f"{_told(event)} is of another reply than {current.reply_id!r}; a call has one reply, and of "
                "a stream of many take one: ops.group_by(lambda event: event.reply_id), ops.flat_map(…)"
            )
        else:
            current = self._replies.get((source, reply_id)) or _Reply(reply_id)
        self._current[source] = self._replies[source, reply_id] = current
        return current


class _Reply:
    """What is open of one reply."""

    def __init__(self, reply_id: str) -> None:
        self.reply_id = reply_id
        self._frame: AgentStartEvent | None = None
        self._begun = False
        self._ended = False
        self._open: dict[tuple[Lifecycle, str], ReplyEvent] = {}

    def take(self, event: ReplyEvent) -> None:
        kind = type(event)
        if isinstance(event, AgentStartEvent):
            self._start(event)
        elif self._ended:
            raise ReplyMismatchError(
                f"{_told(event)} came after the AgentEnd of its reply; AgentEnd is the last, "
                "and an AgentStart goes on with the reply"
            )
        elif isinstance(event, AgentEndEvent):
            self._end(event)
        elif kind in STARTS:
            self._open_one(STARTS[kind], event)
        elif kind in DELTAS:
            if (DELTAS[kind], key_of(event)) not in self._open:
                raise _orphan(event)
        elif kind in ENDS:
            self._close_one(ENDS[kind], event)
        self._begun = True

    def finish(self) -> None:
        self._check_closed(Lifecycle, "when the stream completed")
        if self._frame:
            raise UnclosedBlockError(
                f"{_told(self._frame)} has no AgentEnd when the stream completed; end every reply, "
                "also one that fails"
            )

    def _start(self, event: AgentStartEvent) -> None:
        if self._frame:
            raise UnclosedBlockError(
                f"{_told(self._frame)} is still open at {_told(event)}; end it with an AgentEnd first"
            )
        if self._begun and not self._ended:
            raise ReplyMismatchError(
                f"{_told(event)} came after other events of its reply; AgentStart is the first"
            )
        self._frame, self._ended = event, False

    def _end(self, event: AgentEndEvent) -> None:
        if not self._frame:
            raise _orphan(event)
        self._check_closed(Lifecycle, f"at {_told(event)}")
        self._frame, self._ended = None, True

    def _open_one(self, kind: Lifecycle, event: ReplyEvent) -> None:
        if kind == Lifecycle.MODEL:
            self._check_closed((*OF_A_MODEL_CALL, Lifecycle.MODEL), f"at {_told(event)}")
        key = kind, key_of(event)
        if key in self._open:
            raise _unclosed(self._open[key], f"at {_told(event)}")
        self._open[key] = event

    def _close_one(self, kind: Lifecycle, event: ReplyEvent) -> None:
        if kind == Lifecycle.MODEL and (Lifecycle.MODEL, "") in self._open:
            self._check_closed(OF_A_MODEL_CALL, f"at {_told(event)}")
        if self._open.pop((kind, key_of(event)), None) is None:
            raise _orphan(event)

    def _check_closed(self, kinds: Container[Lifecycle], when: str) -> None:
        for (kind, _), start in self._open.items():
            if kind in kinds:
                raise _unclosed(start, when)


def _told(event: ReplyEvent) -> str:
    """Name an event as a reader would look for it."""
    words = [type(event).__name__.removesuffix("Event")]
    if key := key_of(event):
        words.append(repr(key))
    words.append(f"of reply {event.reply_id!r}")
    if event.source:
        words.append(f"from {event.source!r}")
    return " ".join(words)


def _orphan(event: ReplyEvent) -> OrphanEventError:
    return OrphanEventError(f"{_told(event)} has no Start; let the Start pass, or leave this out as well")


def _unclosed(start: ReplyEvent, when: str) -> UnclosedBlockError:
    return UnclosedBlockError(f"{_told(start)} is still open {when}; let its End pass, or emit one")
