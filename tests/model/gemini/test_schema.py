"""JSON schemas in the words that Gemini takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator

from agentscope_rx.model.gemini._schema import gemini_schema

TEXT = {"type": "string"}
NODE = {
    "type": "object",
    "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/Node"}},
    "required": ["value", "next"],
}
LOOSE_NODE = {
    "type": "object",
    "properties": {
        "value": {"type": "integer"},
        "next": {"anyOf": [{"$ref": "#/$defs/Node"}], "description": "(required)"},
    },
    "required": ["value"],
}

KNOWN = {
    "$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items",
    "prefixItems", "minItems", "maxItems", "minimum", "maximum", "anyOf", "properties",
    "additionalProperties", "required", "propertyOrdering",
}  # fmt: skip


def said(words: str, **schema: Any) -> dict[str, Any]:
    return {**schema, "description": f"({words})"}


def holding(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}, **more}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 9, "title": "N"}, None),
        ({"type": "array", "items": TEXT, "minItems": 1, "maxItems": 9}, None),
        ({"type": ["string", "null"], "description": "A name."}, None),
        ({"type": "string", "enum": ["a", "b"]}, None),
        ({"anyOf": [TEXT, {"type": "null"}]}, None),
        ({"type": "object", "additionalProperties": False}, None),
        ({"type": "object", "additionalProperties": TEXT}, None),
        ({"type": "string", "format": "date-time"}, None),
        ({"$ref": "#/$defs/A", "$defs": {"A": TEXT}}, {"type": "string", "$defs": {"A": TEXT}}),
        ({**TEXT, "format": "uri"}, said('format: "uri"', **TEXT)),
        ({**TEXT, "pattern": "a+", "maxLength": 3}, said('pattern: "a+", maxLength: 3', **TEXT)),
        ({**TEXT, "default": "x", "description": "D."}, {**TEXT, "description": 'D. (default: "x")'}),
        ({**TEXT, "not": {"const": "x"}}, said('not: {"const":"x"}', **TEXT)),
        ({"type": "array", "items": TEXT, "uniqueItems": True},
         said("uniqueItems: true", type="array", items=TEXT)),
        ({**TEXT, "$schema": "x", "$comment": "c", "examples": ["e"], "readOnly": True, "x-order": 1}, TEXT),
        ({"const": "x"}, {"type": "string", "enum": ["x"]}),
        ({"const": 3, "type": "number"}, {"type": "number", "enum": [3]}),
        ({"const": True}, said("const: true", type="boolean")),
        ({"const": None}, {"type": "null"}),
        ({"const": {"a": 1}}, said('const: {"a":1}', type="object")),
        ({"enum": [1, 2.5]}, {"type": ["integer", "number"], "enum": [1, 2.5]}),
        ({"enum": ["a", None]}, {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}),
        ({"enum": ["a", True]}, said('enum: ["a",true]', type=["string", "boolean"])),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"], "nullable": True},
         {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}),
        ({"anyOf": [TEXT, {"type": "integer"}], "nullable": True},
         {"anyOf": [TEXT, {"type": "integer"}, {"type": "null"}]}),
        ({"oneOf": [TEXT, {"type": "null"}]}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
        ({"type": "integer", "exclusiveMaximum": 9, "maximum": 3}, {"type": "integer", "maximum": 3}),
        ({"type": "number", "exclusiveMinimum": 0},
         said("exclusiveMinimum: 0", type="number", minimum=0)),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True},
         said("exclusiveMinimum: true", type="number", minimum=0)),
        ({"type": "array", "items": [TEXT, {"const": 1}]},
         {"type": "array", "prefixItems": [TEXT, {"type": "integer", "enum": [1]}]}),
        ({"type": "array", "items": True}, {"type": "array"}),
        (holding(True), holding({})),
        (holding({"allOf": [{"$ref": "#/$defs/A"}], "description": "D."}, **{"$defs": {"A": TEXT}}),
         holding({"anyOf": [{"$ref": "#/$defs/A"}], "description": "D."}, **{"$defs": {"A": TEXT}})),
        ({"allOf": [{"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
                    {"$ref": "#/definitions/B"}],
          "definitions": {"B": {"type": "object", "properties": {"b": TEXT}, "required": ["b"]}}},
         {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a", "b"],
          "$defs": {"B": {"type": "object", "properties": {"b": TEXT}, "required": ["b"]}}}),
        (holding({"$ref": "#/definitions/A"}, definitions={"A": TEXT}),
         holding({"$ref": "#/$defs/A"}, **{"$defs": {"A": TEXT}})),
        (holding({"$ref": "#/$defs/A", "default": "x"}, **{"$defs": {"A": TEXT}}),
         holding(said('default: "x"', anyOf=[{"$ref": "#/$defs/A"}]), **{"$defs": {"A": TEXT}})),
        ({"type": "object", "properties": {"a": TEXT, "b": {"$ref": "#/properties/a"}}},
         {"type": "object", "properties": {"a": TEXT, "b": TEXT}}),
        (holding({"$ref": "http://x/y"}), holding(said('$ref: "http://x/y"'))),
        (holding({"anyOf": [TEXT, {"$ref": "#/properties/a/anyOf/0"}]}), holding({"anyOf": [TEXT, TEXT]})),
        (holding({"anyOf": [TEXT, {"$ref": "#/properties/a/anyOf/7"}]}),
         holding({"anyOf": [TEXT, said('$ref: "#/properties/a/anyOf/7"')]})),
        ({"type": "object", "allOf": [{"$ref": "#/$defs/A"}, {"required": ["a"]}],
          "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}, {"properties": {"a": TEXT}}]}}},
         {"type": "object", "properties": {"a": TEXT}, "required": ["a"],
          "$defs": {"A": {"properties": {"a": TEXT}}}}),
        (holding({"$ref": "#/$defs/Node"}, required=["a"], **{"$defs": {"Node": NODE}}),
         holding({"$ref": "#/$defs/Node"}, required=["a"], **{"$defs": {"Node": LOOSE_NODE}})),
        ({"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}, {**LOOSE_NODE, "$defs": {"Node": LOOSE_NODE}}),
        (holding({"type": "array", "items": {"$ref": "#"}}, required=["a"]),
         holding(said("required", type="array", items={"$ref": "#"}))),
        (holding({"type": "array", "items": TEXT, "maxItems": 501}),
         holding(said("maxItems: 501", type="array", items=TEXT))),
    ],
)  # fmt: skip
def test_a_schema_is_written_in_the_words_of_the_api(schema: Any, expected: Any) -> None:
    before = json.dumps(schema)

    assert gemini_schema(schema) == (schema if expected is None else expected)
    assert json.dumps(schema) == before


def test_properties_may_be_named_like_keywords() -> None:
    schema = holding(TEXT) | {"properties": {"default": TEXT, "pattern": TEXT, "$ref": {"type": "integer"}}}

    assert gemini_schema(schema) == schema


@pytest.mark.parametrize(
    "key", ["anyOf", "allOf", "enum", "type", "required", "properties", "items", "$defs"]
)
@pytest.mark.parametrize("value", [None, 3, {}, [], [None]])
def test_what_is_no_schema_breaks_nothing(key: str, value: Any) -> None:
    json.dumps(gemini_schema({"type": "object", "properties": {"a": TEXT}, key: value}))


def test_a_reference_that_leads_to_itself_is_told_in_words() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}

    assert gemini_schema(schema) == holding(said('$ref: "#/properties/a"'))


def keywords(schema: Any, *, names: bool = False) -> set[str]:
    """All keywords that a schema uses."""
    if isinstance(schema, list):
        return {key for each in schema for key in keywords(each)}
    if not isinstance(schema, dict):
        return set()
    used = set() if names else set(schema)
    for key, value in schema.items():
        if names or key not in ("enum", "required", "type"):
            used |= keywords(value, names=not names and key in ("properties", "$defs"))
    return used


def alone(schema: Any) -> bool:
    """Whether every reference in it stands alone."""
    if isinstance(schema, list):
        return all(map(alone, schema))
    if not isinstance(schema, dict):
        return True
    return ("$ref" not in schema or len(schema) == 1) and all(map(alone, schema.values()))


LEAVES = st.sampled_from(
    [
        TEXT, {"type": "integer", "exclusiveMinimum": 0}, {"const": "x"}, {"const": None},
        {"enum": ["a", None, 1]}, {"enum": [True]}, {"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"},
        {**TEXT, "pattern": "a", "default": "a"}, {"type": "number", "exclusiveMaximum": 3, "nullable": True},
        True,
    ]
)  # fmt: skip
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner),
        st.builds(lambda a, b: {"oneOf": [a, b], "description": "d"}, inner, inner),
        st.builds(lambda a: {"allOf": [a], "description": "d"}, inner),
        st.builds(lambda a: {"type": "array", "items": a, "maxItems": 300}, inner),
        st.builds(
            lambda a, b, needed: {"type": "object", "properties": {"a": a, "b": b}, "required": needed},
            inner, inner, st.lists(st.sampled_from(["a", "b"]), unique=True),
        ),
    ),
    max_leaves=8,
)  # fmt: skip


@settings(deadline=None, max_examples=200, derandomize=True)
@given(root=SCHEMAS, a=SCHEMAS, b=SCHEMAS)
def test_whatever_the_schema_only_known_words_are_left_and_it_is_one(root: Any, a: Any, b: Any) -> None:
    written = gemini_schema({**holding(root), "$defs": {"A": a, "B": b}})

    Draft202012Validator.check_schema(written)
    assert keywords(written) <= KNOWN
    assert alone(written["properties"])
    assert json.loads(json.dumps(written)) == written


VALUES = st.recursive(
    st.sampled_from(["a", "x", "b", 0, 1, 2.5, 3, None, True]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.fixed_dictionaries({}, optional={"a": inner, "b": inner}),
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=300, derandomize=True)
@given(root=SCHEMAS, leaf=LEAVES, value=VALUES)
def test_what_fits_the_schema_fits_what_is_written(root: Any, leaf: Any, value: Any) -> None:
    definitions = {"A": leaf, "B": {"type": "object", "properties": {"a": {"$ref": "#/$defs/B"}}}}
    schema = {**holding(root), "$defs": definitions}

    if accepts(schema, {"a": value}):
        assert accepts(gemini_schema(schema), {"a": value})


def accepts(schema: Any, value: Any) -> bool:
    try:
        return Draft202012Validator(schema).is_valid(value)
    except RecursionError:
        return False
