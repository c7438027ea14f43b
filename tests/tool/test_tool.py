from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentscope_rx._json import dumps
from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.model import ToolSchema
from agentscope_rx.permission import (
    DANGEROUS_PATHS,
    AdditionalWorkingDirectory,
    PermissionContextState,
    PermissionDecision,
    PermissionMode,
    PermissionRule,
    decide,
)
from agentscope_rx.tool import Tool, Toolkit, tool


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool(name="save_file", description="Keep it.", concurrency_safe=False, timeout=2.5, strict=True)
async def save(path: str) -> str:
    return path


class Counter:
    def __init__(self, step: int) -> None:
        self.step = step
        self.count = 0

    @tool(read_only=True)
    def up(self, times: int = 1) -> int:
        """Count up."""
        self.count += self.step * times
        return self.count

    @staticmethod
    @tool
    def zero() -> int:
        return 0

    @tool
    @staticmethod
    def one() -> int:
        return 1


async def later(value: object) -> object:
    return value


def test_a_tool_is_called_as_its_function() -> None:
    assert add(1, b=2) == add(a=1, b=2) == 3


@pytest.mark.asyncio
async def test_an_async_tool_is_awaited_as_its_function() -> None:
    assert await save("x") == "x"


def test_a_tool_looks_like_its_function() -> None:
    assert (add.__name__, add.__doc__, add.__module__) == ("add", "Add two numbers.", __name__)
    assert str(inspect.signature(add)) == "(a: 'int', b: 'int' = 1) -> 'int'"


def test_options_are_kept_and_the_rest_has_defaults() -> None:
    assert (save.name, save.description, save.timeout, save.strict) == ("save_file", "Keep it.", 2.5, True)
    assert (save.concurrency_safe, save.read_only) == (False, False)
    assert (add.concurrency_safe, add.read_only, add.timeout, add.strict) == (True, False, None, None)


def test_the_schema_is_what_a_model_sees() -> None:
    assert save.schema == ToolSchema(
        "save_file",
        "Keep it.",
        {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
            "additionalProperties": False,
        },
        strict=True,
    )


def test_a_method_is_bound_to_its_object() -> None:
    first, second = Counter(1), Counter(10)

    assert (first.up(), first.up(2), second.up()) == (1, 3, 10)
    assert list(first.up.parameters["properties"]) == ["times"]
    assert first.up == first.up
    assert first.up.read_only


def test_a_static_method_waits_for_nothing() -> None:
    assert (Counter.zero(), Counter(1).zero(), Counter(1).one()) == (0, 0, 1)


def test_a_tool_that_is_an_attribute_of_a_class_stays_itself() -> None:
    class Holder:
        plus = add

    assert Holder().plus is add


def test_a_tool_is_frozen_and_copies_are_changed() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        add.name = "other"  # type: ignore[misc]
    assert attrs.evolve(add, timeout=3).timeout == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "two words"}, "'two words' is no name for a tool"),
        ({"name": ""}, "'' is no name for a tool"),
        ({"timeout": 0}, "timeout of tool 'f' is 0; give seconds above 0"),
        ({"timeout": "3"}, "timeout is '3'"),
        ({"read_only": 1}, "read_only is 1"),
        ({"external": "yes"}, "external is 'yes'"),
        ({"converter": 3}, "converter of tool 'f' is 3; give a function, or None"),
        ({"converter": later}, "converter of tool 'f' is async; give a plain function"),
        ({"description": 3}, "description is 3"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    def f() -> None: ...

    with pytest.raises(ConfigurationError, match=message):
        tool(**options)(f)


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ConfigurationError, match=r"'<lambda>' is no name.*@tool\(name="):
        tool(lambda: None)


def test_a_tool_is_not_made_twice() -> None:
    with pytest.raises(ConfigurationError, match="'add' is a tool already"):
        tool(add)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'search' is no function"):
        tool("search")  # type: ignore[call-overload]


def test_a_converter_may_be_a_method_of_the_tool_s_object() -> None:
    class Shop:
        def __init__(self, secret: str) -> None:
            self.secret = secret

        def hide(self, value: str) -> str:
            return value.replace(self.secret, "***")

        @tool(converter=hide)
        def look(self) -> str:
            return f"the {self.secret} door"

    look = Shop("red").look

    assert look.converter is not None
    assert look.converter("red") == "***"


