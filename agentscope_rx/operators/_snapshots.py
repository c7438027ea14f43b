"""snapshots: the message so far, after every event."""

from __future__ import annotations

from threading import RLock
from typing import Any, Final, final
from weakref import ref

from reactivex import Observable, abc

from agentscope_rx.event import AgentEvent
from agentscope_rx.message import AssistantMessage
from agentscope_rx.operators._attach import attach
from agentscope_rx.operators._fold import ReplyFold, Scope, Seed, check_selection
from agentscope_rx.typing import Operator

__all__ = ["Snapshot", "snapshots"]

SHORT: Final = 256


def snapshots(
    reply_id: str | None = None, *, seed: Seed | None = None, scope: Scope = "reply"
) -> Operator[AgentEvent, Snapshot]:
    """Emit, after every event, what the reply has become.

    1. The events are folded as by `to_msg`.
    2. After each event a `Snapshot` is emitted. To make one costs the same whatever the message has become;
       the message is built when it is read.
    3. A snapshot stays what it is, also if it is read late. What late reading needs is kept only as long as
       there is a snapshot that may be read late.

    Args:
        reply_id: the reply; by default the first.
        seed: a paused message, or a checkpoint, that the events go on from.
        scope: `"call"` takes everything from AgentStart to AgentEnd.

    Marble:
        -S-a-b-E-|
        -1-2-3-4-|            3.message is what to_msg makes of -S-a-b-|
    Shape:  Observable[AgentEvent] → Observable[Snapshot], as many items.
    Errors: those of the source.
    """
    check_selection(reply_id, seed, scope)

    def operator(source: Observable[AgentEvent]) -> Observable[Snapshot]:
        def subscribe(
            observer: abc.ObserverBase[Snapshot], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            fold = ReplyFold(reply_id, seed=seed, scope=scope)
            lock = RLock()  # a snapshot may be read on another thread
            newest: ref[Snapshot] | None = None

            def on_next(event: AgentEvent) -> None:
                nonlocal newest
                with lock:
                    before = None if newest is None else newest()
                    after = Snapshot._after(before, fold, lock, event)  # pyright: ignore[reportPrivateUsage]
                newest = ref(after)
                observer.on_next(after)

            return attach(source, on_next, observer.on_error, observer.on_completed, scheduler)

        return Observable(subscribe)

    return operator


@final
class Snapshot:
    """A reply at one moment.

    Attributes:
        complete: whether the reply has ended, and nothing has started it again.
    """

    # The newest snapshot reads from the fold itself. When that goes on, the snapshot becomes a link to the
    # one before it, over the event between them; the first link of a chain holds a copy of the fold. A chain
    # begins anew when it has become as long as what there is to copy, so that a copy costs no more than its
    # events did. Links point backwards only, so that a chain lives as long as a snapshot of it does.

    __slots__ = (
        "__weakref__",
        "_before",
        "_event",
        "_fold",
        "_links",
        "_lock",
        "_message",
        "_shared",
        "complete",
    )

    def __init__(
        self, fold: ReplyFold, lock: RLock, before: Snapshot | None = None, event: AgentEvent | None = None
    ) -> None:
        self.complete = fold.complete
        self._lock = lock
        self._before = before
        self._event = event
        self._links = 0 if before is None else before._links + 1
        self._fold: ReplyFold | None = fold
        self._shared = True  # the fold is not ours to move
        self._message: AssistantMessage | None = None

    @classmethod
    def _after(cls, before: Snapshot | None, fold: ReplyFold, lock: RLock, event: AgentEvent) -> Snapshot:
        """Let the fold take an event; return its snapshot then, given the one before if somebody holds it."""
        if fold.is_foreign(event):
            fold.apply(event)
            return before or cls(fold, lock)
        if before is not None:
            before._leave(fold)
        fold.apply(event)
        return cls(fold, lock, before, event)

    @property
    def message(self) -> AssistantMessage:
        """The message of this moment."""
        if self._message is None:
            with self._lock:
                self._message = self._at_this_moment().message()
        return self._message

    @property
    def checkpoint(self) -> dict[str, Any]:
        """All that the fold knew at this moment, as a JSON value: a `seed` to go on from."""
        with self._lock:
            return self._at_this_moment().checkpoint()

    def __repr__(self) -> str:
        return f"Snapshot({self.message!r}, complete={self.complete})"

    def _leave(self, fold: ReplyFold) -> None:
        if self._before is None or self._links > max(SHORT, fold.events // 2):
            self._before = self._event = None
            self._links = 0
            self._fold = fold.copy()
        else:
            self._fold = None

    def _at_this_moment(self) -> ReplyFold:
        events: list[AgentEvent] = []
        link = self
        while link._fold is None:
            assert link._before is not None
            assert link._event is not None
            events.append(link._event)
            link = link._before
        if not events:
            return link._fold
        if link._shared:
            fold = link._fold.copy()
        else:  # what was read before this one: move on from there, so that reading in order is linear
            fold, link._fold = link._fold, None
        for event in reversed(events):
            fold.apply(event)
        self._fold = fold
        self._shared = False
        return fold
