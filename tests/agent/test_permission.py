"""What a tool may do unasked: modes, rules and a tool's own check, in whole calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from agentscope_rx import event as ev, wire
from agentscope_rx.agent import ReActAgent
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import GenerateReason, ToolUseBlock
from agentscope_rx.permission import (
    AdditionalWorkingDirectory,
    PermissionBehavior,
    PermissionContextState,
    PermissionDecision,
    PermissionMode,
)
from agentscope_rx.testing import CallRecord, ScriptedModel, check_call, tool_call
from agentscope_rx.tool import ToolGroup, Toolkit, external_tool, tool
from tests.agent.asking import (
    CTX,
    Conversation,
    Desk,
    Home,
    allow,
    answered,
    ask,
    asked,
    deny,
    edited,
    ended,
    every,
    only,
    results,
)

READ, WRITE, EDIT = (
    tool_call("read", path="/r"),
    tool_call("shell", command="ls"),
    tool_call("write", path="notes.txt"),
)
RUNS, ASKS, DENIES = "runs", "asks", "denies"


def verdict(record: CallRecord) -> str:
    """What became of the only call."""
    if every(record, ev.RequireUserConfirmEvent):
        asked(record)
        return ASKS
    [(_, state, _)] = results(record)
    return {"success": RUNS, "denied": DENIES}[state]


def context(mode: str, home: Path | None = None, **rules: Any) -> PermissionContextState:
    directories = {} if home is None else {"home": AdditionalWorkingDirectory(str(home))}
    return PermissionContextState(PermissionMode(mode), directories, **rules)


@pytest.mark.parametrize(
    ("mode", "read", "write", "edit"),
    [
        ("default", RUNS, ASKS, ASKS),
        ("accept_edits", RUNS, ASKS, RUNS),
        ("explore", RUNS, DENIES, DENIES),
        ("bypass", RUNS, RUNS, RUNS),
        ("dont_ask", RUNS, DENIES, DENIES),
    ],
)
def test_each_mode_says_what_may_happen_unasked(
    mode: str, read: str, write: str, edit: str, tmp_path: Path
) -> None:
    for call, expected in ((READ, read), (WRITE, write), (EDIT, edit)):
        if call is EDIT:
            call = tool_call("write", path=str(tmp_path / "notes.txt"))
        talk = Conversation([call], "ok", permission=context(mode, tmp_path))

        assert verdict(talk.call("go")) == expected
        assert len(talk.desk.did) == (expected == RUNS)


@pytest.mark.parametrize("mode", list(PermissionMode))
@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"deny_rules": {"shell": [deny("shell")]}}, dict.fromkeys(PermissionMode, DENIES)),
        (
            {"ask_rules": {"shell": [ask("shell", "ls")]}},
            {**dict.fromkeys(PermissionMode, ASKS), PermissionMode.DONT_ASK: DENIES},
        ),
        (
            {"allow_rules": {"shell": [allow("shell", "ls")]}},
            {**dict.fromkeys(PermissionMode, RUNS), PermissionMode.EXPLORE: DENIES},
        ),
    ],
    ids=["deny", "ask", "allow"],
)
def test_each_rule_holds_in_each_mode(mode: PermissionMode, rules: Any, expected: Any) -> None:
    talk = Conversation([tool_call("shell", command="ls")], "ok", permission=context(mode.value, **rules))

    assert verdict(talk.call("go")) == expected[mode]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("in/a.txt", RUNS), ("../a.txt", ASKS), ("in/../../a.txt", ASKS), (".env", ASKS), (".git/config", ASKS)],
)
def test_edits_are_accepted_inside_the_working_directories_but_for_what_is_protected(
    path: str, expected: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    talk = Conversation(
        [tool_call("write", path=f"{home}/{path}")], "ok", permission=context("accept_edits", home)
    )

    assert verdict(talk.call("go")) == expected


def test_what_is_protected_is_asked_about_in_every_mode_and_no_rule_is_suggested(tmp_path: Path) -> None:
    for mode in ("default", "accept_edits", "bypass"):
        rules = {"allow_rules": {"write": [allow("write")]}}
        talk = Conversation(
            [tool_call("write", path=f"{tmp_path}/.ssh/id")],
            "ok",
            permission=context(mode, tmp_path, **rules),
        )
        paused = talk.call("go")

        assert len(asked(paused)) == 1
        (suggested,) = only(paused, ev.RequireUserConfirmEvent).suggested_rules.values()
        assert suggested == ()
        assert verdict(talk.call(answered(paused, True))) == RUNS


def test_where_nobody_can_be_asked_a_denial_says_so_and_the_reply_goes_on() -> None:
    talk = Conversation([WRITE], "Then not.", permission="dont_ask")
    record = talk.call("go")

    assert results(record) == [
        ("shell", "denied", "Permission denied: nobody can be asked. Permission required for 'shell'")
    ]
    assert ended(record) is GenerateReason.MODEL_STOP
    assert every(record, ev.AllToolsDeniedEvent) == []


@pytest.mark.parametrize(
    "given",
    ["default", PermissionMode.DEFAULT, PermissionContextState()],
    ids=["a mode's name", "a mode", "a context"],
)
def test_permission_is_given_as_a_mode_or_as_a_context(given: Any) -> None:
    assert verdict(Conversation([WRITE], permission=given).call("go")) == ASKS


def test_without_permission_everything_runs_that_no_check_objects_to() -> None:
    assert verdict(Conversation([WRITE], "ok", permission=None).call("go")) == RUNS


@pytest.mark.parametrize("given", ["sometimes", 5, True, ["default"]])
def test_what_is_no_permission_is_refused_with_the_modes(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"permission is .*default, accept_edits, explore"):
        ReActAgent("Friday", model=ScriptedModel("x"), permission=given)


# The session's own.


def test_a_session_may_have_a_mode_of_its_own(home: Home) -> None:
    talk = Conversation([WRITE], [WRITE], "ok", home=home)
    talk.call(answered(talk.call("go"), False))
    assert len(asked(talk.records[-1])) == 1

    def bypass(state: Any) -> Any:
        return evolve(state, permission_context=context("bypass"))

    talk.agent.update_state(bypass, CTX).run()
    resumed = talk.call(None)
    assert results(resumed)[-1] == ("shell", "success", "ran ls")


def test_a_sessions_rules_and_directories_stand_beside_the_applications(tmp_path: Path) -> None:
    talk = Conversation(
        [
            tool_call("write", path=f"{tmp_path}/a"),
            tool_call("shell", command="ls"),
            tool_call("pay", amount=1),
        ],
        permission=context("accept_edits", allow_rules={"shell": [allow("shell")]}),
    )

    def more(state: Any) -> Any:
        own = context("default", tmp_path, deny_rules={"pay": [deny("pay")]})
        return evolve(state, permission_context=own)

    talk.agent.update_state(more, CTX).run()
    record = talk.call("go")
    assert [(name, state) for name, state, _ in results(record)] == [
        ("pay", "denied"),
        ("write", "success"),
        ("shell", "success"),
    ]


def test_another_agent_goes_on_with_a_session_under_rules_of_its_own() -> None:
    """What is stored with a session is what it has accepted, and nothing of the application's."""
    edit = tool_call("write", path="/a")
    talk = Conversation(
        [WRITE],
        [WRITE, edit],
        "done",
        [WRITE, edit],
        home=Home("JSON", None),
        permission=context("default", allow_rules={"write": [allow("write")]}),
    )
    talk.call(answered(talk.call("go"), True, rules=[allow("shell")]))
    assert talk.desk.did == ["shell ls", "shell ls", "write /a"]
    paused = talk.call("again", permission="default")

    assert [call.name for call in asked(paused)] == ["write"]
    assert talk.desk.did[3:] == ["shell ls"]


