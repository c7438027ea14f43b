"""Arguments that the application fixes: unseen by the model, seen by permission, fresh for each call."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import attrs
import pytest
from reactivex import operators as ops

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import ToolResultTextDeltaEvent
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.permission import (
    AdditionalWorkingDirectory,
    PermissionBehavior,
    PermissionContextState,
    PermissionMode,
    decide,
)
from agentscope_rx.tool import Tool, Toolkit, run_tool, tool


@attrs.frozen
class Place:
    city: str


@tool
def search(query: str, limit: int = 10, near: Place | None = None) -> str:
    return f"{query} {limit} {near}"


def call(made: Tool[..., Any], **input: Any) -> str:
    block = ToolUseBlock("c", made.name, input)
    events = run_tool(block, Toolkit(made), reply_id="r").pipe(ops.to_list()).run()
    return "".join(e.delta for e in events if isinstance(e, ToolResultTextDeltaEvent))


def test_what_is_fixed_is_hidden_from_the_model() -> None:
    fixed = search.preset(limit=5)

    assert list(fixed.parameters["properties"]) == ["query", "near"]
    assert search.preset(query="x").parameters["required"] == []
    assert list(search.parameters["properties"]) == ["query", "limit", "near"]


def test_what_is_fixed_is_what_the_tool_gets_whatever_the_model_says() -> None:
    fixed = search.preset(limit=5)

    assert call(fixed, query="x") == "x 5 None"
    assert call(fixed, query="x", limit=99) == "x 5 None"
    assert call(fixed.preset(limit=6), query="x") == "x 6 None"


@pytest.mark.parametrize("near", [{"city": "Oslo"}, Place("Oslo")])
def test_json_values_are_read_as_the_model_s_are_and_others_passed_as_they_are(near: Any) -> None:
    assert call(search.preset(near=near, limit="3"), query="x") == "x 3 Place(city='Oslo')"


def test_what_is_fixed_is_read_anew_for_each_call_so_that_no_call_changes_it_for_another() -> None:
    given = {"tags": ["a"]}

    def add(options: dict[str, list[str]]) -> str:
        options["tags"].append("b")
        return ",".join(options["tags"])

    fixed = tool(add).preset(options=given)
    given["tags"].append("later")

    assert (call(fixed), call(fixed), given) == ("a,b", "a,b", {"tags": ["a", "later"]})


def test_a_tuple_and_an_object_pass_as_what_they_are() -> None:
    seen: list[Any] = []

    @tool
    def keep(it: Any) -> None:
        seen.append(it)

    call(keep.preset(it=(1, 2)))

    assert seen == [(1, 2)]


def test_permission_sees_what_will_run() -> None:
    fixed = search.preset(limit=5, near=Place("Oslo"))

    assert fixed.arguments(ToolUseBlock("c", "search", {"query": "x", "limit": 99})) == {
        "query": "x",
        "limit": 5,
        "near": {"city": "Oslo"},
    }
    assert fixed.preset(near=object()).arguments(ToolUseBlock("c", "search", {"query": "x"})) == {
        "query": "x",
        "limit": 5,
    }


@pytest.mark.parametrize(("root", "behavior"), [("/srv/data", "allow"), ("/etc", "ask")])
def test_permission_judges_a_path_that_the_application_has_fixed(root: str, behavior: str) -> None:
    @tool(path_arguments=["root"])
    def clear(root: str) -> None: ...

    context = PermissionContextState(
        PermissionMode.ACCEPT_EDITS, {"d": AdditionalWorkingDirectory("/srv/data")}
    )
    block = ToolUseBlock("c", "clear", {"root": "/srv/data/x"})

    assert decide(block, clear.preset(root=root), context).behavior is PermissionBehavior(behavior)


def test_what_the_call_fills_in_can_be_fixed_too() -> None:
    @tool
    def who(ctx: RuntimeContext) -> str:
        return f"{ctx.user_id}"

    assert call(who) == "None"
    assert call(who.preset(ctx=RuntimeContext(user_id="ann"))) == "ann"


def test_arguments_that_an_open_tool_does_not_name_can_be_fixed() -> None:
    remote = Tool("remote", "", {"type": "object"}, lambda **given: given)
    fixed = remote.preset({"api-key": "k"}, region="eu")

    assert call(fixed, a=1, region="us") == '{"api-key":"k","region":"eu","a":1}'
    assert fixed.arguments(ToolUseBlock("c", "remote", {"a": 1})) == {"a": 1, "api-key": "k", "region": "eu"}


def test_a_schema_without_required_ones_stays_without() -> None:
    remote = Tool("remote", "", {"type": "object", "properties": {"a": {}, "b": {}}}, lambda **given: given)

    assert remote.preset(a=1).parameters == {"type": "object", "properties": {"b": {}}}


def test_it_is_called_as_its_function_with_what_is_fixed() -> None:
    fixed: Callable[..., str] = search.preset(limit=5)

    assert fixed("x") == "x 5 None"
    assert fixed(query="x", limit=7) == "x 7 None"


def test_a_method_s_arguments_can_be_fixed() -> None:
    class Shop:
        def __init__(self, name: str) -> None:
            self.name = name

        @tool
        def buy(self, item: str, day: date) -> str:
            return f"{self.name} {item} {day.year}"

    assert call(Shop("a").buy.preset(day="2026-01-02"), item="tea") == "a tea 2026"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"limt": 3},
            "preset of tool 'search' names 'limt', which is none of its parameters: query, limit, near",
        ),
        ({"limit": "many"}, r"preset of tool 'search' does not fit: \$\.limit: expected int, got str"),
        ({"near": {}}, r"preset of tool 'search' does not fit: \$\.near: object missing required field city"),
    ],
)
def test_what_cannot_be_fixed_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        search.preset(values)


def test_a_tool_without_parameters_has_nothing_to_fix() -> None:
    @tool
    def now() -> None: ...

    with pytest.raises(ConfigurationError, match="none of its parameters: it has none"):
        now.preset(zone="utc")
