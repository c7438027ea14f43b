from __future__ import annotations

import dataclasses
from datetime import date
from typing import Annotated, Any, NotRequired, TypedDict

import attrs
import msgspec
import pydantic
import pytest

from agentscope_rx._typed_json import MisfitError, json_as, read_as, schema_of_type


@dataclasses.dataclass
class City:
    name: Annotated[str, "as its people write it"]
    area: float = 0.0
    twins: list[City] = dataclasses.field(default_factory=list)


class Trip(TypedDict):
    to: City
    on: NotRequired[Annotated[date, "the day of departure"]]


@attrs.frozen
class Score:
    points: int = attrs.field(validator=attrs.validators.ge(0))


class Order(pydantic.BaseModel):
    item: str
    amount: int = 1


def misfits(hint: Any, value: Any) -> tuple[tuple[str, str], ...]:
    with pytest.raises(MisfitError) as caught:
        read_as(hint, value)
    return caught.value.problems


@pytest.mark.parametrize(
    ("hint", "given", "value", "read"),
    [
        (Score, {"points": 3}, {"points": 3}, Score(3)),
        (Score, {"points": "3"}, {"points": 3}, Score(3)),
        (Score, '{"points": 3}', {"points": 3}, Score(3)),
        (Score, {"points": 3, "more": 1}, {"points": 3, "more": 1}, Score(3)),
        (Trip, {"to": {"name": "Rome"}}, {"to": {"name": "Rome"}}, {"to": City("Rome")}),
        (date, "2026-01-02", "2026-01-02", date(2026, 1, 2)),
        (list[int], ["1", 2.0], [1, 2], [1, 2]),
        (int | None, "null", None, None),
        (Order, {"item": "tea", "amount": "2"}, {"item": "tea", "amount": "2"}, Order(item="tea", amount=2)),
        (Order, '{"item": "tea"}', {"item": "tea"}, Order(item="tea")),
    ],
    ids=str,
)
def test_what_is_read_has_a_json_value_that_reads_the_same(
    hint: Any, given: Any, value: Any, read: Any
) -> None:
    assert (json_as(hint, given), read_as(hint, given)) == (value, read)
    assert json_as(hint, value) == value
    assert read_as(hint, value) == read


@pytest.mark.parametrize(
    ("hint", "value", "problems"),
    [
        (Score, {"points": "many"}, [("$.points", "expected int, got str")]),
        (Score, {"points": -1}, [("$", "'points' must be >= 0: -1")]),
        (Trip, {"to": {"name": 1}}, [("$.to.name", "expected str, got int")]),
        (Order, {"amount": "x"}, [("$.item", "Field required"), ("$.amount", "Input should be a valid")]),
    ],
    ids=str,
)
def test_what_does_not_fit_says_where(hint: Any, value: Any, problems: list[tuple[str, str]]) -> None:
    found = misfits(hint, value)

    assert [path for path, _ in found] == [path for path, _ in problems]
    for (_, words), (_, beginning) in zip(found, problems, strict=True):
        assert words.startswith(beginning)
    with pytest.raises(MisfitError):
        json_as(hint, value)


def test_the_path_begins_where_the_value_stands() -> None:
    with pytest.raises(MisfitError) as caught:
        read_as(list[int], [1, "x"], "$.response")

    assert caught.value.problems == (("$.response[1]", "expected int, got str"),)


def test_a_class_says_what_its_fields_are_for() -> None:
    schema, definitions = schema_of_type(Trip)

    assert schema["properties"]["on"] == {
        "type": "string",
        "format": "date",
        "description": "the day of departure",
    }
    assert definitions["City"]["properties"]["name"]["description"] == "as its people write it"


def test_a_description_of_msgspecs_own_comes_first() -> None:
    @dataclasses.dataclass
    class Named:
        name: Annotated[str, msgspec.Meta(description="the name")]

    schema, _ = schema_of_type(Annotated[Named, "who"])

    assert schema["properties"]["name"]["description"] == "the name"


def test_only_types_that_hold_themselves_are_definitions() -> None:
    schema, definitions = schema_of_type(list[Trip])

    assert definitions.keys() == {"City"}
    assert definitions["City"]["properties"]["twins"]["items"] == {"$ref": "#/$defs/City"}
    assert schema["items"]["properties"]["to"]["properties"]["twins"]["items"] == {"$ref": "#/$defs/City"}


@pytest.mark.parametrize("hint", [..., dict[int, City] | list[City] | Score], ids=str)
def test_a_type_that_no_json_value_can_be_read_as_is_an_error(hint: Any) -> None:
    with pytest.raises(TypeError):
        schema_of_type(hint)


def test_a_class_with_a_default_that_is_made_of_the_object_cannot_be_read_from_json() -> None:
    @attrs.define
    class Doubled:
        one: int
        two: int = attrs.field(default=attrs.Factory(lambda self: 2 * self.one, takes_self=True))

    with pytest.raises(TypeError, match="takes_self"):
        schema_of_type(Doubled)