# The tool's own check.


def check(decision: PermissionDecision | None) -> Any:
    return lambda _input, _context: decision


def checked(decision: PermissionDecision | None) -> Any:
    @tool(check_permission=check(decision))
    def act(path: str) -> str:
        """Act."""
        return f"acted on {path}"

    return act


@pytest.mark.parametrize(
    ("decision", "unconfigured", "default", "bypass"),
    [
        (None, RUNS, ASKS, RUNS),
        (PermissionDecision.passthrough(), RUNS, ASKS, RUNS),
        (PermissionDecision.allow(), RUNS, RUNS, RUNS),
        (PermissionDecision.ask("Sure?"), ASKS, ASKS, RUNS),
        (PermissionDecision.ask("Sure?", "safety"), ASKS, ASKS, ASKS),
        (PermissionDecision.deny("No."), DENIES, DENIES, DENIES),
    ],
)
def test_a_tools_own_check_counts_also_without_a_configuration(
    decision: Any, unconfigured: str, default: str, bypass: str
) -> None:
    for permission, expected in ((None, unconfigured), ("default", default), ("bypass", bypass)):
        talk = Conversation(
            [tool_call("act", path="/a")], "ok", toolkit=[checked(decision)], permission=permission
        )

        assert verdict(talk.call("go")) == expected


