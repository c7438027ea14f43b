"""Which events are a reply's own (R2–R4, R19)."""

from __future__ import annotations

from typing import Final

from agentscope_rx.event import (
    AgentEvent,
    AgentStartEvent,
    ExternalExecutionResultEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.operators._fold._state import FoldState

__all__ = ["takes"]

RESTARTS: Final = frozenset({AgentStartEvent, UserConfirmResultEvent, ExternalExecutionResultEvent})


def takes(state: FoldState, event: AgentEvent) -> bool:
    """Note who speaks; return whether the event is the reply's own, new, and in time.

    1. An event with a source is a subagent's.
    2. An event belongs to the reply that it names; one that names none, to that of the event before it.
    3. A copy of an event has no effect; an event without an id is no copy. An event that names no reply keeps
       its id also where it is another's: a copy may come when this reply speaks.
    4. After its end a reply takes no event but those that start it again.
    """
    if not isinstance(event, AgentEvent) or event.source:  # pyright: ignore[reportUnnecessaryIsInstance] - a stream may carry anything
        return False
    reply_id: str = getattr(event, "reply_id", "")
    belongs = _belongs_to_call if state.scope == "call" else _belongs_to_reply
    if not belongs(state, event, reply_id):
        state.ours = False
        state.speaker = None
        if not reply_id:
            state.ids.add(event.id)
        return False
    state.ours = True
    if not state.ids.add(event.id):
        return False
    if state.settled:
        if type(event) not in RESTARTS:
            return False
        state.settled = False
        state.reasons.start()
    if state.reply_id is not None and (reply_id or state.speaker is None):
        state.speaker = reply_id or state.reply_id
    if state.created_at is None:
        state.created_at = event.created_at
    return True


def _belongs_to_reply(state: FoldState, _: AgentEvent, reply_id: str) -> bool:
    if not reply_id:
        return state.ours
    if state.reply_id is None:
        state.begin(reply_id)
    return reply_id == state.reply_id


def _belongs_to_call(state: FoldState, event: AgentEvent, reply_id: str) -> bool:
    if type(event) is not AgentStartEvent:
        return state.ours
    if state.reply_id is None:
        state.begin(reply_id)
    elif state.ours and not state.started:
        state.reply_id = reply_id  # the call that goes on from a seed
    return reply_id == state.reply_id
