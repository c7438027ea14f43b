"""Accepted rules, and the rules that are suggested."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentscope_rx.permission import (
    PermissionBehavior,
    PermissionContextState,
    PermissionRule,
    accept_rules,
    decide,
)
from agentscope_rx.permission._suggest import suggest
from tests.permission.checked import Checked, allow, ask, call, context, deny


def test_accepted_rules_stand_in_the_table_of_their_behavior_in_order() -> None:
    state = accept_rules(
        PermissionContextState(), [allow("a"), deny("b"), ask("c"), allow("d"), allow(tool="x")]
    )

    assert state.allow_rules == {"write": (allow("a"), allow("d")), "x": (allow(tool="x"),)}
    assert (state.deny_rules, state.ask_rules) == ({"write": (deny("b"),)}, {"write": (ask("c"),)})


def test_accepting_changes_nothing_else_and_leaves_the_old_context_alone() -> None:
    before = context(deny("b"), inside=["/ws"])

    after = accept_rules(before, [allow("a")])

    assert before.allow_rules == {}
    assert (after.deny_rules, after.working_directories, after.mode) == (
        before.deny_rules,
        before.working_directories,
        before.mode,
    )


def test_a_rule_is_not_kept_twice() -> None:
    again = PermissionRule("write", "a", PermissionBehavior.ALLOW, "suggested")

    assert accept_rules(context(allow("a"), deny("a")), [again, again]) == context(allow("a"), deny("a"))


def test_a_rule_that_passes_through_says_nothing() -> None:
    assert (
        accept_rules(context(), [PermissionRule("write", None, PermissionBehavior.PASSTHROUGH)]) == context()
    )


def test_an_accepted_allow_rule_ends_no_deny_or_ask_rule() -> None:
    assert decide(call(), Checked(), accept_rules(context(ask()), [allow()])).behavior == "ask"
    assert decide(call(), Checked(), accept_rules(context(deny()), [allow()])).behavior == "deny"


BOTH = {"path_arguments": ("path",), "rule_arguments": ("command", "path")}


@pytest.mark.parametrize(
    ("tool", "input", "contents"),
    [
        (Checked(), {"to": "bob"}, [None]),
        (Checked(), {}, [None]),
        (Checked(match_rule=lambda *_: False, rule_arguments=("command",)), {"command": "ls"}, [None]),
        (Checked(rule_arguments=("command",)), {"command": " git status ", "why": "x"}, ["git status"]),
        (Checked(rule_arguments=("command",)), {"command": "ls; rm x"}, ["ls; rm x"]),
        (Checked(rule_arguments=("command",)), {"command": "rm -rf *"}, []),
        (Checked(rule_arguments=("command",)), {"command": "  "}, []),
        (Checked(rule_arguments=("command",)), {}, []),
        (Checked(rule_arguments=("a", "b")), {"a": "x", "b": "y"}, []),
        (Checked(path_arguments=("path",)), {"path": "/ws/docs/a.txt"}, ["/ws/docs/**"]),
        (Checked(path_arguments=("path",)), {"path": "/ws/docs/../a.txt"}, ["/ws/**"]),
        (Checked(path_arguments=("path",)), {"path": "/ws/[id]/a.txt"}, ["/ws/[[]id]/**"]),
        (Checked(path_arguments=("path", "to")), {"path": "/ws/a/x", "to": "/ws/b/c/y"}, ["/ws/**"]),
        (Checked(path_arguments=("path", "to")), {"path": "/ws/x", "to": "/home/y"}, []),
        (Checked(path_arguments=("path",)), {"path": "/x"}, []),
        (Checked(path_arguments=("path",)), {"path": None}, []),
        (Checked(**BOTH), {"path": "/ws/x", "command": "ls"}, []),
    ],
)
def test_the_suggestion_is_as_narrow_as_can_be(
    tool: Checked, input: dict[str, Any], contents: list[str | None]
) -> None:
    assert suggest(tool, input) == tuple(
        PermissionRule("write", content, PermissionBehavior.ALLOW, "suggested") for content in contents
    )


@pytest.mark.parametrize(
    ("tool", "input"),
    [
        (Checked(), {"to": "bob"}),
        (Checked(rule_arguments=("command",)), {"command": "ls; rm [x] ?"}),
        (Checked(path_arguments=("path",)), {"path": "notes.txt"}),
        (Checked(path_arguments=("path",)), {"path": "/ws/[id]/*/a.txt"}),
        (Checked(path_arguments=("path",)), {"path": ["/ws/a", "/ws/b/c"]}),
    ],
)
def test_accepting_the_suggestion_avoids_the_question_next_time(
    tool: Checked, input: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    first = decide(call(**input), tool, context())
    second = decide(call(**input), tool, accept_rules(context(), first.suggested_rules or ()))

    assert (first.behavior, second.behavior) == (PermissionBehavior.ASK, PermissionBehavior.ALLOW)


def test_the_directory_of_a_path_is_not_suggested_when_the_path_leads_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    tool = Checked(path_arguments=("path",))

    assert suggest(tool, {"path": str(tmp_path / "link")}) == ()


def test_a_tool_suggests_its_own_rules() -> None:
    tool = Checked(suggest_rules=lambda given: [allow(given["to"]), allow()])

    assert suggest(tool, {"to": "bob"}) == (allow("bob"), allow())
    assert suggest(tool, {"to": "bob"}, [allow("b*")]) == (allow("b*"),)


def test_suggestions_that_would_not_help_are_left_out() -> None:
    tool = Checked(suggest_rules=lambda _: [allow("eve"), allow(tool="other"), deny(), ask(), allow("b*")])

    assert suggest(tool, {"to": "bob"}) == (allow("b*"),)


def test_a_suggestion_that_fails_is_none(caplog: pytest.LogCaptureFixture) -> None:
    tool = Checked(suggest_rules=lambda given: [allow(given["missing"])])

    assert suggest(tool, {}) == ()
    assert "suggest_rules of tool write failed" in caplog.text
