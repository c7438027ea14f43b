from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx._json_schema import check_schema, misfits
from agentscope_rx.errors import ConfigurationError

ITEM = {
    "type": "object",
    "properties": {"price": {"type": "number"}, "the note": {"type": ["string", "null"]}},
    "required": ["price", "the note"],
    "additionalProperties": False,
}
ORDER = {"type": "object", "properties": {"items": {"type": "array", "items": ITEM}}, "required": ["items"]}
RIGHT = {"price": 1.5, "the note": None}


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        ({"items": [RIGHT]}, []),
        (3, [("$", "3 is not of type 'object'")]),
        ({}, [("$.items", "is missing")]),
        ({"items": [RIGHT, {"price": "x"}]}, [
            ("$.items[1].price", "'x' is not of type 'number'"), ('$.items[1]["the note"]', "is missing"),
        ]),
        ({"items": [{**RIGHT, "more": 1}]}, [
            ("$.items[0]", "Additional properties are not allowed ('more' was unexpected)"),
        ]),
    ],
    ids=str,
)  # fmt: skip
def test_every_problem_has_its_path(value: Any, problems: list[tuple[str, str]]) -> None:
    assert list(misfits(ORDER, value)) == problems


def test_of_alternatives_the_one_that_was_most_likely_meant_says_what_is_wrong() -> None:
    schema = {"properties": {"item": {"anyOf": [ITEM, {"type": "null"}]}}}

    assert misfits(schema, {"item": {**RIGHT, "price": "x"}}) == (
        ("$.item.price", "'x' is not of type 'number'"),
    )


def test_a_problem_is_short_and_there_are_not_too_many() -> None:
    (path, words), *_ = problems = misfits({"items": {"type": "string"}}, [["x" * 1000]] * 50)

    assert (len(problems), path) == (10, "$[0]")
    assert words.startswith("['xxx")
    assert words.endswith(f"{'x' * 20}… (1028 characters)")


def test_a_schema_may_be_of_an_older_draft() -> None:
    draft7 = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "integer"}]}
    check_schema(draft7)

    assert misfits(draft7, ["x"]) == (("$[0]", "'x' is not of type 'integer'"),)


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"a": {"type": "integer"}}, "items": {"$ref": "#/$defs/a"}},
        {"items": {"$ref": "#"}},
        {"items": {"$ref": "#here"}, "$defs": {"a": {"$anchor": "here"}}},
        {"const": {"$ref": "data, and no reference"}},
        {"properties": {"$ref": {"type": "string"}}},
    ],
    ids=str,
)
def test_a_schema_may_refer_to_what_it_holds(schema: dict[str, Any]) -> None:
    check_schema(schema)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "objet"}, r"wrong at \$\.type: 'objet' is not valid under any"),
        ({"properties": {"a": {"items": 3}}}, r"wrong at \$\.properties\.a\.items: 3 is not of type"),
        ({"items": {"$ref": "#/$defs/a"}}, r"refers to '#/\$defs/a', which it does not hold; put"),
        ({"anyOf": [{"$ref": "https://example.invalid/a"}]}, r"refers to 'https://example\.invalid/a'"),
    ],
    ids=str,
)
def test_a_wrong_schema_is_refused_with_its_path(schema: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        check_schema(schema)
