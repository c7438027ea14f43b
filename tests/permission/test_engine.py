"""The order of evaluation, as a table; what holds for every combination; and what a decision says."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from agentscope_rx.message import ToolCallState, ToolUseBlock
from agentscope_rx.permission import (
    PermissionBehavior,
    PermissionContextState,
    PermissionDecision,
    PermissionMode,
    PermissionRule,
    accept_rules,
    decide,
)
from tests.permission.checked import Checked, allow, ask, call, context, deny, says

RULES = {"allow": allow(), "deny": deny(), "ask": ask()}

VERDICTS = {
    "nothing": None,
    "passes": PermissionDecision.passthrough(),
    "allows": PermissionDecision.allow("fine"),
    "asks": PermissionDecision.ask("Really?"),
    "asks safely": PermissionDecision.ask("Really?", "Safety first"),
    "denies": PermissionDecision.deny("No."),
}

MODES = ("default", "accept_edits", "explore", "bypass", "dont_ask")

# mode (* is every mode) | rules | the tool says | kind of tool | decision | its reason
TABLE = """
# deny rules come first
*            | deny            | nothing     | write | deny  | deny rule write
*            | deny ask allow  | allows      | write | deny  | deny rule write
*            | deny allow      | asks safely | read  | deny  | deny rule write

# then ask rules
default      | ask             | nothing     | write | ask   | ask rule write
default      | ask             | nothing     | read  | ask   | ask rule write
default      | ask allow       | allows      | write | ask   | ask rule write
default      | ask             | denies      | write | ask   | ask rule write
accept_edits | ask             | nothing     | edit  | ask   | ask rule write
explore      | ask             | nothing     | read  | ask   | ask rule write
explore      | ask             | nothing     | write | ask   | ask rule write
bypass       | ask             | nothing     | write | ask   | ask rule write
dont_ask     | ask             | nothing     | write | deny  | mode dont_ask; ask rule write
dont_ask     | ask allow       | allows      | read  | deny  | mode dont_ask; ask rule write

# then the tool's own deny or safety ask
*            |                 | denies      | write | deny  | the tool's own check
*            | allow           | denies      | read  | deny  | the tool's own check
*            | allow           | denies      | edit  | deny  | the tool's own check
default      | allow           | asks safely | read  | ask   | Safety first
accept_edits | allow           | asks safely | edit  | ask   | Safety first
explore      | allow           | asks safely | write | ask   | Safety first
bypass       | allow           | asks safely | write | ask   | Safety first
dont_ask     | allow           | asks safely | write | deny  | mode dont_ask; Safety first

# then explore: reading or nothing
explore      |                 | nothing     | read  | allow | mode explore, and the tool only reads
explore      |                 | asks        | read  | allow | mode explore, and the tool only reads
explore      |                 | nothing     | write | deny  | mode explore
explore      | allow           | allows      | write | deny  | mode explore
explore      | allow           | allows      | edit  | deny  | mode explore

# then reading is allowed
default      |                 | nothing     | read  | allow | the tool only reads
default      |                 | asks        | read  | allow | the tool only reads
accept_edits |                 | passes      | read  | allow | the tool only reads
bypass       |                 | nothing     | read  | allow | the tool only reads
dont_ask     |                 | asks        | read  | allow | the tool only reads

# then edits inside the working directories
accept_edits |                 | nothing     | edit  | allow | inside the working directories
accept_edits |                 | asks        | edit  | allow | inside the working directories
accept_edits |                 | nothing     | write | ask   | mode accept_edits
accept_edits |                 | nothing     | stray | ask   | mode accept_edits
default      |                 | nothing     | edit  | ask   | mode default
dont_ask     |                 | nothing     | edit  | deny  | mode dont_ask; mode dont_ask
bypass       |                 | nothing     | stray | allow | mode bypass

# then the tool's allow
default      |                 | allows      | write | allow |
accept_edits |                 | allows      | stray | allow |
bypass       |                 | allows      | write | allow |
dont_ask     | allow           | allows      | write | allow |

# then allow rules
default      | allow           | nothing     | write | allow | allow rule write
default      | allow           | asks        | write | allow | allow rule write
default      | allow           | passes      | write | allow | allow rule write
accept_edits | allow           | nothing     | stray | allow | allow rule write
bypass       | allow           | asks        | write | allow | allow rule write
dont_ask     | allow           | asks        | write | allow | allow rule write

# then bypass
bypass       |                 | nothing     | write | allow | mode bypass
bypass       |                 | asks        | write | allow | mode bypass

