"""A tool that is nothing but what the engine asks of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, final

from attrs import frozen

from agentscope_rx.message import ToolUseBlock
from agentscope_rx.permission import (
    DANGEROUS_PATHS,
    AdditionalWorkingDirectory,
    CheckPermission,
    MatchRule,
    PermissionBehavior,
    PermissionContextState,
    PermissionDecision,
    PermissionMode,
    PermissionRule,
    SuggestRules,
    accept_rules,
)


@final
@frozen
class Checked:
    """A tool without a function; it cannot run where its arguments hold `broken`."""

    name: str = "write"
    read_only: bool = False
    check_permission: CheckPermission | None = None
    match_rule: MatchRule | None = None
    suggest_rules: SuggestRules | None = None
    path_arguments: tuple[str, ...] = ()
    rule_arguments: tuple[str, ...] = ()
    dangerous_paths: tuple[str, ...] = DANGEROUS_PATHS

    def arguments(self, call: ToolUseBlock) -> Mapping[str, Any] | None:
        return None if "broken" in call.input else call.input


def says(decision: PermissionDecision | None) -> CheckPermission:
    """A check that always says the same."""
    return lambda _input, _context: decision


def call(name: str = "write", **input: Any) -> ToolUseBlock:
    return ToolUseBlock("c1", name, input)


def allow(content: str | None = None, tool: str = "write") -> PermissionRule:
    return PermissionRule(tool, content, PermissionBehavior.ALLOW)


def deny(content: str | None = None, tool: str = "write") -> PermissionRule:
    return PermissionRule(tool, content, PermissionBehavior.DENY)


def ask(content: str | None = None, tool: str = "write") -> PermissionRule:
    return PermissionRule(tool, content, PermissionBehavior.ASK)


def context(
    *rules: PermissionRule, mode: PermissionMode = PermissionMode.DEFAULT, inside: Iterable[object] = ()
) -> PermissionContextState:
    directories = {str(path): AdditionalWorkingDirectory(str(path)) for path in inside}
    return accept_rules(PermissionContextState(mode, directories), rules)
