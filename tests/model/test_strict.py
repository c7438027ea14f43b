from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from agentscope_rx._typed_json import schema_of_type
from agentscope_rx.model._strict import Dialect, response_format, strict_schema

TEXT = {"type": "string"}


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def strict(*, required: list[str], **properties: Any) -> dict[str, Any]:
    return {**an_object(**properties), "required": required, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (an_object(), strict(required=[])),
        (
            {**an_object(a=TEXT), "required": ["a"], "title": "A", "$schema": "x"},
            {**strict(a=TEXT, required=["a"]), "title": "A"},
        ),
        (
            {**an_object(a=TEXT), "required": ["a"], "additionalProperties": True},
            strict(a=TEXT, required=["a"]),
        ),
        (an_object(a={"type": ["string", "null"]}), strict(a={"type": ["string", "null"]}, required=["a"])),
        (
            an_object(a={"anyOf": [TEXT, {"type": "null"}], "default": None}),
            strict(a={"anyOf": [TEXT, {"type": "null"}], "description": "(default: null)"}, required=["a"]),
        ),
        (
            an_object(a={"type": "integer", "default": 3, "minimum": 1, "description": "How many."}),
            strict(
                a={"type": "integer", "minimum": 1, "description": "How many. (default: 3)"}, required=["a"]
            ),
        ),
        (
            {**an_object(a={**TEXT, "maxLength": 9, "format": "iri"}), "required": ["a"]},
            strict(a={**TEXT, "description": "(maxLength: 9, format: iri)"}, required=["a"]),
        ),
        (
            {**an_object(a={"type": "array", "items": an_object(), "minItems": 1}), "required": ["a"]},
            strict(a={"type": "array", "items": strict(required=[]), "minItems": 1}, required=["a"]),
        ),
        (
            {
                **an_object(a={"$ref": "#/$defs/A", "description": "gone"}, b={"$ref": "#"}),
                "required": ["a", "b"],
                "$defs": {"A": an_object()},
            },
            {
                **strict(a={"$ref": "#/$defs/A"}, b={"$ref": "#"}, required=["a", "b"]),
                "$defs": {"A": strict(required=[])},
            },
        ),
        (
            {**an_object(a={"enum": ["x", 1]}, b={"const": 1}), "required": ["a", "b"]},
            strict(a={"enum": ["x", 1]}, b={"const": 1}, required=["a", "b"]),
        ),
        (
            {**an_object(a={**TEXT, "format": "date"}), "required": ["a"]},
            strict(a={**TEXT, "format": "date"}, required=["a"]),
        ),
    ],
)
def test_a_schema_is_narrowed_to_what_strict_mode_takes(
    schema: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert strict_schema(schema) == expected
    assert strict_schema(expected) == expected


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": TEXT},
        {"anyOf": [an_object()]},
        {"type": "object"},
        {"type": "object", "additionalProperties": TEXT},
        an_object(may_be_missing=TEXT),
        {**an_object(a={}), "required": ["a"]},
        {**an_object(a=True), "required": ["a"]},
        {**an_object(a={"type": "array"}), "required": ["a"]},
        {**an_object(a={"type": "array", "prefixItems": [TEXT], "items": False}), "required": ["a"]},
        {**an_object(a={"type": ["object", "null"]}), "required": ["a"]},
        {**an_object(a={"type": "string", "oneOf": [TEXT]}), "required": ["a"]},
        {**an_object(a={"$ref": "https://elsewhere.invalid/a"}), "required": ["a"]},
        {**an_object(), "$defs": {"A": {"type": "object"}}},
    ],
    ids=str,
)
def test_what_strict_mode_has_no_words_for_is_no_strict_schema(schema: dict[str, Any]) -> None:
    assert strict_schema(schema) is None


NARROW = Dialect(frozenset({"minimum", "pattern"}), optional=True, recursive=False)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            {**an_object(a={"type": "integer", "minimum": 1}, b=TEXT), "required": ["b"]},
            strict(a={"type": "integer", "description": "(minimum: 1)"}, b=TEXT, required=["b"]),
        ),
        (
            an_object(a={"type": "array", "items": an_object(b={**TEXT, "pattern": "x"})}),
            strict(
                a={
                    "type": "array",
                    "items": strict(b={**TEXT, "description": '(pattern: "x")'}, required=[]),
                },
                required=[],
            ),
        ),
        (
            {**an_object(a={"$ref": "#/$defs/A"}, b={"$ref": "#/$defs/A"}), "$defs": {"A": an_object()}},
            {
                **strict(a={"$ref": "#/$defs/A"}, b={"$ref": "#/$defs/A"}, required=[]),
                "$defs": {"A": strict(required=[])},
            },
        ),
        (an_object(a={"$ref": "#"}), None),
        ({**an_object(), "$defs": {"A": an_object(a={"anyOf": [{"$ref": "#/$defs/A"}]})}}, None),
        (
            {
                **an_object(),
                "$defs": {
                    "A": an_object(b={"type": "array", "items": {"$ref": "#/$defs/B"}}),
                    "B": an_object(a={"$ref": "#/$defs/A"}),
                },
            },
            None,
        ),
        ({"type": "object"}, None),
    ],
)
def test_a_server_may_take_another_part_of_json_schema(
    schema: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    assert strict_schema(schema, NARROW) == expected


def test_the_schema_of_a_class_is_strict() -> None:
    @dataclass
    class Item:
        name: str
        price: float = 0.0
        note: str | None = None

    schema = strict_schema(schema_of_type(Item)[0])

    assert schema is not None
    assert schema["required"] == ["name", "price", "note"]


def test_the_schema_that_was_given_stays_as_it_is() -> None:
    schema = an_object(a={"type": "integer", "default": 3})
    strict_schema(schema)

    assert schema == an_object(a={"type": "integer", "default": 3})


@pytest.mark.parametrize(
    "ready", [{"type": "text"}, {"type": "json_object"}, {"type": "json_schema", "x": 1}]
)
def test_a_format_that_is_ready_stays_as_it_is(ready: dict[str, Any]) -> None:
    assert response_format(ready) == ready
    assert response_format(None) is None


@pytest.mark.parametrize(
    ("title", "name"), [("The answer", "The_answer"), ("", "response"), ("é" * 99, "_" * 64)]
)
def test_a_schema_is_named_after_its_title(title: str, name: str) -> None:
    schema = {**an_object(), "title": title}

    assert response_format(schema) == {
        "type": "json_schema",
        "json_schema": {
            "name": name,
            "schema": {**strict(required=[]), "title": title},
            "strict": True,
        },
    }


def test_a_schema_that_is_not_strict_says_so() -> None:
    loose = {"type": "object"}

    assert response_format(loose) == {
        "type": "json_schema",
        "json_schema": {"name": "response", "schema": loose, "strict": False},
    }
