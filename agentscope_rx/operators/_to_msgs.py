"""to_msgs: the message of every reply of a long stream."""

from __future__ import annotations

from reactivex import Observable, abc

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import AgentEndEvent, AgentEvent, AgentStartEvent
from agentscope_rx.message import AssistantMessage
from agentscope_rx.operators._attach import attach
from agentscope_rx.operators._fold import ReplyFold, Scope, Seed, check_selection
from agentscope_rx.typing import Operator

__all__ = ["to_msgs"]


def to_msgs(
    *, seed: Seed | None = None, scope: Scope = "reply", remember: int = 1000
) -> Operator[AgentEvent, AssistantMessage]:
    """Fold each reply of a long stream into its message.

    1. Events are grouped by reply, and each reply is folded as by `to_msg`; replies may run side by side.
    2. A reply's message is emitted at its AgentEnd, and again, fuller, when a paused reply went on and ends.
    3. When the source completes or fails, the messages of replies that still run are emitted first, in order
       of opening.
    4. Of a finished reply only the id is kept once another one speaks, of the newest `remember`: what comes
       late, or again, makes no message. A reply that paused, stopped or failed is kept whole: it may go on.

    Args:
        seed: a paused message, or a checkpoint, of a reply that may go on.
        scope: `"call"` makes one message of everything from AgentStart to AgentEnd.
        remember: how many finished replies are known by their ids.

    Marble:
        -S-a-E-s-b-#                  S…E one reply, s… another
        -----x---(y,#)                x, y = their messages
    Shape:  Observable[AgentEvent] → Observable[AssistantMessage].
    Errors: those of the source, after what still ran. `ConfigurationError` at the call for wrong arguments.
    """
    check_selection(None, seed, scope)
    if remember < 0:
        raise ConfigurationError(f"to_msgs(remember={remember!r}): give a number of replies, 0 or more")

    def operator(source: Observable[AgentEvent]) -> Observable[AssistantMessage]:
        def subscribe(
            observer: abc.ObserverBase[AssistantMessage], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            replies = _Replies(seed, scope, remember)

            def on_next(event: AgentEvent) -> None:
                ended = replies.take(event)
                if ended is not None:
                    observer.on_next(ended)

            def flush() -> None:
                for fold in replies.running():
                    observer.on_next(fold.message())

            def on_error(error: Exception) -> None:
                flush()
                observer.on_error(error)

            def on_completed() -> None:
                flush()
                observer.on_completed()

            return attach(source, on_next, on_error, on_completed, scheduler)

        return Observable(subscribe)

    return operator


class _Replies:
    """The replies of a stream that are not finished, and who speaks."""

    def __init__(self, seed: Seed | None, scope: Scope, remember: int) -> None:
        self._scope: Scope = scope
        self._remember = remember
        self._folds: dict[str, ReplyFold] = {}
        self._finished: dict[str, None] = {}
        self._speaker: ReplyFold | None = ReplyFold(seed=seed, scope=scope)
        if seed is not None:
            self._folds[self._speaker.reply_id or ""] = self._speaker

    def take(self, event: AgentEvent) -> AssistantMessage | None:
        """Give an event to its reply; return the message of a reply that has ended with it."""
        fold = self._speaker
        if fold is None or not fold.apply(event):
            if self._stays(event):
                return None
            fold = self._hand_over(getattr(event, "reply_id", ""))
            if fold is None or not fold.apply(event):
                return None
        self._folds.setdefault(fold.reply_id or "", fold)
        return fold.message() if isinstance(event, AgentEndEvent) else None

    def _stays(self, event: AgentEvent) -> bool:
        """Return whether an event that the speaker did not take leaves the word to it."""
        if not isinstance(event, AgentEvent) or event.source:  # pyright: ignore[reportUnnecessaryIsInstance] - a stream may carry anything
            return True
        if self._scope == "call" and not isinstance(event, AgentStartEvent):
            return True
        reply_id: str = getattr(event, "reply_id", "")
        return not reply_id or (self._speaker is not None and reply_id == self._speaker.reply_id)

    def _hand_over(self, reply_id: str) -> ReplyFold | None:
        """Let another reply speak, if it is not finished; the one before is forgotten, if that is."""
        before = self._speaker
        if before is not None and before.finished:
            finished = before.reply_id or ""
            self._folds.pop(finished, None)
            self._finished[finished] = None
            if len(self._finished) > self._remember:
                del self._finished[next(iter(self._finished))]
        if reply_id in self._finished:
            self._speaker = None
        else:
            self._speaker = self._folds.get(reply_id) or ReplyFold(reply_id, scope=self._scope)
        return self._speaker

    def running(self) -> list[ReplyFold]:
        """Return the replies that have not ended, in order of opening."""
        return [fold for fold in dict.fromkeys(self._folds.values()) if not fold.complete]
