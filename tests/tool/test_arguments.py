from __future__ import annotations

import enum
from datetime import date
from typing import Any, Literal

import attrs
import pydantic
import pydantic_core
import pytest

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ToolArgumentsError
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.tool import tool
from agentscope_rx.tool._arguments import bind
from agentscope_rx.tool._inject import Injection
from agentscope_rx.tool._schema import Parameter


class Color(enum.Enum):
    RED = "red"


@attrs.frozen
class Place:
    city: str
    zip: int = 0


class Order(pydantic.BaseModel):
    item: str
    amount: int = 1


def inject(_: Parameter) -> None:
    return None


def read(hint: Any, value: Any) -> Any:
    def function(x: Any) -> None: ...

    function.__annotations__["x"] = hint
    return bind(tool(function).signature, {"x": value}, inject)["x"]


@pytest.mark.parametrize(
    ("hint", "value", "converted"),
    [
        (int, 3, 3),
        (int, "3", 3),
        (int, 3.0, 3),
        (int, "-12345678901234567890", -12345678901234567890),
        (float, 3, 3.0),
        (float, "2.5", 2.5),
        (bool, "true", True),
        (bool, "false", False),
        (str, "3", "3"),
        (str | None, None, None),
        (str | None, "null", "null"),
        (int | None, "null", None),
        (int | str, "3", "3"),
        (list[int], ["1", 2], [1, 2]),
        (list[int], "[1, 2]", [1, 2]),
        (set[str], ["a"], {"a"}),
        (tuple[int, str], [1, "a"], (1, "a")),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (Color, "red", Color.RED),
        (Literal["a", "b"], "b", "b"),
        (date, "2026-01-02", date(2026, 1, 2)),
        (Place, {"city": "Oslo"}, Place("Oslo")),
        (Place, {"city": "Oslo", "zip": "150"}, Place("Oslo", 150)),
        (Place, '{"city": "Oslo"}', Place("Oslo")),
        (list[Place], [{"city": "Oslo"}], [Place("Oslo")]),
        (Order, {"item": "tea", "amount": "2"}, Order(item="tea", amount=2)),
        (list[Order], '[{"item": "tea"}]', [Order(item="tea")]),
        (Any, {"a": [1, None]}, {"a": [1, None]}),
        (dict, {"a": [1]}, {"a": [1]}),
    ],
)
def test_a_value_is_read_where_only_one_reading_is_possible(hint: Any, value: Any, converted: Any) -> None:
    result = read(hint, value)

    assert result == converted
    assert type(result) is type(converted)


@pytest.mark.parametrize(
    ("hint", "value", "message"),
    [
        (int, "three", "$.x: expected int, got str"),
        (int, 3.5, "$.x: expected int, got float"),
        (int, True, "$.x: expected int, got bool"),
        (str, 3, "$.x: expected str, got int"),
        (str, None, "$.x: expected str, got null"),
        (bool, "yes", "$.x: expected bool, got str"),
        (list[int], "1, 2", "$.x: expected array, got str"),
        (list[int], "[1, 2", "$.x: expected array, got str"),
        (list[int], [1, "b"], "$.x[1]: expected int, got str"),
        (Color, "RED", "$.x: invalid enum value 'RED'"),
        (Place, {}, "$.x: object missing required field city"),
        (list[Place], [{"city": "a"}, {"city": 1}], "$.x[1].city: expected str, got int"),
        (dict[str, Place], {"a": {"city": 1}}, "$.x[...].city: expected str, got int"),
        (Place, '{"city": 1}', "$.x: expected object, got str"),
        (list[Order], [{"item": "tea", "amount": "many"}], "$.x[0].amount: Input should be a valid integer"),
    ],
)
def test_what_does_not_fit_names_its_path(hint: Any, value: Any, message: str) -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        read(hint, value)

    assert str(caught.value).startswith(message)
    assert caught.value.path == message.partition(": ")[0]


@tool
def search(query: str, limit: int = 10, *, ctx: RuntimeContext) -> None: ...


def test_what_is_missing_is_an_error_or_has_its_default() -> None:
    assert bind(search.signature, {"query": "x"}, inject) == {"query": "x", "ctx": None}
    with pytest.raises(ToolArgumentsError, match=r"\$\.query: is missing"):
        bind(search.signature, {}, inject)


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        bind(search.signature, {"query": 1, "limt": 3, "limit": "x"}, inject)

    assert str(caught.value) == (
        "$.query: expected str, got int; $.limit: expected int, got str; "
        "$.limt: is unknown; the parameters are: query, limit"
    )


