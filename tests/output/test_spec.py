from __future__ import annotations

import dataclasses
import subprocess
import sys
from datetime import date
from typing import Annotated, Any, Literal, TypedDict

import attrs
import pydantic
import pytest

from agentscope_rx.errors import ConfigurationError, StructuredOutputError
from agentscope_rx.output import OutputSpec


@attrs.frozen
class Item:
    name: str
    price: float


@attrs.frozen
class Order:
    """What somebody wants."""

    items: list[Item]
    note: Annotated[str | None, "for the cook"] = None


@dataclasses.dataclass
class City:
    name: str
    founded: date | None = None
    twins: list[City] = dataclasses.field(default_factory=list)


class Point(TypedDict):
    x: int
    y: int


class Person(pydantic.BaseModel):
    name: str = pydantic.Field(description="first name", max_length=5)
    age: int = 0


@attrs.frozen
class Even:
    number: int = attrs.field()

    @number.validator
    def _is_even(self, _: Any, number: int) -> None:
        if number % 2:
            raise ValueError(f"{number} is odd")


@attrs.frozen
class Moody:
    mood: str

    def __attrs_post_init__(self) -> None:
        raise LookupError(self.mood)


SCHEMA = {
    "title": "A point",
    "type": "object",
    "properties": {"x": {"type": "integer"}, "to": {"$ref": "#/definitions/to"}},
    "required": ["x"],
    "definitions": {"to": {"type": "string"}},
}
TEA = {"name": "tea", "price": 2.5}


@pytest.mark.parametrize(
    ("output", "value", "read"),
    [
        (Order, {"items": [TEA]}, Order([Item("tea", 2.5)])),
        (City, {"name": "Rome", "founded": "2026-01-02"}, City("Rome", date(2026, 1, 2))),
        (City, {"name": "a", "twins": [{"name": "b"}]}, City("a", twins=[City("b")])),
        (Point, {"x": 1, "y": 2}, {"x": 1, "y": 2}),
        (Person, {"name": "Ann", "age": 3}, Person(name="Ann", age=3)),
        (SCHEMA, {"x": 1, "to": "y"}, {"x": 1, "to": "y"}),
        (list[Item], [TEA], [Item("tea", 2.5)]),
        (dict[str, Item], {"a": TEA}, {"a": Item("tea", 2.5)}),
        (Literal["yes", "no"], "yes", "yes"),
        (list[Person], [{"name": "Ann"}], [Person(name="Ann")]),
        (int, 3, 3),
        ({"type": "array", "items": {"type": "integer"}}, [1], [1]),
    ],
    ids=str,
)
def test_an_output_is_read_as_what_was_asked_for(output: Any, value: Any, read: Any) -> None:
    spec = OutputSpec.of(output)
    result = spec.read(value)

    assert result == read
    assert type(result) is type(read)
    assert spec.accept(value) == value
    assert spec.take({"response": value}) == value


@pytest.mark.parametrize(
    ("output", "given", "value"),
    [
        (Order, {"items": [TEA | {"price": "2"}]}, {"items": [TEA | {"price": 2.0}], "note": None}),
        (Order, '{"items": []}', {"items": []}),
        (Point, {"x": 1.0, "y": "2"}, {"x": 1, "y": 2}),
        (Person, '{"name": "Ann"}', {"name": "Ann"}),
        (SCHEMA, ' {"x": 1}', {"x": 1}),
        (list[int], '["1"]', [1]),
        (str, '{"a": 1}', '{"a": 1}'),
    ],
    ids=str,
)  # fmt: skip
def test_what_can_be_read_in_one_way_only_is_written_as_it_was_read(
    output: Any, given: Any, value: Any
) -> None:
    spec = OutputSpec.of(output)

    assert spec.accept(given) == value
    assert spec.accept(value) == value
    assert spec.read(given) == spec.read(value)


