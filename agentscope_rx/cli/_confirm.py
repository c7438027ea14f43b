"""Questions of an agent, put to whoever sits before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import evolve

from agentscope_rx._json import dumps, loads_object
from agentscope_rx.agent import ConfirmResults
from agentscope_rx.event import ConfirmResult, RequireUserConfirmEvent
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.permission import PermissionRule

__all__ = ["confirm"]

_ARGUMENTS = "arguments as a JSON object: "


def confirm(questions: Iterable[RequireUserConfirmEvent], ask: Callable[[str], str]) -> ConfirmResults:
    """Return the answers to the questions of one reply: that of the first.

    `ask` shows a prompt and returns the line that is said to it; where nobody says anything any more
    (`EOFError`) the answer is no.
    """
    first, *others = questions
    same = (first, *(each for each in others if each.reply_id == first.reply_id))
    answers = [answer for question in same for answer in _answers(question, ask)]
    return ConfirmResults(answers, first.reply_id)


def _answers(question: RequireUserConfirmEvent, ask: Callable[[str], str]) -> Iterator[ConfirmResult]:
    for call in question.tool_calls:
        try:
            yield _answer(call, question.suggested_rules.get(call.id, ()), ask)
        except EOFError:
            yield ConfirmResult(False, call)


def _answer(
    call: ToolUseBlock, rules: tuple[PermissionRule, ...], ask: Callable[[str], str]
) -> ConfirmResult:
    ways = "yes, no, edit" + (f", always ({', '.join(map(_told, rules))})" if rules else "")
    while True:
        match ask(f"{call.name} {_arguments(call)}: may it run? {ways}: ").strip().lower():
            case "y" | "yes":
                return ConfirmResult(True, call)
            case "n" | "no":
                return ConfirmResult(False, call)
            case "a" | "always" if rules:
                return ConfirmResult(True, call, rules)
            case "e" | "edit":
                return ConfirmResult(True, evolve(call, input=_edited(ask), content=None))
            case _:
                continue


def _edited(ask: Callable[[str], str]) -> dict[str, Any]:
    while True:
        arguments = loads_object(ask(_ARGUMENTS))
        if arguments is not None:
            return arguments


def _arguments(call: ToolUseBlock) -> str:
    return dumps(dict(call.input)).decode()


def _told(rule: PermissionRule) -> str:
    return rule.tool_name if rule.rule_content is None else f"{rule.tool_name} {rule.rule_content}"