def test_a_tool_can_be_made_of_a_schema_alone() -> None:
    """As tools of other servers are: arguments that the schema does not name pass as they are."""
    made = Tool("remote", "Far away.", {"type": "object"}, lambda **arguments: arguments)

    assert made(x=1) == {"x": 1}
    assert made.schema.parameters == {"type": "object"}


class Files:
    """A tool with all that it has to say about permission."""

    def __init__(self, secret: str) -> None:
        self.secret = secret

    def check(self, input: Mapping[str, Any], context: PermissionContextState) -> PermissionDecision | None:
        return PermissionDecision.deny("That is secret.") if self.secret in input["text"] else None

    def match(self, content: str, input: Mapping[str, Any]) -> bool:
        return f"{self.secret}:{content}" == input["text"]

    @staticmethod
    def suggest(input: Mapping[str, Any]) -> list[PermissionRule]:
        return [PermissionRule("write", input["text"])]

    @tool(
        check_permission=check,
        match_rule=match,
        suggest_rules=suggest,
        path_arguments=["path"],
        rule_arguments=("text",),
        dangerous_paths=("*.key",),
    )
    def write(self, path: str, text: str, ctx: RuntimeContext) -> None: ...


def test_what_a_method_says_about_permission_is_said_by_its_object() -> None:
    write = Files("xyz").write
    denied, silent = ({"text": "a xyz b"}, {"text": "abc"})

    assert write.check_permission is not None
    assert write.check_permission(denied, PermissionContextState()) == PermissionDecision.deny(
        "That is secret."
    )
    assert write.check_permission(silent, PermissionContextState()) is None
    assert write.match_rule is not None
    assert (write.match_rule("a", {"text": "xyz:a"}), write.match_rule("b", {"text": "xyz:a"})) == (
        True,
        False,
    )
    assert write.suggest_rules is not None
    assert write.suggest_rules({"text": "a"}) == [PermissionRule("write", "a")]


def test_what_a_tool_says_about_permission_is_kept_by_a_toolkit() -> None:
    kept = Toolkit(Files("xyz")).get("write")

    assert kept is not None
    assert (kept.path_arguments, kept.rule_arguments, kept.dangerous_paths) == (
        ("path",),
        ("text",),
        ("*.key",),
    )


def test_a_tool_says_nothing_about_permission_unless_it_is_told_to() -> None:
    assert (add.check_permission, add.match_rule, add.suggest_rules) == (None, None, None)
    assert (add.path_arguments, add.rule_arguments, add.dangerous_paths) == ((), (), DANGEROUS_PATHS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path_arguments": ["file"]}, "names 'file', which is none of its arguments: path, text"),
        ({"rule_arguments": ["ctx"]}, "names 'ctx', which is none of its arguments: path, text"),
        ({"path_arguments": "path"}, "'path' is no sequence; give a list of str"),
        ({"dangerous_paths": [1]}, "1 is no str"),
        ({"check_permission": True}, "check_permission of tool 'write' is True; give a function, or None"),
    ],
)
def test_wrong_words_about_permission_are_refused(options: dict[str, Any], message: str) -> None:
    def write(path: str, text: str, ctx: RuntimeContext) -> None: ...

    with pytest.raises(ConfigurationError) as caught:
        tool(**options)(write)

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("mode", "paths", "behavior"),
    [
        (PermissionMode.DEFAULT, ["a.txt"], "ask"),
        (PermissionMode.ACCEPT_EDITS, ["a.txt"], "allow"),
        (PermissionMode.ACCEPT_EDITS, '["a.txt", "b.txt"]', "allow"),
        (PermissionMode.ACCEPT_EDITS, '["a.txt", "/etc/passwd"]', "ask"),
        (PermissionMode.BYPASS, '["a.txt", "~/.ssh/id"]', "ask"),
        (PermissionMode.EXPLORE, ["a.txt"], "deny"),
        (PermissionMode.DEFAULT, "a.txt", "allow"),  # to be told that it is no list
    ],
)
def test_the_permission_engine_judges_what_the_tool_would_run_with(
    mode: PermissionMode, paths: Any, behavior: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    @tool(path_arguments=["paths"])
    def write(paths: list[str], log: str = "/var/log/x") -> None: ...

    context = PermissionContextState(mode, {".": AdditionalWorkingDirectory(".")})
    call = ToolUseBlock("c", "write", content=dumps({"paths": paths}).decode())

    assert decide(call, write, context).behavior == behavior