# else ask
default      |                 | nothing     | write | ask   | mode default
default      |                 | passes      | write | ask   | mode default
default      |                 | asks        | write | ask   | the tool's own check
accept_edits |                 | asks        | write | ask   | the tool's own check
dont_ask     |                 | nothing     | write | deny  | mode dont_ask; mode dont_ask
dont_ask     |                 | asks        | write | deny  | mode dont_ask; the tool's own check

# without a configuration only the tool's check counts, and what was accepted about it
-            |                 | nothing     | write | allow | no permission configuration
-            |                 | passes      | stray | allow | no permission configuration
-            |                 | allows      | write | allow |
-            |                 | asks        | write | ask   | the tool's own check
-            |                 | asks        | read  | ask   | the tool's own check
-            |                 | asks safely | write | ask   | Safety first
-            |                 | denies      | write | deny  | the tool's own check
-            | allow           | asks        | write | allow | allow rule write
-            | allow           | asks safely | write | ask   | Safety first
-            | deny            | nothing     | write | deny  | deny rule write
-            | ask             | nothing     | write | ask   | ask rule write
"""

Row = tuple[str, str, str, str, str, str]


def rows() -> list[Row]:
    found: list[Row] = []
    for line in TABLE.splitlines():
        if line and not line.startswith("#"):
            mode, rules, verdict, kind, behavior, reason = (cell.strip() for cell in line.split("|"))
            found += [
                (each, rules, verdict, kind, behavior, reason) for each in (MODES if mode == "*" else [mode])
            ]
    return found


def put(mode: str, rules: list[str], verdict: str, kind: str, home: Path) -> PermissionDecision:
    """Decide about a call of a tool that reads, writes, edits inside or outside of the working directory."""
    configured = mode != "-"
    state = context(
        *(RULES[each] for each in rules),
        mode=PermissionMode(mode if configured else "default"),
        inside=[home],
    )
    paths = {"edit": ("path",), "stray": ("path",)}.get(kind, ())
    tool = Checked(read_only=kind == "read", check_permission=says(VERDICTS[verdict]), path_arguments=paths)
    path = home.parent / "elsewhere" if kind == "stray" else home / "notes.txt"
    return decide(call(path=str(path)), tool, state, configured=configured)


@pytest.mark.parametrize("row", rows(), ids=lambda row: "-".join(row[:4]).replace(" ", "_"))
def test_the_first_step_with_an_opinion_decides(row: Row, tmp_path: Path) -> None:
    mode, rules, verdict, kind, behavior, reason = row

    decision = put(mode, rules.split(), verdict, kind, tmp_path)

    assert (decision.behavior.value, decision.decision_reason or "") == (behavior, reason)


ALL = [
    (mode, [each for each, is_there in zip(RULES, there, strict=True) if is_there], verdict, kind)
    for mode, there, verdict, kind in product(
        (*MODES, "-"), product((False, True), repeat=3), VERDICTS, ("read", "write", "edit", "stray")
    )
]


def test_every_combination_is_decided(tmp_path: Path) -> None:
    behaviors = {put(*each, tmp_path).behavior for each in ALL}

    assert len(ALL) == 1152
    assert behaviors == {PermissionBehavior.ALLOW, PermissionBehavior.ASK, PermissionBehavior.DENY}


def test_a_deny_rule_always_wins(tmp_path: Path) -> None:
    denied = [put(*each, tmp_path) for each in ALL if "deny" in each[1]]

    assert {each.behavior for each in denied} == {PermissionBehavior.DENY}


def test_an_ask_rule_is_never_overridden_by_what_allows(tmp_path: Path) -> None:
    asked = [put(*each, tmp_path).behavior for each in ALL if "ask" in each[1]]

    assert PermissionBehavior.ALLOW not in asked


def test_the_tools_own_denial_and_questions_of_safety_are_never_overridden_by_what_allows(
    tmp_path: Path,
) -> None:
    careful = [put(*each, tmp_path).behavior for each in ALL if each[2] in ("denies", "asks safely")]

    assert PermissionBehavior.ALLOW not in careful


def test_dont_ask_never_asks_and_allows_only_what_default_allows(tmp_path: Path) -> None:
    for _, *rest in (each for each in ALL if each[0] == "dont_ask"):
        unasked, default = (put(mode, *rest, tmp_path).behavior for mode in ("dont_ask", "default"))

        assert unasked is (PermissionBehavior.DENY if default is PermissionBehavior.ASK else default)


def test_bypass_differs_from_default_only_where_nobody_but_the_default_asks(tmp_path: Path) -> None:
    for _, *rest in (each for each in ALL if each[0] == "bypass"):
        bypassed, default = (put(mode, *rest, tmp_path) for mode in ("bypass", "default"))

        assert bypassed.behavior is default.behavior or bypassed.decision_reason == "mode bypass"


def test_explore_lets_only_readers_run(tmp_path: Path) -> None:
    ran = [each[3] for each in ALL if each[0] == "explore" and put(*each, tmp_path).behavior == "allow"]

    assert set(ran) == {"read"}


@pytest.mark.parametrize("case", [("default", "nothing"), ("accept_edits", "asks"), ("-", "asks")])
def test_an_accepted_suggestion_avoids_the_question(case: tuple[str, str], tmp_path: Path) -> None:
    mode, verdict = case
    state = context(mode=PermissionMode("default" if mode == "-" else mode))
    tool = Checked(check_permission=says(VERDICTS[verdict]))
    first = decide(call(), tool, state, configured=mode != "-")

    accepted = accept_rules(state, first.suggested_rules or ())

    assert first.behavior is PermissionBehavior.ASK
    assert decide(call(), tool, accepted, configured=mode != "-").behavior is PermissionBehavior.ALLOW


@pytest.mark.parametrize(
    ("rules", "verdict"),
    [
        ([ask()], None),
        (
            [],
            PermissionDecision.ask(
                "?",
                "safety",
            ),
        ),
    ],
)
def test_a_question_that_no_allow_rule_avoids_suggests_none(
    rules: list[PermissionRule], verdict: PermissionDecision | None
) -> None:
    offered = verdict and evolve(verdict, suggested_rules=[allow()])

    decision = decide(call(), Checked(check_permission=says(offered)), context(*rules))

    assert decision.behavior is PermissionBehavior.ASK
    assert not decision.suggested_rules


def test_the_tools_own_words_and_suggestions_reach_the_human() -> None:
    own = evolve(PermissionDecision.ask("Pay 5 €?"), suggested_rules=[allow("5")], updated_input={"sum": 5})
    tool = Checked(check_permission=says(own), rule_arguments=("sum",))

    decision = decide(call(sum="5"), tool, context())

    assert (decision.message, decision.suggested_rules) == ("Pay 5 €?", (allow("5"),))
    assert decision.updated_input == {"sum": 5}


@pytest.mark.parametrize("state", [context(allow()), context(mode=PermissionMode.BYPASS)])
def test_the_arguments_that_the_tool_wants_come_with_every_permission(state: PermissionContextState) -> None:
    own = PermissionDecision(PermissionBehavior.PASSTHROUGH, updated_input={"path": "/clean"})

    decision = decide(call(path="/x"), Checked(check_permission=says(own)), state)

    assert (decision.behavior, decision.updated_input) == (PermissionBehavior.ALLOW, {"path": "/clean"})


def approved(**input: Any) -> ToolUseBlock:
    return evolve(call(**input), state=ToolCallState.ALLOWED)


@pytest.mark.parametrize("mode", PermissionMode)
@pytest.mark.parametrize("verdict", ["nothing", "asks", "asks safely"])
def test_what_a_human_has_approved_is_not_asked_again(mode: PermissionMode, verdict: str) -> None:
    tool = Checked(check_permission=says(VERDICTS[verdict]))

    decision = decide(approved(), tool, context(ask(), mode=mode))

    assert (decision.behavior, decision.decision_reason) == (PermissionBehavior.ALLOW, "approved by a human")


def test_what_a_human_has_approved_and_edited_is_still_denied_by_rules_and_by_the_tool() -> None:
    denying = Checked(check_permission=says(VERDICTS["denies"]))

    assert decide(approved(command="rm -rf /"), Checked(), context(deny("rm:*"))).behavior == "deny"
    assert decide(approved(), denying, context()).message == "No."


@pytest.mark.parametrize("state", [context(), context(ask()), context(mode=PermissionMode.DONT_ASK)])
@pytest.mark.parametrize("tool", [None, Checked(check_permission=says(VERDICTS["asks safely"]))])
def test_nobody_is_asked_about_a_call_that_cannot_run(
    tool: Checked | None, state: PermissionContextState
) -> None:
    decision = decide(call(broken=True), tool, state)

    assert (decision.behavior, decision.decision_reason) == (PermissionBehavior.ALLOW, "the call cannot run")


@pytest.mark.parametrize("content", [None, "", "*"])
def test_a_call_that_cannot_run_can_be_denied(content: str | None) -> None:
    assert decide(call(broken=True), Checked(), context(deny(content))).behavior == "deny"
    assert decide(call(), None, context(deny(content))).behavior == "deny"
    assert decide(call(broken=True), Checked(), context(deny("x"))).behavior == "allow"


def test_a_check_that_fails_asks_and_bypass_does_not_hide_it(caplog: pytest.LogCaptureFixture) -> None:
    def check(input: Any, _: object) -> PermissionDecision:
        return input["missing"]

    tool = Checked(check_permission=check)
    decision = decide(call(), tool, context(allow(), mode=PermissionMode.BYPASS))

    assert decision.behavior is PermissionBehavior.ASK
    assert decision.message == "The permission check of 'write' failed: KeyError: 'missing'"
    assert "check_permission of tool write failed" in caplog.text


def test_a_check_that_returns_something_else_asks_and_says_what_to_return() -> None:
    decision = decide(call(), Checked(check_permission=says(True)), context(allow()))  # type: ignore[arg-type]

    assert decision.behavior is PermissionBehavior.ASK
    assert "returned True; return a PermissionDecision" in decision.message


def test_a_check_sees_the_arguments_and_the_context() -> None:
    seen: list[object] = []
    tool = Checked(check_permission=lambda given, state: seen.append((given, state)))
    state = context(mode=PermissionMode.BYPASS)

    decide(call(a=1), tool, state)

    assert seen == [({"a": 1}, state)]


def test_a_check_cannot_change_what_rules_are_compared_with() -> None:
    def check(input: Any, _: object) -> None:
        input["command"] = "ls"

    decision = decide(call(command="rm x"), Checked(check_permission=check), context(allow("ls")))

    assert decision.behavior is PermissionBehavior.ASK
    assert "this mapping is frozen" in decision.message


def test_without_memory_nothing_is_decided() -> None:
    def fail(*_: object) -> Any:
        raise MemoryError

    with pytest.raises(MemoryError):
        decide(call(), Checked(check_permission=fail), context())
    with pytest.raises(MemoryError):
        decide(call(), Checked(match_rule=fail), context(deny("x")))
    with pytest.raises(MemoryError):
        decide(call(), Checked(suggest_rules=fail), context())


def test_rules_are_about_the_tool_of_their_name_only() -> None:
    assert decide(call(), Checked(), context(deny(tool="other"), allow())).behavior == "allow"
    assert decide(call(), Checked(), context(deny(tool="*"), allow())).behavior == "allow"


@pytest.mark.parametrize("mode", ["default", "accept_edits", "bypass", "-"])
@pytest.mark.parametrize("verdict", ["nothing", "allows"])
def test_a_dangerous_path_is_a_question_of_safety(mode: str, verdict: str, tmp_path: Path) -> None:
    state = context(allow(), mode=PermissionMode("default" if mode == "-" else mode), inside=[tmp_path])
    tool = Checked(check_permission=says(VERDICTS[verdict]), path_arguments=("path",))
    path = str(tmp_path / ".ssh" / "id_rsa")

    decision = decide(call(path=path), tool, state, configured=mode != "-")
    harmless = decide(call(path=str(tmp_path / "ssh")), tool, state, configured=mode != "-")

    assert (decision.behavior, decision.decision_reason) == (
        PermissionBehavior.ASK,
        "safety: dangerous path .ssh",
    )
    assert path in decision.message
    assert harmless.behavior is PermissionBehavior.ALLOW


def test_a_tool_may_name_its_own_dangerous_paths(tmp_path: Path) -> None:
    tool = Checked(path_arguments=("paths",), dangerous_paths=("*.key",))
    state = context(allow())

    assert decide(call(paths=["a", "deep/b.key"]), tool, state).behavior == "ask"
    assert decide(call(paths=["a", ".ssh/id"]), tool, state).behavior == "allow"


@pytest.mark.parametrize(
    ("paths", "behavior"),
    [
        (["a", "b/c"], "allow"),
        (["a", "../b"], "ask"),
        ([], "ask"),
        ([7], "ask"),
    ],
)
def test_edits_are_accepted_only_if_all_paths_are_inside(
    paths: list[Any], behavior: str, tmp_path: Path
) -> None:
    given = [str(tmp_path / path) if isinstance(path, str) else path for path in paths]
    state = context(mode=PermissionMode.ACCEPT_EDITS, inside=[tmp_path])

    assert decide(call(paths=given), Checked(path_arguments=("paths",)), state).behavior == behavior
