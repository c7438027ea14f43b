from __future__ import annotations

import math
from typing import Any

import pytest
from reactivex import operators as ops

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import ToolResultTextDeltaEvent
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.tool import Tool, ToolGroup, Toolkit, run_tool, tool


@tool
def add(a: int, b: int) -> int:
    return a + b


def plain(x: str) -> str:
    """Say it again."""
    return x


class Base:
    @tool
    def inherited(self) -> str:
        return f"of {type(self).__name__}"

    @tool
    def replaced(self) -> str:
        return "base"


class Weather(Base):
    @tool
    def replaced(self) -> str:
        return "weather"

    @tool(name="today")
    def look(self, city: str) -> str:
        return city

    @staticmethod
    @tool
    def units() -> str:
        return "celsius"

    def no_tool(self) -> None: ...


def test_tools_functions_and_objects_are_taken_in_order() -> None:
    toolkit = Toolkit(add, plain, Weather())

    assert toolkit.names == ("add", "plain", "inherited", "replaced", "today", "units")
    assert [schema.name for schema in toolkit.schemas()] == list(toolkit.names)
    assert len(toolkit) == 6
    assert [each.name for each in toolkit] == list(toolkit.names)


def test_methods_are_bound_to_the_object() -> None:
    toolkit = Toolkit(Weather())

    for name, result in (("inherited", "of Weather"), ("replaced", "weather"), ("units", "celsius")):
        found = toolkit.get(name)
        assert found is not None
        assert found() == result


def test_a_plain_function_is_described_as_a_tool_is() -> None:
    assert Toolkit(plain).schemas()[0].description == "Say it again."


def test_get_of_an_unknown_name_is_none() -> None:
    toolkit = Toolkit(add)

    assert toolkit.get("search") is None
    assert "search" not in toolkit
    assert "add" in toolkit


def test_a_larger_toolkit_leaves_the_smaller_as_it_was() -> None:
    small = Toolkit(add)
    large = small.with_tools(plain)

    assert (small.names, large.names) == (("add",), ("add", "plain"))
    assert repr(large) == "Toolkit(add, plain)"


def test_no_tools_are_a_toolkit_too() -> None:
    assert Toolkit().schemas() == ()


class Reader:
    @tool
    def read(self) -> None: ...


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ((add, add), r"two tools are named 'add'.*@tool\(name="),
        ((Reader(), Reader()), "two tools are named 'read'"),
        ((Reader.read,), r"'read' is a method without its object"),
        ((Reader,), r"Reader is a class: give an object of it, Reader\("),
        ((3,), "3 is no tool"),
        ((Toolkit(add),), r"Toolkit\(add\) is a toolkit and no tool: give it as toolkit="),
        ((lambda: None,), "'<lambda>' is no name"),
    ],
)
def test_what_is_no_toolkit_is_refused(tools: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Toolkit(*tools)


def test_a_toolkit_s_timeout_is_for_tools_that_do_not_say_it_themselves() -> None:
    patient = tool(timeout=math.inf)(plain)
    quick = tool(name="quick", timeout=1)(plain)
    toolkit = Toolkit(add, patient, quick, ToolGroup("g", tools=[Weather()]), timeout=30)

    assert [(each.name, each.timeout) for each in toolkit] == [
        ("add", 30),
        ("plain", math.inf),
        ("quick", 1),
        ("inherited", 30),
        ("replaced", 30),
        ("today", 30),
        ("units", 30),
    ]
    assert add.timeout is None
    assert [each.timeout for each in Toolkit(timeout=3).with_tools(add)] == [3]


def test_no_limit_at_all_is_a_limit_too() -> None:
    assert text_of(tool(timeout=math.inf, max_output=math.inf)(plain)) == "hi"


def text_of(made: Tool[..., Any]) -> str:
    events = run_tool(ToolUseBlock("c", "plain", {"x": "hi"}), Toolkit(made), reply_id="r")
    return "".join(
        e.delta for e in events.pipe(ops.to_list()).run() if isinstance(e, ToolResultTextDeltaEvent)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": -1}, "timeout of tool 'add' is -1"),
        ({"max_output": 0}, "max_output of tool 'add' is 0"),
        ({"objects": 3}, "3 is no sequence; give a list of object"),
    ],
)
def test_wrong_options_of_a_toolkit_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Toolkit(add, **options)
