"""Permission rules and what they are kept in."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.permission import (
    AdditionalWorkingDirectory,
    PermissionBehavior,
    PermissionContextState,
    PermissionDecision,
    PermissionMode,
    PermissionRule,
)

RULE = PermissionRule("search", "rx*", PermissionBehavior.DENY, "suggested")


def test_a_rule_allows_all_calls_of_its_tool_unless_it_says_otherwise() -> None:
    rule = PermissionRule("search")

    assert (rule.rule_content, rule.behavior) == (None, PermissionBehavior.ALLOW)


def test_a_context_is_empty_and_in_default_mode_unless_it_says_otherwise() -> None:
    context = PermissionContextState()

    assert context.mode is PermissionMode.DEFAULT
    assert context.working_directories == context.allow_rules == context.deny_rules == context.ask_rules == {}


def test_lists_of_rules_become_tuples_in_frozen_mappings() -> None:
    rules = [RULE]
    context = PermissionContextState(deny_rules={"search": rules})  # type: ignore[dict-item]
    rules.clear()

    assert context.deny_rules == {"search": (RULE,)}
    assert PermissionDecision(PermissionBehavior.ASK, suggested_rules=[RULE]).suggested_rules == (RULE,)  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(context)) == context


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: PermissionRule(5), "PermissionRule.tool_name is 5; give a str"),
        (lambda: PermissionRule("search", behavior="allow"), "behavior is 'allow'; give PermissionBehavior"),
        (lambda: PermissionDecision("ask"), "behavior is 'ask'; give PermissionBehavior"),
        (
            lambda: PermissionDecision(PermissionBehavior.ASK, suggested_rules=["x"]),
            "'x' is no PermissionRule",
        ),
        (lambda: AdditionalWorkingDirectory(None), "AdditionalWorkingDirectory.path is None; give a str"),
        (
            lambda: PermissionContextState("explore"),
            "mode is 'explore'; give PermissionMode (DEFAULT, ACCEPT_EDITS, EXPLORE, BYPASS, DONT_ASK)",
        ),
        (lambda: PermissionContextState(allow_rules={"search": "x"}), "'x' is no sequence; give a list of"),
        (
            lambda: PermissionContextState(allow_rules=[RULE]),
            "; give lists of them by tool name, as {'read': [rule]}",
        ),
    ],
)
def test_a_wrong_argument_raises_with_its_value_and_the_remedy(make: Any, complaint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()

    assert complaint in str(caught.value)


def test_a_decision_is_made_by_its_name() -> None:
    assert PermissionDecision.allow("a") == PermissionDecision(PermissionBehavior.ALLOW, "a")
    assert PermissionDecision.deny("d", "r") == PermissionDecision(PermissionBehavior.DENY, "d", "r")
    assert PermissionDecision.ask("q", "r") == PermissionDecision(PermissionBehavior.ASK, "q", "r")
    assert PermissionDecision.passthrough() == PermissionDecision(PermissionBehavior.PASSTHROUGH)


@pytest.mark.parametrize(
    ("reason", "is_safety"),
    [("safety", True), ("Safety: a key", True), ("for SAFETY's sake", True), ("safe", False), (None, False)],
)
def test_a_decision_is_about_safety_by_its_reason(reason: str | None, is_safety: bool) -> None:
    assert PermissionDecision.ask("?", reason).is_safety is is_safety
