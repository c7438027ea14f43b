"""What may happen with the calls of a batch: run, be handed out, be asked about, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from agentscope_rx.agent._loop_state import Closing
from agentscope_rx.agent._permit import Permits, denied_step, permits, questions
from agentscope_rx.event import (
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
)
from agentscope_rx.message import (
    ContentBlock,
    GenerateReason,
    HintBlock,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.permission import (
    PermissionBehavior,
    PermissionContextState,
    PermissionDecision,
    PermissionMode,
    PermissionRule,
    accept_rules,
)
from agentscope_rx.tool import ToolGroup, Toolkit, external_tool, tool


@tool
def write(path: str) -> str:
    """Write a file."""
    return path


@tool(read_only=True)
def read(path: str) -> str:
    """Read a file."""
    return path


def trimmed(input: Mapping[str, Any], _: PermissionContextState) -> PermissionDecision:
    return PermissionDecision(
        PermissionBehavior.PASSTHROUGH, updated_input={"path": str(input["path"]).strip()}
    )


@tool(check_permission=trimmed)
def trim(path: str) -> str:
    """Write a file whose name is trimmed first."""
    return path


@tool(external=True, check_permission=trimmed)
def upload(path: str) -> str:
    """Write a file elsewhere, whose name is trimmed first."""
    return path


@tool
def hidden(path: str) -> str:
    """Not to be seen."""
    return path


PAY = external_tool("pay", "Pay.", {"type": "object", "properties": {"path": {"type": "string"}}})
TOOLKIT = Toolkit(write, read, trim, upload, PAY, ToolGroup("more", "More.", [hidden], active=False))


def call(
    name: str, id: str = "c", state: ToolCallState = ToolCallState.PENDING, **input: Any
) -> ToolUseBlock:
    return ToolUseBlock(id, name, input or {"path": "/x"}, state=state)


def rules(*rules: PermissionRule, mode: str = "default") -> PermissionContextState:
    return accept_rules(PermissionContextState(PermissionMode(mode)), rules)


def where(permits: Permits) -> str:
    """The only tuple that holds a call."""
    (name,) = [name for name in ("run", "outside", "ask", "deny") if getattr(permits, name)]
    return name


DENY_WRITE = PermissionRule("write", None, PermissionBehavior.DENY)
DENY_PAY = PermissionRule("pay", None, PermissionBehavior.DENY)
ASK_READ = PermissionRule("read", None, PermissionBehavior.ASK)
ALLOW_PAY = PermissionRule("pay", None, PermissionBehavior.ALLOW)


@pytest.mark.parametrize(
    ("asked", "permission", "place"),
    [
        (call("write"), None, "run"),
        (call("write"), rules(), "ask"),
        (call("write", state=ToolCallState.ALLOWED), rules(), "run"),
        (call("write", state=ToolCallState.ALLOWED), rules(DENY_WRITE), "deny"),
        (call("write", state=ToolCallState.ASKING), rules(), "ask"),
        (call("write", state=ToolCallState.ASKING), rules(mode="bypass"), "run"),
        (call("write"), rules(mode="dont_ask"), "deny"),
        (call("write"), rules(mode="explore"), "deny"),
        (call("write"), rules(DENY_WRITE), "deny"),
        (call("read"), rules(), "run"),
        (call("read"), rules(ASK_READ), "ask"),
        (call("pay"), None, "outside"),
        (call("pay"), rules(), "ask"),
        (call("pay"), rules(ALLOW_PAY), "outside"),
        (call("pay"), rules(DENY_PAY), "deny"),
        (call("pay", state=ToolCallState.ALLOWED), rules(), "outside"),
        # what cannot run goes on to its result, which says why
        (call("nowhere"), rules(), "run"),
        (call("hidden"), rules(), "run"),
        (call("write", nonsense=1), rules(), "run"),
        (call("pay", path=1), None, "run"),
        (call("pay", path=1), rules(), "run"),
        (call("pay", state=ToolCallState.ALLOWED, path=1), rules(), "run"),
        (ToolUseBlock("c", "write", content='{"path"'), rules(), "run"),
        (ToolUseBlock("c", "pay", content='{"path"'), None, "run"),
        # but not past a rule about the tool as a whole
        (call("write", nonsense=1), rules(DENY_WRITE), "deny"),
        (call("pay", path=1), rules(DENY_PAY), "deny"),
    ],
)
def test_each_call_has_its_place(
    asked: ToolUseBlock, permission: PermissionContextState | None, place: str
) -> None:
    sorted_calls = permits(
        [asked], TOOLKIT, permission or PermissionContextState(), configured=permission is not None
    )

    assert where(sorted_calls) == place


def test_the_calls_of_a_place_stay_in_order_and_what_asks_has_its_rules() -> None:
    calls = [call("write", "1"), call("read", "2"), call("write", "3"), call("pay", "4"), call("read", "5")]
    sorted_calls = permits(calls, TOOLKIT, rules(ALLOW_PAY), configured=True)

    assert [each.id for each in sorted_calls.run] == ["2", "5"]
    assert [each.id for each in sorted_calls.ask] == ["1", "3"]
    assert [each.id for each in sorted_calls.outside] == ["4"]
    assert list(sorted_calls.rules) == ["1", "3"]
    assert all(rule.tool_name == "write" for rule in sorted_calls.rules["1"])


def test_a_denial_says_why() -> None:
    sorted_calls = permits([call("write")], TOOLKIT, rules(DENY_WRITE), configured=True)

    assert sorted_calls.deny == (Closing("c", "Permission denied by rules", ToolResultState.DENIED),)


@pytest.mark.parametrize("name", ["write", "pay", "nowhere"])
def test_what_is_delegated_already_is_not_judged_again(name: str) -> None:
    denied = PermissionRule(name, None, PermissionBehavior.DENY)
    sorted_calls = permits([call(name)], TOOLKIT, rules(denied), configured=True, delegated={"c"})

    assert sorted_calls == Permits(run=(call(name),))


@pytest.mark.parametrize("name", ["write", "pay", "nowhere"])
def test_what_is_outside_already_is_not_judged_again(name: str) -> None:
    denied = PermissionRule(name, None, PermissionBehavior.DENY)
    sorted_calls = permits([call(name)], TOOLKIT, rules(denied), configured=True, outside={"c"})

    assert sorted_calls.outside == (call(name),)


@pytest.mark.parametrize(
    ("name", "state", "outside", "place"),
    [
        ("trim", ToolCallState.PENDING, (), "run"),
        ("trim", ToolCallState.ALLOWED, (), "run"),
        ("upload", ToolCallState.PENDING, (), "outside"),
        ("upload", ToolCallState.SUBMITTED, ("c",), "outside"),
        ("trim", ToolCallState.ALLOWED, ("c",), "outside"),
    ],
)
def test_a_call_runs_and_is_handed_out_with_the_arguments_that_its_tools_check_gives(
    name: str, state: ToolCallState, outside: tuple[str, ...], place: str
) -> None:
    permission = rules(PermissionRule(name))
    asked = call(name, state=state, path=" /x ")
    sorted_calls = permits([asked], TOOLKIT, permission, configured=True, outside=outside)

    [updated] = getattr(sorted_calls, place)
    assert (updated.input, updated.content, updated.state) == ({"path": "/x"}, None, state)


def test_a_question_shows_the_arguments_as_the_model_gave_them() -> None:
    sorted_calls = permits([call("trim", path=" /x ")], TOOLKIT, rules(), configured=True)

    assert sorted_calls.ask == (call("trim", path=" /x "),)


def test_questions_come_with_the_state_the_rules_and_the_stop() -> None:
    rule = PermissionRule("write")
    asked = Permits(ask=(call("write", "1"),), outside=(call("pay", "2"),), rules={"1": (rule,)})
    confirm, stop = questions("r", asked, [call("write", "3")])

    assert isinstance(confirm, RequireUserConfirmEvent)
    assert confirm.tool_calls == (call("write", "1", ToolCallState.ASKING),)
    assert confirm.suggested_rules == {"1": (rule,)}
    assert isinstance(stop, RequestStopEvent)
    assert stop.generate_reason is GenerateReason.PERMISSION_ASKING
    assert confirm.reply_id == stop.reply_id == "r"


def test_where_nobody_asks_what_waits_for_the_outside_is_named() -> None:
    (request,) = questions("r", Permits(), [call("pay", "2"), call("write", "3")])

    assert isinstance(request, RequireExternalExecutionEvent)
    assert request.tool_calls == (
        call("pay", "2", ToolCallState.SUBMITTED),
        call("write", "3", ToolCallState.SUBMITTED),
    )


def test_where_nothing_waits_there_is_no_question() -> None:
    assert list(questions("r", Permits(run=(call("write"),), deny=(Closing("d", "no"),)), ())) == []


def result(id: str, state: ToolResultState = ToolResultState.DENIED) -> ToolResultBlock:
    return ToolResultBlock(id, "write", "no", state=state)


def done(id: str) -> ToolUseBlock:
    return call("write", id, ToolCallState.FINISHED)


WORDS = TextBlock("Let me see.")
HINT = HintBlock("h", "hurry", "user")


@pytest.mark.parametrize(
    ("content", "by_rule", "denied"),
    [
        ([], (), []),
        ([WORDS], (), []),
        ([WORDS, done("a"), result("a")], (), ["a"]),
        ([done("a")], (), ["a"]),
        ([done("a"), done("b"), result("b"), result("a")], (), ["a", "b"]),
        ([done("a"), done("b"), result("a")], (), ["a", "b"]),
        ([done("a"), WORDS, done("b"), HINT, result("a"), result("b"), WORDS], (), ["a", "b"]),
        ([done("a"), call("write", "b")], ("b",), ["a", "b"]),
        ([done("a"), call("write", "b")], (), []),
        ([done("a"), result("a", ToolResultState.RUNNING)], (), ["a"]),
        ([call("write", "a"), result("a", ToolResultState.RUNNING)], ("a",), ["a"]),
        ([call("phone", "a"), result("a", ToolResultState.RUNNING)], (), []),
        ([done("a"), done("b"), result("a"), result("b", ToolResultState.SUCCESS)], (), []),
        ([done("a"), done("b"), result("a"), result("b", ToolResultState.ERROR)], ("b",), []),
        ([done("a"), result("a", ToolResultState.SUCCESS), done("b"), result("b")], (), ["b"]),
        ([done("a"), result("a"), WORDS, done("b"), result("b", ToolResultState.SUCCESS)], (), []),
    ],
)
def test_a_step_is_denied_if_each_of_its_calls_is(
    content: list[ContentBlock], by_rule: tuple[str, ...], denied: list[str]
) -> None:
    assert [call.id for call in denied_step(content, by_rule)] == denied
