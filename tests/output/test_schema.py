from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx._json_schema import check_schema, misfits
from agentscope_rx.output._schema import hoisted, is_an_object, wrapped

NAME = {"type": "string"}
OLD = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"name": {"$ref": "#/definitions/name"}, "next": {"$ref": "#"}},
    "definitions": {"name": NAME},
}
HOISTED = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"name": {"$ref": "#/$defs/name"}, "next": {"$ref": "#"}},
    "$defs": {"name": NAME},
}


def test_definitions_have_one_name() -> None:
    assert hoisted(OLD) == HOISTED
    assert hoisted(HOISTED) == HOISTED
    assert hoisted({"$defs": {"a": NAME}, "definitions": {"b": NAME}})["$defs"] == {"a": NAME, "b": NAME}
    assert hoisted(NAME) == NAME


def test_what_is_data_is_no_reference() -> None:
    schema = {"const": {"$ref": "#/definitions/name"}, "default": {"$ref": "#"}}

    assert hoisted(schema) == schema
    assert wrapped(schema)["properties"]["response"] == schema


def test_inside_an_object_the_references_are_those_of_the_object() -> None:
    assert wrapped(HOISTED, "City") == {
        "title": "City",
        "type": "object",
        "properties": {
            "response": {
                "type": "object",
                "properties": {"name": {"$ref": "#/$defs/name"}, "next": {"$ref": "#/properties/response"}},
            }
        },
        "required": ["response"],
        "additionalProperties": False,
        "$defs": {"name": NAME},
    }


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"name": "a"}, True),
        ({"name": "a", "next": {"next": {"name": "b"}}}, True),
        ({"name": 1}, False),
        ({"next": {"next": {"name": 1}}}, False),
    ],
    ids=str,
)
@pytest.mark.parametrize("schema", [OLD, {**OLD, "$id": "https://example.invalid/city"}], ids=["plain", "id"])
def test_every_form_of_a_schema_takes_the_same_values(schema: dict[str, Any], value: Any, fits: bool) -> None:
    assert (misfits(schema, value) == ()) is fits
    assert (misfits(hoisted(schema), value) == ()) is fits
    assert (misfits(wrapped(hoisted(schema)), {"response": value}) == ()) is fits
    check_schema(wrapped(hoisted(schema)))


def test_a_schema_that_is_wrapped_or_hoisted_stays_as_it_is() -> None:
    wrapped(hoisted(OLD))["properties"]["response"]["properties"]["name"]["$ref"] = "changed"

    assert OLD["properties"]["name"] == {"$ref": "#/definitions/name"}  # type: ignore[index]


def test_some_schemas_are_of_objects_only() -> None:
    assert is_an_object({"type": "object"})
    assert not is_an_object({"type": ["object", "null"]})
    assert not is_an_object({"anyOf": [{"type": "object"}]})