def test_the_words_of_a_tools_denial_are_told_to_the_model() -> None:
    talk = Conversation(
        [tool_call("act", path="/a")], "ok", toolkit=[checked(PermissionDecision.deny("Not on Sundays."))]
    )

    assert results(talk.call("go")) == [("act", "denied", "Not on Sundays.")]


def test_a_tools_own_suggestion_is_offered_if_it_would_help() -> None:
    decision = PermissionDecision(
        PermissionBehavior.ASK, "Sure?", suggested_rules=(allow("act", "/a"), allow("other"))
    )
    talk = Conversation([tool_call("act", path="/a")], toolkit=[checked(decision)])
    confirm = only(talk.call("go"), ev.RequireUserConfirmEvent)

    (rules,) = confirm.suggested_rules.values()
    assert rules == (allow("act", "/a"),)


def test_a_check_that_fails_is_a_question(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: Any, __: Any) -> Any:
        raise KeyError("path")

    @tool(check_permission=broken)
    def act(path: str) -> str:
        """Act."""
        return path

    talk = Conversation([tool_call("act", path="/a")], "ok", toolkit=[act], permission="bypass")
    assert verdict(talk.call("go")) == ASKS
    assert verdict(talk.call(answered(talk.records[0], True))) == RUNS


def trimmed(input: Mapping[str, Any], _: PermissionContextState) -> PermissionDecision:
    return PermissionDecision(
        PermissionBehavior.PASSTHROUGH, updated_input={"path": str(input["path"]).strip()}
    )


@pytest.mark.parametrize("permission", [None, "default", "bypass"])
def test_a_call_runs_with_the_arguments_that_the_tools_check_gives(permission: Any) -> None:
    got: list[str] = []

    @tool(check_permission=trimmed)
    def act(path: str) -> str:
        """Act."""
        got.append(path)
        return path

    talk = Conversation([tool_call("act", path=" /a ")], "ok", toolkit=[act], permission=permission)
    record = talk.call("go")
    if permission == "default":
        record = talk.call(edited(asked(record)[0], input={"path": " /b "}, content=None))

    assert got == ["/b" if permission == "default" else "/a"]
    assert record.message is not None
    shown = record.message.get_content_blocks(ToolUseBlock)[0].input["path"]
    assert shown.strip() == got[0], "what the model and the human have said stays as it was said"


def test_what_is_handed_out_has_the_arguments_of_the_check_every_time() -> None:
    @tool(external=True, check_permission=trimmed)
    def upload(path: str) -> str:
        """Upload, elsewhere."""
        raise AssertionError

    talk = Conversation([tool_call("upload", path=" /a ")], toolkit=[upload], permission=None)
    for record in (talk.call("go"), talk.call(None)):
        (call,) = only(record, ev.RequireExternalExecutionEvent).tool_calls
        assert call.input == {"path": "/a"}


