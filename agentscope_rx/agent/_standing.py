"""How it stands with what a subagent was told. Pure."""

from __future__ import annotations

from typing import TypeAlias, final

from attrs import frozen

from agentscope_rx.agent._plan import resumable
from agentscope_rx.agent._transition import open_calls, resume
from agentscope_rx.message import AssistantMessage
from agentscope_rx.operators import ReplyFold
from agentscope_rx.state import AgentState

__all__ = ["Fresh", "GoesOn", "Said", "Standing", "Used", "standing"]


@final
@frozen
class Fresh:
    """Nobody has used the session."""


@final
@frozen
class Used:
    """Others have used the session.

    Attributes:
        left_open: whether calls are open that wait for nobody.
        waits: whether somebody is expected to answer.
    """

    left_open: bool = False
    waits: bool = False


@final
@frozen
class GoesOn:
    """It was told, and has not ended."""


@final
@frozen
class Said:
    """It was told, and has ended with `reply`."""

    reply: AssistantMessage


Standing: TypeAlias = Fresh | Used | GoesOn | Said


def standing(state: AgentState, message_id: str) -> Standing:
    """Say how it stands with a message that an agent may have been given in a session."""
    context = state.context
    place = next((i for i, msg in enumerate(context) if msg.id == message_id), None)
    unfinished = resumable(state)
    if place is None:
        if not context:
            return Fresh()
        return Used() if unfinished is None else _used(state, unfinished)
    replies = (msg for msg in context[place + 1 :] if isinstance(msg, AssistantMessage))
    reply = next(replies, None)
    if reply is None or (unfinished is not None and unfinished.id == reply.id):
        return GoesOn()
    return Said(reply)


def _used(state: AgentState, unfinished: AssistantMessage) -> Used:
    suspended = ReplyFold(unfinished.id, seed=state.checkpoint).suspended
    waits = resume(unfinished, suspended, 1, 0).waits is not None
    return Used(bool(open_calls(unfinished)) and not waits, waits)
