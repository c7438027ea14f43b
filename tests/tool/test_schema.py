from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Annotated, Any, Literal, Optional, TypedDict

import attrs
import msgspec
import pydantic
import pytest

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.tool import Tool, ToolEmitter, json_schema, tool


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


@attrs.frozen
class Place:
    """Where."""

    city: str
    tags: list[str] = attrs.field(factory=list)


@dataclasses.dataclass
class Trip:
    start: Place
    stops: list[Place]


@attrs.frozen
class Tree:
    name: str
    children: list[Tree] = attrs.field(factory=list)


class Filter(TypedDict, total=False):
    field: str
    value: int


class Order(pydantic.BaseModel):
    item: str
    amount: int = pydantic.Field(ge=1)


class Basket(pydantic.BaseModel):
    orders: list[Order]


def properties(made: Tool[..., Any]) -> dict[str, Any]:
    return made.parameters["properties"]


PLACE = {
    "title": "Place",
    "description": "Where.",
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}, "default": []},
    },
    "required": ["city"],
}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
        (Optional[str], {"anyOf": [{"type": "string"}, {"type": "null"}]}),  # noqa: UP045
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
        (Literal["a", 1], {"enum": [1, "a"]}),
        (Unit, {"type": "string", "title": "Unit", "enum": ["celsius", "fahrenheit"]}),
        (date, {"type": "string", "format": "date"}),
        (Any, {}),
        (Place, PLACE),
        (
            Trip,
            {
                "title": "Trip",
                "type": "object",
                "properties": {"start": PLACE, "stops": {"type": "array", "items": PLACE}},
                "required": ["start", "stops"],
            },
        ),
        (
            Filter,
            {
                "title": "Filter",
                "type": "object",
                "properties": {"field": {"type": "string"}, "value": {"type": "integer"}},
                "required": [],
            },
        ),
        (Annotated[int, msgspec.Meta(ge=1)], {"type": "integer", "minimum": 1}),
        (Annotated[str, "the city"], {"type": "string", "description": "the city"}),
    ],
    ids=str,
)
def test_a_type_hint_becomes_a_schema_without_references(hint: Any, schema: dict[str, Any]) -> None:
    def function(value: Any) -> None: ...

    function.__annotations__["value"] = hint
    made = tool(function)

    assert properties(made)["value"] == schema
    assert "$defs" not in made.parameters


def test_a_type_that_holds_itself_keeps_its_definition() -> None:
    @tool
    def plant(tree: Tree) -> None: ...

    assert properties(plant)["tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert plant.parameters["$defs"].keys() == {"Tree"}
    assert plant.parameters["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}


def test_a_pydantic_model_gives_its_own_schema() -> None:
    @tool
    def buy(basket: Basket) -> None: ...

    order = properties(buy)["basket"]["properties"]["orders"]["items"]
    assert order["properties"]["amount"] == {"minimum": 1, "title": "Amount", "type": "integer"}
    assert "$ref" not in str(buy.parameters)


def test_defaults_make_a_parameter_optional_and_are_told() -> None:
    @tool
    def search(query: str, limit: int = 10, unit: Unit = Unit.C, where: str | None = None) -> None: ...

    assert search.parameters["required"] == ["query"]
    assert properties(search)["limit"] == {"type": "integer", "default": 10}
    assert properties(search)["unit"]["default"] == "celsius"
    assert "default" not in properties(search)["where"]
    assert search.parameters["additionalProperties"] is False


def test_a_default_that_json_cannot_hold_is_not_told() -> None:
    nothing = object()

    @tool
    def search(limit: Any = nothing) -> None: ...

    assert properties(search)["limit"] == {}


@pytest.mark.parametrize(
    "docstring",
    [
        "Search.\n\nThe whole web.\n\nArgs:\n    query: What to look for.\n    limit: At most.\n",
        "Search.\n\nThe whole web.\n\nParameters\n----------\n"
        "query\n    What to look for.\nlimit\n    At most.",
        "Search.\n\nThe whole web.\n\n:param query: What to look for.\n:param limit: At most.\n",
    ],
    ids=["google", "numpy", "rest"],
)
def test_the_docstring_describes_the_tool_and_its_parameters(docstring: str) -> None:
    def search(query: str, limit: int) -> None: ...

    search.__doc__ = docstring
    made = tool(search)

    assert made.description == "Search.\n\nThe whole web."
    assert properties(made)["query"]["description"] == "What to look for."
    assert properties(made)["limit"]["description"] == "At most."


def test_annotated_text_wins_over_the_docstring() -> None:
    @tool
    def search(query: Annotated[str, "from the hint"]) -> None:
        """Search.

        Args:
            query: from the docstring
        """

    assert properties(search)["query"]["description"] == "from the hint"


def test_what_the_call_fills_in_is_hidden_from_the_model() -> None:
    @tool
    def search(query: str, ctx: RuntimeContext, out: ToolEmitter | None = None) -> None: ...

    assert list(properties(search)) == ["query"]


def test_open_arguments_are_told() -> None:
    @tool
    def call(name: str, **more: Any) -> None: ...

    assert call.parameters["additionalProperties"] is True


def test_hints_of_classes_around_the_tool_are_found() -> None:
    @attrs.frozen
    class Local:
        x: int

    @tool
    def use(it: Local) -> None: ...

    assert properties(use)["it"]["title"] == "Local"


def test_a_partial_function_has_what_is_left() -> None:
    def power(base: int, exponent: int) -> int:
        return base**exponent

    square = tool(name="square")(partial(power, exponent=2))

    assert square.parameters["required"] == ["base"]


class NoHints:
    def __call__(self, x): ...  # type: ignore[no-untyped-def]


def no_hint(x) -> None: ...  # type: ignore[no-untyped-def]


def starred(*items: str) -> None: ...


def positional(x: int, /) -> None: ...


def unreadable(f: Callable[[], None]) -> None: ...


def unknown(x: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_hint, "'x' of tool 'no_hint' has no type hint: write one, as x: str"),
        (NoHints(), "'x' of tool 'NoHints' has no type hint"),
        (starred, "'items' of tool 'starred' cannot be given by name.*list"),
        (positional, "'x' of tool 'positional' cannot be given by name.*remove the /"),
        (unreadable, "'f' of tool 'unreadable' is of type .*Callable.*dataclass"),
        (unknown, "tool 'unknown' cannot be resolved: name 'Missing' is not defined"),
    ],
)
def test_what_no_model_could_fill_in_is_refused_with_the_remedy(function: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        tool(function)


def test_any_type_has_the_schema_that_it_has_as_a_parameter() -> None:
    assert json_schema(list[Place]) == {"type": "array", "items": PLACE}
    assert json_schema(Tree)["$defs"].keys() == {"Tree"}


@pytest.mark.parametrize("hint", [object, Callable[[int], int]])
def test_a_type_that_no_json_value_is_has_no_schema(hint: Any) -> None:
    with pytest.raises(ConfigurationError, match="has no JSON schema"):
        json_schema(hint)