@pytest.mark.parametrize(
    ("output", "value", "message"),
    [
        (
            Order,
            {"items": [TEA, TEA, {"name": "tea", "price": "x"}]},
            "$.items[2].price: 'x' is not of type 'number'",
        ),
        (
            Order,
            {"items": [{"name": 1}]},
            "$.items[0].name: 1 is not of type 'string'; $.items[0].price: is missing",
        ),
        (Order, '{"items": [3]}', "$.items[0]: 3 is not of type 'object'"),
        (Order, "[1", "$: '[1' is not of type 'object'"),
        (City, {"name": "a", "founded": "May"}, "$.founded: invalid RFC3339 encoded date"),
        (City, {"name": 1, "founded": "May"}, "$.name: 1 is not of type 'string'"),
        (Even, {"number": 3}, "$: 3 is odd"),
        (Even, {"number": "x"}, "$.number: 'x' is not of type 'integer'"),
        (Moody, {"mood": "blue"}, "$: LookupError: blue"),
        (Point, {"x": 1}, "$.y: is missing"),
        (Person, {"age": 1}, "$.name: Field required"),
        (
            Person,
            {"name": "Annabel", "age": "x"},
            "$.name: String should have at most 5 characters; $.age: Input should be a valid integer, "
            "unable to parse string as an integer",
        ),
        (SCHEMA, {"to": 1}, "$.to: 1 is not of type 'string'; $.x: is missing"),
        (Literal["yes", "no"], "maybe", "$: 'maybe' is not one of ['no', 'yes']"),
    ],
    ids=str,
)
def test_what_does_not_fit_names_every_path(output: Any, value: Any, message: str) -> None:
    with pytest.raises(StructuredOutputError) as caught:
        OutputSpec.of(output).read(value)

    assert str(caught.value) == message
    assert caught.value.path == message.partition(": ")[0]


@pytest.mark.parametrize(
    "text",
    [
        '{"x": 1, "y": 2}',
        '\n {"x": 1, "y": 2}\n',
        '```json\n{"x": 1, "y": 2}\n```',
        '```\n{"x": 1, "y": 2}```\n',
    ],
)
def test_the_text_of_an_answer_is_json(text: str) -> None:
    assert OutputSpec.of(Point).parse(text) == {"x": 1, "y": 2}


def test_what_is_no_object_stands_in_one() -> None:
    spec = OutputSpec.of(list[int])

    assert spec.response_format == {
        "title": "response",
        "type": "object",
        "properties": {"response": {"type": "array", "items": {"type": "integer"}}},
        "required": ["response"],
        "additionalProperties": False,
    }
    assert spec.parse('{"response": [1, 2]}') == spec.parse("[1, 2]") == [1, 2]


@pytest.mark.parametrize(
    ("output", "text", "message"),
    [
        (Point, "It is 3.", "$: expected JSON, got 'It is 3.'"),
        (Point, "", "$: expected JSON, got ''"),
        (Point, '{"x": 1', """$: expected JSON, got '{"x": 1'"""),
        (Point, "x" * 200, f"$: expected JSON, got '{'x' * 100}'… (200 characters)"),
        (Point, '{"x": 1} and more', """$: expected JSON, got '{"x": 1} and more'"""),
        (Point, '{"x": 1}', "$.y: is missing"),
        (Point, "[]", "$: [] is not of type 'object'"),
        (list[int], '{"answer": [1]}', "$: is missing; give it as 'response'"),
        (list[int], '{"response": 1}', "$: 1 is not of type 'array'"),
    ],
    ids=str,
)
def test_a_text_that_is_no_such_json_says_what_it_is(output: Any, text: str, message: str) -> None:
    with pytest.raises(StructuredOutputError) as caught:
        OutputSpec.of(output).parse(text)

    assert str(caught.value) == message


