"""What a call is going to do, from its input and the session's state. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import final

from attrs import evolve, field, frozen

from agentscope_rx.agent._input import Given
from agentscope_rx.agent._route import Answers, route
from agentscope_rx.agent._transition import open_calls
from agentscope_rx.agent._waiting import Waiting, waits_of
from agentscope_rx.errors import AnswerError, ConfigurationError, OpenCallsError
from agentscope_rx.identity import new_id
from agentscope_rx.message import AssistantMessage, Msg, TextBlock
from agentscope_rx.operators import ReplyFold
from agentscope_rx.state import AgentState

__all__ = ["Plan", "plan", "resumable"]


@final
@frozen
class Plan:
    """What a call is going to do.

    Attributes:
        reply_id: the reply that it works on.
        history: the messages before that reply.
        later: messages that have come since that reply has paused.
        msgs: the messages that this call adds.
        answered: whether this call brings answers.
        answers: those for the reply itself.
        children: those for subagents, by the call that each works for.
        waits: the subagents that have paused, or were stopped, by the call that each works for.
        resumed: the reply so far, if the call goes on with one.
        iteration: reasoning phases that the reply has begun already.
    """

    reply_id: str
    history: tuple[Msg, ...]
    later: tuple[Msg, ...] = ()
    msgs: tuple[Msg, ...] = ()
    answered: bool = False
    answers: Answers | None = None
    children: Mapping[str, Answers] = field(factory=dict[str, Answers])
    waits: Mapping[str, Waiting] = field(factory=dict[str, Waiting])
    resumed: AssistantMessage | None = None
    iteration: int = 0


def plan(state: AgentState, given: Given) -> Plan:
    """Return what a call with this input does in this state.

    1. Nothing given: the last reply goes on under its id, if it is not finished; else a new reply begins.
    2. Answers: the reply that waits for them goes on, also where they are for subagents of its calls;
       messages beside them become hints in it.
    3. Messages: a new reply begins; not while tool calls of the last one are open.
    4. A message that came with a call that failed is not taken twice.

    Errors: `OpenCallsError`; `AnswerError`.
    """
    unfinished = resumable(state)
    if given.answers is not None:
        return _answered(state, given.answers, unfinished, given.msgs)
    if not given.msgs and unfinished is not None:
        return _resumed(state, unfinished)
    if unfinished is not None and (calls := open_calls(unfinished)):
        raise OpenCallsError(tuple(call.id for call in calls))
    msgs = tuple(_new(state, given.msgs, again=unfinished is None))
    return Plan(new_id(), state.context, msgs=msgs)


def _answered(
    state: AgentState,
    answers: Answers,
    unfinished: AssistantMessage | None,
    msgs: tuple[Msg, ...],
) -> Plan:
    if unfinished is None:
        raise AnswerError("no reply waits for answers: it has ended, or there was none; they are stale")
    _check_words(msgs)
    resumed = _resumed(state, unfinished)
    suspended = ReplyFold(unfinished.id, seed=state.checkpoint).suspended
    routed = route(answers, unfinished.id, open_calls(unfinished), suspended, resumed.waits)
    return evolve(resumed, answered=True, answers=routed.own, children=routed.children, msgs=msgs)


def _check_words(msgs: Iterable[Msg]) -> None:
    for block in (block for msg in msgs for block in msg.content):
        if not isinstance(block, TextBlock):
            raise ConfigurationError(
                f"a message beside answers holds a {type(block).__name__}, and becomes a hint in the reply, "
                "which is text; send it in a later call"
            )


def _resumed(state: AgentState, unfinished: AssistantMessage) -> Plan:
    place = next(i for i, msg in enumerate(state.context) if msg.id == unfinished.id)
    return Plan(
        unfinished.id,
        state.context[:place],
        later=state.context[place + 1 :],
        waits=waits_of(unfinished),
        resumed=unfinished,
        iteration=state.cur_iter,
    )


def resumable(state: AgentState) -> AssistantMessage | None:
    """Return the newest reply, if somebody is expected to go on with it."""
    if state.checkpoint is None:
        return None
    for msg in reversed(state.context):
        if isinstance(msg, AssistantMessage) and msg.id == state.reply_id:
            return msg
    return None


def _new(state: AgentState, msgs: Iterable[Msg], again: bool) -> Iterable[Msg]:
    """The messages that the context lacks; with `again`, one that it has is said once more."""
    known = {msg.id for msg in state.context}
    for msg in msgs:
        if msg.id not in known:
            known.add(msg.id)
            yield msg
        elif again:
            yield evolve(msg, id=new_id())
