"""Whether answers fit what was asked: as a whole, before anything changes. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from agentscope_rx.agent._input import ConfirmResults, ExternalResults
from agentscope_rx.errors import AnswerError
from agentscope_rx.event import ConfirmResult
from agentscope_rx.message import ToolCallState, ToolUseBlock
from agentscope_rx.permission import PermissionBehavior, PermissionRule

__all__ = ["accepted_rules", "check_answers"]


def check_answers(
    answers: ConfirmResults | ExternalResults,
    reply_id: str | None,
    calls: Iterable[ToolUseBlock],
    suspended: Iterable[str],
) -> None:
    """Raise `AnswerError` unless the answers are for calls of `reply_id` that wait for them.

    1. Every answer names a call that waits for one of its kind, and no two name the same.
    2. A human answers all questions of a reply at once; outcomes from outside may come one by one.
    3. A `reply_id` in the answers is that of the reply that waits.
    """
    confirms = isinstance(answers, ConfirmResults)
    kind, verb = ("answer", "asks") if confirms else ("outcome", "waits for an outcome")
    state = ToolCallState.ASKING if confirms else ToolCallState.SUBMITTED
    waiting = [call.id for call in calls if call.state is state]
    if not confirms:
        waiting += [call for call in suspended if call not in waiting]
    given = _ids(answers)
    if answers.reply_id is not None and answers.reply_id != reply_id:
        raise AnswerError(
            f"the answers are for reply {answers.reply_id!r}, but "
            + (f"{reply_id!r} is the one that waits" if waiting else "no reply waits for them")
            + ": they are stale",
            given,
        )
    if not given:
        raise AnswerError(f"there is no {kind}; {_all(waiting, verb)}")
    if nameless := [id for id in given if not id]:
        raise AnswerError(f"{len(nameless)} {kind}(s) name no tool call; set tool_call and its id", given)
    if unknown := tuple(id for id in given if id not in waiting):
        raise AnswerError(f"no call {_names(unknown)} {verb}; {_all(waiting, verb)}", unknown)
    if twice := tuple(id for id, count in Counter(given).items() if count > 1):
        raise AnswerError(f"there is more than one {kind} for {_names(twice)}; give one", twice)
    missing = tuple(id for id in waiting if id not in given)
    if confirms and missing:
        raise AnswerError(
            f"there is no answer for {_names(missing)}; a human answers all questions at once", missing
        )


def accepted_rules(answers: Iterable[ConfirmResult]) -> tuple[PermissionRule, ...]:
    """Return the rules that answers bring for the session; a denial allows nothing for the future."""
    return tuple(
        rule
        for answer in answers
        for rule in answer.rules or ()
        if answer.confirmed or rule.behavior is not PermissionBehavior.ALLOW
    )


def _ids(answers: ConfirmResults | ExternalResults) -> tuple[str, ...]:
    if isinstance(answers, ConfirmResults):
        calls = (result.tool_call for result in answers.results)
        return tuple("" if call is None else call.id for call in calls)
    return tuple(result.id for result in answers.results)


def _names(ids: Iterable[str]) -> str:
    return ", ".join(map(repr, ids))


def _all(waiting: Iterable[str], verb: str) -> str:
    names = _names(waiting)
    return f"what {verb}: {names}" if names else f"nothing {verb}"