# Tools that the session does not have.


@pytest.mark.parametrize("permission", [None, "default", "dont_ask", "explore"])
def test_a_tool_of_a_group_that_is_not_active_is_not_asked_about(permission: Any) -> None:
    desk = Desk()
    toolkit = Toolkit(ToolGroup("desk", "A desk.", [desk], active=False))
    talk = Conversation([WRITE], "ok", toolkit=toolkit, permission=permission)
    record = talk.call("go")

    if permission == "explore":
        assert verdict(record) == DENIES
        return
    [(name, state, text)] = results(record)
    assert (name, state) == ("shell", "error")
    assert "its group 'desk' is not active" in text
    assert desk.did == []


def test_a_rule_about_a_tool_that_is_not_shown_holds_all_the_same() -> None:
    toolkit = Toolkit(ToolGroup("desk", "A desk.", [Desk()], active=False))
    talk = Conversation(
        [WRITE], "ok", toolkit=toolkit, permission=context("default", deny_rules={"shell": [deny("shell")]})
    )

    assert verdict(talk.call("go")) == DENIES


def test_an_approved_call_of_a_tool_that_has_gone_has_an_error_result() -> None:
    talk = Conversation([WRITE], "ok", home=Home("JSON", None))
    paused = talk.call("go")
    resumed = talk.call(answered(paused, True), toolkit=[external_tool("other")])

    [(name, state, text)] = results(resumed)
    assert (name, state) == ("shell", "error")
    assert "Tool not found: 'shell'" in text


# Tools that an agent brings itself.


@pytest.mark.parametrize("mode", list(PermissionMode))
def test_nobody_is_asked_about_the_tools_that_an_agent_brings_itself(mode: PermissionMode) -> None:
    toolkit = Toolkit(ToolGroup("desk", "A desk.", [Desk()], active=False), meta_tool=True)
    talk = Conversation(
        [
            tool_call("todo_write", todos=[{"content": "tidy up"}]),
            tool_call("reset_equipped_tools", to_activate=["desk"]),
        ],
        tool_call("generate_response", response={"tidy": True}),
        toolkit=toolkit,
        permission=mode,
        enable_task_list=True,
    )
    message = talk.agent.reply("go", CTX, output={"type": "object"}).run()

    assert [state for _, state, _ in results(message)] == ["success"] * 3
    assert message.structured_output == {"tidy": True}


# Java's way to write it down.


def test_permissions_of_a_java_program_are_read_and_hold() -> None:
    written = {
        "mode": "EXPLORE",
        "working_directories": {},
        "allow_rules": {},
        "deny_rules": {
            "read": [{"tool_name": "read", "rule_content": None, "behavior": "deny", "source": "policy"}]
        },
        "ask_rules": {},
    }
    permission = wire.from_dict(PermissionContextState, written)
    talk = Conversation([READ, WRITE], "ok", permission=permission)

    assert [(name, text) for name, _, text in results(talk.call("go"))] == [
        ("read", "Permission denied by rules"),
        ("shell", "Permission denied: 'shell' may change something, and only reading is allowed now"),
    ]


def test_calls_side_by_side_are_judged_each_by_itself() -> None:
    agent = ReActAgent(
        "Friday",
        model=ScriptedModel(
            [tool_call("shell", command=c) for c in ("ls", "rm -r /", "ls | sh", "lsof")], "ok"
        ),
        toolkit=[Desk()],
        permission=context("dont_ask", allow_rules={"shell": [allow("shell", "ls:*")]}),
    )
    record = check_call(agent, "go")

    assert sorted(state for _, state, _ in results(record)) == ["denied", "denied", "denied", "success"]
    assert ("shell", "success", "ran ls") in results(record)
