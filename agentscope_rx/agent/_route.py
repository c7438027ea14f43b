"""For whom answers are: for the reply itself, or for the subagents of its calls. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, final

from attrs import evolve, field, frozen

from agentscope_rx.agent._answers import check_answers
from agentscope_rx.agent._input import ConfirmResults, ExternalResults
from agentscope_rx.agent._waiting import Question, Waiting
from agentscope_rx.errors import AnswerError
from agentscope_rx.event import ConfirmResult
from agentscope_rx.message import ToolCallState, ToolResultBlock, ToolUseBlock

__all__ = ["Answers", "Routed", "route"]

Answers: TypeAlias = ConfirmResults | ExternalResults


@final
@frozen
class Routed:
    """Answers, by whom they are for.

    Attributes:
        own: those for the reply itself.
        children: those for subagents, by the call that each works for.
    """

    own: Answers | None = None
    children: Mapping[str, Answers] = field(factory=dict[str, Answers])


def route(
    answers: Answers,
    reply_id: str,
    calls: Sequence[ToolUseBlock],
    suspended: Iterable[str],
    waits: Mapping[str, Waiting],
) -> Routed:
    """Say for whom answers are, and raise `AnswerError` unless they fit what was asked.

    1. The `reply_id` of the answers says it. Without one the ids of the calls do, if they are clear, and the
       answers may be for several.
    2. What is asked of one reply is answered as a whole, as `check_answers` says. What others ask may wait.

    Args:
        reply_id: the reply that the call goes on with.
        calls: its open calls.
        suspended: those whose tool waits for an outcome from outside.
        waits: the subagents that wait, by the call that each works for.
    """
    state = ToolCallState.ASKING if isinstance(answers, ConfirmResults) else ToolCallState.SUBMITTED
    below = [
        (call, question)
        for call, waiting in waits.items()
        for question in waiting.questions
        if question.state is state
    ]
    suspended = [call for call in suspended if call not in waits]
    if not below or answers.reply_id == reply_id:
        check_answers(answers, reply_id, calls, suspended)
        return Routed(answers)
    own = _own_question(state, reply_id, calls, suspended)
    asked = [(None, own), *below] if own.calls else below
    named = (
        asked if answers.reply_id is None else [(c, q) for c, q in asked if q.reply_id == answers.reply_id]
    )
    if not named:
        waiting = ", ".join(repr(question.reply_id) for _, question in asked)
        raise AnswerError(
            f"the answers are for reply {answers.reply_id!r}, but those that wait are {waiting}: "
            "they are stale",
            _ids(answers),
        )
    return _sorted(answers, state, named)


def _own_question(
    state: ToolCallState, reply_id: str, calls: Sequence[ToolUseBlock], suspended: Sequence[str]
) -> Question:
    waiting = [call.id for call in calls if call.state is state]
    if state is ToolCallState.SUBMITTED:
        waiting += [call for call in suspended if call not in waiting]
    return Question(reply_id, state, tuple(waiting))


def _sorted(answers: Answers, state: ToolCallState, asked: Sequence[tuple[str | None, Question]]) -> Routed:
    given = _ids(answers)
    homes = {id: [place for place, (_, question) in enumerate(asked) if id in question.calls] for id in given}
    everything = [
        ToolUseBlock(call, "", state=state) for _, question in asked for call in dict.fromkeys(question.calls)
    ]
    unknown = not given or any(not homes[id] for id in given)
    if unknown or len(asked) == 1:
        check_answers(answers, answers.reply_id, everything, ())
    unclear = tuple(id for id in homes if len(homes[id]) > 1)
    if unclear:
        replies = ", ".join(repr(asked[place][1].reply_id) for place in homes[unclear[0]])
        raise AnswerError(
            f"more than one reply waits for an answer about {', '.join(map(repr, unclear))}: "
            f"say which with reply_id=…, one of {replies}",
            unclear,
        )
    own: Answers | None = None
    children: dict[str, Answers] = {}
    for place, (call, question) in enumerate(asked):
        part = _only(answers, {id for id in given if homes[id] == [place]})
        if not part.results:
            continue
        blocks = [ToolUseBlock(id, "", state=state) for id in question.calls]
        check_answers(part, answers.reply_id, blocks, ())
        if call is None:
            own = part
        else:
            children[call] = _joined(children.get(call), part)
    return Routed(own, children)


def _only(answers: Answers, ids: set[str]) -> Answers:
    if isinstance(answers, ConfirmResults):
        return evolve(answers, results=tuple(each for each in answers.results if _id(each) in ids))
    return evolve(answers, results=tuple(each for each in answers.results if each.id in ids))


def _joined(one: Answers | None, other: Answers) -> Answers:
    if one is None:
        return other
    if isinstance(one, ConfirmResults) and isinstance(other, ConfirmResults):
        return evolve(one, results=(*one.results, *other.results))
    assert isinstance(one, ExternalResults)
    assert isinstance(other, ExternalResults)
    return evolve(one, results=(*one.results, *other.results))


def _ids(answers: Answers) -> tuple[str, ...]:
    return tuple(map(_id, answers.results))


def _id(result: ConfirmResult | ToolResultBlock) -> str:
    if isinstance(result, ToolResultBlock):
        return result.id
    return "" if result.tool_call is None else result.tool_call.id
