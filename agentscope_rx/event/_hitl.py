"""Questions to the human or the outside, and the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, final

from attrs import field, frozen

from agentscope_rx._check import a, a_bool, a_str, tuple_of
from agentscope_rx._frozen import EMPTY, FrozenDict, freeze
from agentscope_rx.event._base import AgentEventType, ReplyEvent
from agentscope_rx.message import ToolResultBlock, ToolUseBlock
from agentscope_rx.permission import PermissionRule

__all__ = [
    "AllToolsDeniedEvent",
    "ConfirmResult",
    "ExternalExecutionResultEvent",
    "RequireExternalExecutionEvent",
    "RequireUserConfirmEvent",
    "UserConfirmResultEvent",
]


def _rules(rules: Iterable[PermissionRule] | None) -> tuple[PermissionRule, ...] | None:
    return None if rules is None else tuple_of(PermissionRule, rules)


def _suggestions(rules: Mapping[str, Iterable[PermissionRule]]) -> Mapping[str, Any]:
    return FrozenDict({call_id: tuple_of(PermissionRule, items) for call_id, items in freeze(rules).items()})


def _calls(calls: Iterable[ToolUseBlock]) -> tuple[ToolUseBlock, ...]:
    return tuple_of(ToolUseBlock, calls)


def _results(results: Iterable[ToolResultBlock]) -> tuple[ToolResultBlock, ...]:
    return tuple_of(ToolResultBlock, results)


@final
@frozen
class ConfirmResult:
    """A human's answer about one tool call.

    Attributes:
        confirmed: whether the call may run.
        tool_call: the call, edited if the human edited it.
        rules: rules that the human accepted for the future.
    """

    confirmed: bool = field(validator=a_bool)
    tool_call: ToolUseBlock | None = field(validator=a(ToolUseBlock, None))
    rules: tuple[PermissionRule, ...] | None = field(default=None, converter=_rules)


def _answers(answers: Iterable[ConfirmResult]) -> tuple[ConfirmResult, ...]:
    return tuple_of(ConfirmResult, answers)


@final
@frozen
class RequireUserConfirmEvent(ReplyEvent):
    """The agent pauses until a human has answered.

    Attributes:
        tool_calls: the calls that ask.
        suggested_rules: by call id, the rules that would avoid the question.
    """

    type: ClassVar[str] = AgentEventType.REQUIRE_USER_CONFIRM
    tool_calls: tuple[ToolUseBlock, ...] = field(default=(), converter=_calls)
    suggested_rules: Mapping[str, tuple[PermissionRule, ...]] = field(
        default=EMPTY, converter=_suggestions, hash=False
    )


@final
@frozen
class RequireExternalExecutionEvent(ReplyEvent):
    """The agent pauses until the outcome of these calls is given from outside."""

    type: ClassVar[str] = AgentEventType.REQUIRE_EXTERNAL_EXECUTION
    tool_calls: tuple[ToolUseBlock, ...] = field(default=(), converter=_calls)


@final
@frozen
class UserConfirmResultEvent(ReplyEvent):
    """A later call goes on with the human's answers."""

    type: ClassVar[str] = AgentEventType.USER_CONFIRM_RESULT
    confirm_results: tuple[ConfirmResult, ...] = field(default=(), converter=_answers)


@final
@frozen
class ExternalExecutionResultEvent(ReplyEvent):
    """A later call goes on with outcomes from outside."""

    type: ClassVar[str] = AgentEventType.EXTERNAL_EXECUTION_RESULT
    tool_results: tuple[ToolResultBlock, ...] = field(default=(), converter=_results)


@final
@frozen
class AllToolsDeniedEvent(ReplyEvent):
    """The human denied every call of the step."""

    type: ClassVar[str] = AgentEventType.ALL_TOOLS_DENIED
    denied_tool_calls: tuple[ToolUseBlock, ...] = field(default=(), converter=_calls)
    reply_id: str = field(default="", kw_only=True, validator=a_str)