def test_the_model_cannot_fill_in_what_the_call_does() -> None:
    with pytest.raises(ToolArgumentsError, match=r"\$\.ctx: is unknown"):
        bind(search.signature, {"query": "x", "ctx": {}}, inject)


def test_a_tool_without_parameters_says_so() -> None:
    @tool
    def now() -> None: ...

    with pytest.raises(ToolArgumentsError, match=r"\$\.zone: is unknown; there are no parameters"):
        bind(now.signature, {"zone": 1}, inject)


def test_an_open_tool_gets_what_it_does_not_name() -> None:
    @tool
    def call(name: str, **more: Any) -> None: ...

    assert bind(call.signature, {"name": "x", "a": [1], "b": None}, inject) == {
        "name": "x",
        "a": [1],
        "b": None,
    }


def test_nothing_of_the_message_reaches_the_tool() -> None:
    @tool
    def change(items: list[Any], options: dict[str, Any], **more: Any) -> None: ...

    block = ToolUseBlock("c", "change", {"items": [[1]], "options": {"a": {"b": [2]}}, "more": {"c": [3]}})
    values = bind(change.signature, block.input, inject)
    values["items"][0].append(9)
    values["options"]["a"]["b"].append(9)
    values["more"]["c"].append(9)

    assert block.input == {"items": [[1]], "options": {"a": {"b": [2]}}, "more": {"c": [3]}}


def test_injected_values_come_by_their_type() -> None:
    ctx = RuntimeContext(user_id="ann")

    def fill(parameter: Parameter) -> Any:
        return {Injection(RuntimeContext): ctx}[parameter.injected]

    assert bind(search.signature, {"query": "x"}, fill)["ctx"] is ctx


def judged(function: Any, content: str | None = None, **input: Any) -> Any:
    made = tool(name="t")(function)
    return made.arguments(ToolUseBlock("c", "t", input, content))


def test_the_arguments_to_be_judged_are_those_that_the_tool_gets() -> None:
    def function(paths: list[str], n: int, place: Place, day: date, note: str, log: str = "/x") -> None: ...

    place = {"city": "Rome"}
    given = {"paths": '["a", "b"]', "n": "3", "place": place, "day": "2026-01-02", "note": '["a"]'}

    assert judged(function, **given) == {
        "paths": ["a", "b"],
        "n": 3,
        "place": place,
        "day": "2026-01-02",
        "note": '["a"]',
        "log": "/x",
    }


def test_they_are_read_from_the_text_of_the_call_if_there_is_nothing_else() -> None:
    def function(a: str, b: str | None = None) -> None: ...

    assert judged(function, '{"a": "x", "b": null}') == {"a": "x", "b": None}
    assert judged(function, '{"a": "x"}', a="y") == {"a": "y"}


def test_an_open_tool_is_judged_by_what_it_does_not_name_too() -> None:
    def function(a: str, **rest: Any) -> None: ...

    assert judged(function, a="x", b=["y"]) == {"a": "x", "b": ["y"]}


def test_the_judge_gets_copies() -> None:
    def function(a: list[str]) -> None: ...

    given = ["x"]
    seen = judged(function, a=given)
    seen["a"].append("y")

    assert given == ["x"]


@pytest.mark.parametrize(
    ("content", "input"),
    [("{oops", {}), (None, {}), (None, {"a": 1}), (None, {"a": {"b": 1}, "c": 2})],
    ids=["no JSON", "missing", "of another type", "unknown"],
)
def test_arguments_that_do_not_fit_are_not_judged(content: str | None, input: dict[str, Any]) -> None:
    def function(a: dict[str, int]) -> None: ...

    assert judged(function, content, **input) is None


class Moody:
    """A type that fails in its own way."""

    error: Exception = RuntimeError("not today")

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
        def fail(_: Any) -> Any:
            raise cls.error

        return pydantic_core.core_schema.no_info_plain_validator_function(fail)

    __pydantic_validator__ = None

    @classmethod
    def __get_pydantic_json_schema__(cls, *_: Any) -> Any:
        return {"type": "string"}


def test_a_type_that_raises_is_as_one_that_does_not_fit() -> None:
    def function(a: Moody) -> None: ...

    with pytest.raises(RuntimeError):
        bind(tool(name="t")(function).signature, {"a": "x"}, inject)
    assert judged(function, a="x") is None


def test_a_type_that_needs_more_memory_than_there_is_fails_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def function(a: Moody) -> None: ...

    monkeypatch.setattr(Moody, "error", MemoryError())

    with pytest.raises(MemoryError):
        judged(function, a="x")
