from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.tool import Toolkit, tool


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
        ((lambda: None,), "'<lambda>' is no name"),
    ],
)
def test_what_is_no_toolkit_is_refused(tools: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Toolkit(*tools)
