"""What a call is given, and what follows from it for the session's state. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, final

from attrs import evolve, frozen

from agentscope_rx.agent._transition import open_calls
from agentscope_rx.errors import ConfigurationError, OpenCallsError
from agentscope_rx.identity import new_id
from agentscope_rx.message import AssistantMessage, Msg, MsgRole, UserMessage
from agentscope_rx.state import AgentState

__all__ = ["CallInput", "Plan", "messages_of", "plan"]

CallInput: TypeAlias = str | Msg | Sequence[Msg] | None
"""What a call brings: text, messages, or None to go on with the last unfinished reply."""


def messages_of(input: CallInput) -> tuple[Msg, ...]:
    """Return the messages of a call's input; raise `ConfigurationError` if it is something else."""
    if input is None:
        return ()
    if isinstance(input, str):
        return (UserMessage(input),)
    if isinstance(input, Msg):
        return _checked((input,))
    if isinstance(input, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        return _checked(tuple(input))
    raise ConfigurationError(f"the input is {input!r}; give a string, a Msg, a sequence of Msg, or None")


def _checked(msgs: tuple[Msg, ...]) -> tuple[Msg, ...]:
    for msg in msgs:
        if not isinstance(msg, Msg):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise ConfigurationError(f"the input holds {msg!r}; wrap text in UserMessage(…)")
        if msg.role is MsgRole.SYSTEM:
            raise ConfigurationError("the input holds a SYSTEM message; use sys_prompt= or on_system_prompt")
    return msgs


@final
@frozen
class Plan:
    """What a call is going to do.

    Attributes:
        reply_id: the reply that it works on.
        history: the messages before that reply.
        msgs: the messages that this call adds.
        resumed: the reply so far, if the call goes on with one.
        iteration: reasoning phases that the reply has begun already.
    """

    reply_id: str
    history: tuple[Msg, ...]
    msgs: tuple[Msg, ...] = ()
    resumed: AssistantMessage | None = None
    iteration: int = 0


def plan(state: AgentState, msgs: tuple[Msg, ...]) -> Plan:
    """Return what a call with these messages does in this state.

    1. No message: the last reply goes on under its id, if it is not finished; else a new reply begins.
    2. Messages: a new reply begins; not while tool calls of the last one are open.
    3. A message that came with a call that failed is not taken twice.

    Errors: `OpenCallsError`.
    """
    unfinished = _unfinished(state)
    if not msgs and unfinished is not None:
        history = tuple(msg for msg in state.context if msg.id != unfinished.id)
        return Plan(unfinished.id, history, (), unfinished, state.cur_iter)
    if unfinished is not None and (calls := open_calls(unfinished)):
        raise OpenCallsError(tuple(call.id for call in calls))
    return Plan(new_id(), state.context, tuple(_new(state, msgs, again=unfinished is None)))


def _unfinished(state: AgentState) -> AssistantMessage | None:
    last = state.context[-1] if state.context and state.checkpoint is not None else None
    return last if isinstance(last, AssistantMessage) else None


def _new(state: AgentState, msgs: tuple[Msg, ...], again: bool) -> Iterable[Msg]:
    """The messages that the context lacks; with `again`, one that it has is said once more."""
    known = {msg.id for msg in state.context}
    for msg in msgs:
        if msg.id not in known:
            known.add(msg.id)
            yield msg
        elif again:
            yield evolve(msg, id=new_id())
