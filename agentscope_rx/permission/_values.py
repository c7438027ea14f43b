"""Permission rules and what they are kept in; snake_case on the wire, as Java writes them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, final

from attrs import field, frozen

from agentscope_rx.message import FrozenDict

__all__ = [
    "AdditionalWorkingDirectory",
    "PermissionBehavior",
    "PermissionContextState",
    "PermissionDecision",
    "PermissionMode",
    "PermissionRule",
]


class PermissionMode(StrEnum):
    """How much an agent may do unasked."""

    DEFAULT = "default"
    ACCEPT_EDITS = "accept_edits"
    EXPLORE = "explore"
    BYPASS = "bypass"
    DONT_ASK = "dont_ask"


class PermissionBehavior(StrEnum):
    """What a rule or a tool says about a call; `PASSTHROUGH` leaves it to others."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    PASSTHROUGH = "passthrough"


@final
@frozen
class PermissionRule:
    """What to do with calls of one tool.

    Attributes:
        tool_name: the tool.
        rule_content: which of its calls, in the tool's own words; None means all.
        behavior: what to do with them.
        source: where the rule comes from, as `session` or `suggested`.
    """

    tool_name: str
    rule_content: str | None = None
    behavior: PermissionBehavior = PermissionBehavior.ALLOW
    source: str | None = None


def _rules(rules: Any) -> tuple[PermissionRule, ...] | None:
    return None if rules is None else tuple(rules)


def _frozen_or_none(mapping: Mapping[str, Any] | None) -> FrozenDict | None:
    return None if mapping is None else FrozenDict(mapping)


def _rule_lists(mapping: Mapping[str, Any]) -> FrozenDict:
    return FrozenDict({name: tuple(rules) for name, rules in mapping.items()})


@final
@frozen
class PermissionDecision:
    """What was decided about one call, why, and what would avoid the question next time."""

    behavior: PermissionBehavior
    message: str = ""
    decision_reason: str | None = None
    updated_input: Mapping[str, Any] | None = field(default=None, converter=_frozen_or_none, hash=False)
    suggested_rules: tuple[PermissionRule, ...] | None = field(default=None, converter=_rules)


@final
@frozen
class AdditionalWorkingDirectory:
    """A directory inside which edits are accepted."""

    path: str
    source: str | None = None


@final
@frozen
class PermissionContextState:
    """The permissions of one session: the mode, the directories, and the rules by tool name."""

    mode: PermissionMode = PermissionMode.DEFAULT
    working_directories: Mapping[str, AdditionalWorkingDirectory] = field(
        factory=FrozenDict, converter=FrozenDict, hash=False
    )
    allow_rules: Mapping[str, tuple[PermissionRule, ...]] = field(
        factory=FrozenDict, converter=_rule_lists, hash=False
    )
    deny_rules: Mapping[str, tuple[PermissionRule, ...]] = field(
        factory=FrozenDict, converter=_rule_lists, hash=False
    )
    ask_rules: Mapping[str, tuple[PermissionRule, ...]] = field(
        factory=FrozenDict, converter=_rule_lists, hash=False
    )