def test_arguments_that_are_the_value_themselves_are_taken_if_they_can_be_meant() -> None:
    point, city = OutputSpec.of(Point), OutputSpec.of(Order)

    assert point.take({"x": 1, "y": 2}) == {"x": 1, "y": 2}
    assert point.take({"response": '{"x": 1, "y": 2}'}) == {"x": 1, "y": 2}
    for arguments in ({}, {"answer": {"items": []}}):
        with pytest.raises(StructuredOutputError, match=r"^\$: is missing; give it as 'response'$"):
            city.take(arguments)


def test_the_schema_says_what_the_classes_say() -> None:
    assert OutputSpec.of(Order).response_format == {
        "title": "Order",
        "description": "What somebody wants.",
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "title": "Item",
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "price": {"type": "number"}},
                    "required": ["name", "price"],
                },
            },
            "note": {
                "anyOf": [{"type": "string"}, {"type": "null"}],
                "default": None,
                "description": "for the cook",
            },
        },
        "required": ["items"],
    }
    assert OutputSpec.of(Person).schema["properties"]["name"]["description"] == "first name"


def test_definitions_are_at_the_top() -> None:
    spec = OutputSpec.of(City)

    assert spec.response_format["$defs"].keys() == spec.parameters["$defs"].keys() == {"City"}
    assert "$defs" not in spec.parameters["properties"]["response"]
    assert OutputSpec.of(SCHEMA).parameters["$defs"] == {"to": {"type": "string"}}


@pytest.mark.parametrize(
    ("output", "name"),
    [
        (Order, "Order"),
        (SCHEMA, "A_point"),
        ({"type": "object"}, "response"),
        (list[Item], "response"),
        ({"title": "é" * 99}, "_" * 64),
    ],
)
def test_an_output_has_a_name_that_servers_take(output: Any, name: str) -> None:
    assert OutputSpec.of(output).name == name


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (None, "output is None, which is no type; give a dataclass"),
        ("City", "output is 'City', which is no type; give a dataclass"),
        (Item("a", 1), "output is Item.* which no JSON value can be read as: .*; give a dataclass"),
        (..., "no JSON value can be read as"),
        (Item | Order, "no JSON value can be read as"),
        ({"type": "objet"}, r"the JSON schema is wrong at \$\.type"),
        ({"$ref": "#/$defs/a"}, r"refers to '#/\$defs/a'"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_for_is_refused(output: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        OutputSpec.of(output)


def test_a_class_that_is_none_of_those_is_refused_in_one_line() -> None:
    class Plain:
        def __init__(self, name: str) -> None:
            self.name = name

    with pytest.raises(ConfigurationError, match="give a dataclass") as caught:
        OutputSpec.of(Plain)

    assert "\n" not in str(caught.value)


def test_a_class_that_refers_to_one_that_is_not_there_is_refused() -> None:
    @dataclasses.dataclass
    class Broken:
        other: Absent  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(ConfigurationError, match="'Absent' is not defined"):
        OutputSpec.of(Broken)


def test_a_spec_stays_itself() -> None:
    spec = OutputSpec.of(Point)

    assert OutputSpec.of(spec) is spec
    assert spec == OutputSpec.of(Point)
    assert hash(spec) == hash(OutputSpec.of(Point))


def test_what_was_accepted_is_nobody_elses() -> None:
    given = {"items": [dict(TEA)]}
    OutputSpec.of(Order).accept(given)["items"].append("changed")
    schema_value = OutputSpec.of({"type": "object"}).read(given)
    schema_value["items"].append("changed")

    assert given == {"items": [TEA]}


def test_only_who_needs_them_loads_pydantic_and_jsonschema() -> None:
    script = (
        "import sys, dataclasses\n"
        "from agentscope_rx.output import OutputSpec\n"
        "@dataclasses.dataclass\nclass City:\n    name: str\n"
        "assert OutputSpec.of(City).read({'name': 'Rome'}) == City('Rome')\n"
        "assert not {'pydantic', 'jsonschema'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
