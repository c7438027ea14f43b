"""blocks: each content block when it is finished."""

from __future__ import annotations

from reactivex import Observable, abc

from agentscope_rx.event import AgentEvent
from agentscope_rx.message import ContentBlock
from agentscope_rx.operators._attach import attach
from agentscope_rx.operators._fold import ReplyFold, Scope, check_selection
from agentscope_rx.operators._merge import DELTAS
from agentscope_rx.typing import Operator

__all__ = ["blocks"]


def blocks(reply_id: str | None = None, *, scope: Scope = "reply") -> Operator[AgentEvent, ContentBlock]:
    """Emit each content block of a reply when it is finished, in the order in which blocks opened.

    1. The events are grouped and folded as by `to_msg`, and the blocks are the content of its message.
    2. Text, thinking and data are finished at their End, a tool call with its result, a result at its End.
    3. A finished block waits for those that opened before it.
    4. When the reply ends and no call of it waits for an answer, or the source completes, what is left is
       emitted as it is; only then do blocks come that name no reply (`"call"`: before an AgentStart).

    Args:
        reply_id: the reply; by default the first.
        scope: `"call"` takes everything from AgentStart to AgentEnd.

    Marble:
        -S-t-a-T-c-C-r-R-E-|          t…T a text block, c…C a tool call, r…R its result
        -------x-------(yz)-|         x = the text, y = the call, z = the result
    Shape:  Observable[AgentEvent] → Observable[ContentBlock].
    Errors: those of the source; no unfinished block before them.
    """
    check_selection(reply_id, None, scope)

    def operator(source: Observable[AgentEvent]) -> Observable[ContentBlock]:
        def subscribe(
            observer: abc.ObserverBase[ContentBlock], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            fold = ReplyFold(reply_id, scope=scope)
            emitted = 0

            def emit(everything: bool) -> None:
                nonlocal emitted
                drafts = fold.blocks
                while emitted < len(drafts) and (everything or drafts[emitted].final):
                    emitted += 1
                    observer.on_next(drafts[emitted - 1].block())

            def on_next(event: AgentEvent) -> None:
                # Before a reply has spoken, one cannot know whose the blocks are.
                if fold.apply(event) and fold.reply_id is not None and not isinstance(event, DELTAS):
                    emit(everything=fold.complete and not fold.waits)

            def on_completed() -> None:
                emit(everything=True)
                observer.on_completed()

            return attach(source, on_next, observer.on_error, on_completed, scheduler)

        return Observable(subscribe)

    return operator
