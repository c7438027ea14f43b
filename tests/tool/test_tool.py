from __future__ import annotations

import inspect
from typing import Any

import attrs
import pytest

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model import ToolSchema
from agentscope_rx.tool import Tool, tool


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


def test_a_tool_can_be_made_of_a_schema_alone() -> None:
    """As tools of other servers are: their arguments pass as they are."""
    made = Tool("remote", "Far away.", {"type": "object"}, lambda **arguments: arguments)

    assert made(x=1) == {"x": 1}
    assert made.schema.parameters == {"type": "object"}
