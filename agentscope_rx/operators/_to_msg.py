"""to_msg: a reply's events, folded into its message."""

from __future__ import annotations

from reactivex import Observable, abc

from agentscope_rx.errors import AgentScopeError
from agentscope_rx.event import AgentEvent
from agentscope_rx.message import AssistantMessage
from agentscope_rx.operators._attach import attach
from agentscope_rx.operators._fold import ReplyFold, Scope, Seed, check_selection
from agentscope_rx.typing import Operator

__all__ = ["to_msg"]


def to_msg(
    reply_id: str | None = None, *, seed: Seed | None = None, scope: Scope = "reply"
) -> Operator[AgentEvent, AssistantMessage]:
    """Fold one reply's events into its message.

    1. Keep the reply's own events, each once: by `reply_id`, else those of the first reply that speaks.
       Events of subagents, of other replies and after the end are passed over.
    2. Group them: a text, thinking or data block; a tool call with its result, questions and answers.
    3. Reduce each group to its blocks: text is concatenated, base64 joined by bytes, arguments parsed once.
    4. When the source completes, reduce the blocks, in order of opening, and what is said about the message
       as a whole (usage, reason, end) to one message; without an AgentEnd it is what there is.

    `group_reduce` and `reduce_with` are these steps for chains of your own, and
    `examples/03_message_by_hand.py` is this chain, written with RxPY's operators alone.

    Args:
        reply_id: the reply; by default the first.
        seed: a paused message, or a checkpoint, that the events go on from.
        scope: `"call"` takes everything from AgentStart to AgentEnd, for servers whose reply id changes with
            each model call.

    Marble:
        -S-t-t-E-|            S = AgentStart, t = a text delta, E = AgentEnd
        ---------(m,|)        m = the message
    Shape:  Observable[AgentEvent] → Observable[AssistantMessage], one item; none if no event was the reply's.
    Units:  usage in tokens, summed over model calls; the message's time is that of its AgentStart, in UTC.
    Errors: only those of the source, and no message before them; ours carry it as `error.partial`.
    Source: "Reconstructing messages from events".
    """
    check_selection(reply_id, seed, scope)

    def operator(source: Observable[AgentEvent]) -> Observable[AssistantMessage]:
        def subscribe(
            observer: abc.ObserverBase[AssistantMessage], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            fold = ReplyFold(reply_id, seed=seed, scope=scope)

            def on_error(error: Exception) -> None:
                if isinstance(error, AgentScopeError) and not fold.empty:
                    error.partial = fold.message()
                observer.on_error(error)

            def on_completed() -> None:
                if not fold.empty:
                    observer.on_next(fold.message())
                observer.on_completed()

            return attach(source, fold.apply, on_error, on_completed, scheduler)

        return Observable(subscribe)

    return operator
