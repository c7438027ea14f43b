"""Strict JSON, both ways: the fast path and what it leaves to the standard library."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from agentscope_rx._json import JSONError, dumps, loads, loads_object, step

BIG = 10**400


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("12345678901234567890123", 12345678901234567890123),
        (f"-{BIG}", -BIG),
        ("-0", 0),
        ("1e2", 100.0),
        ('"\\ud83d"', "\ud83d"),
        ('"\ud83d"', "\ud83d"),
        (b'"\xed\xa0\xbd"', "\ud83d"),
        ('"\\ud83d\\ude00 \\u2028 \u2028"', "\U0001f600 \u2028 \u2028"),
        (" [1, null] \n", [1, None]),
    ],
)
def test_what_is_json_is_read(text: str | bytes, value: object) -> None:
    assert loads(text) == value
    assert type(loads(text)) is type(value)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"a": [1, {"b c": NaN}]}', '$.a[1]["b c"]: NaN is no JSON number'),
        ('{"a": 1E400}', "$.a: 1E400 is no JSON number"),
        ("-Infinity", "$: -Infinity is no JSON number"),
        ('{"a": NaN, "a": 1}', "$: NaN is no JSON number"),
        ("{} x", "$: not JSON: Extra data"),
        ("{}{}", "$: not JSON: Extra data"),
        ("", "$: not JSON: Expecting value"),
        ("{'a': 1}", "$: not JSON: "),
        ("[1,]", "$: not JSON: "),
        ("007", "$: not JSON: "),
        ('"\n"', "$: not JSON: Invalid control character"),
        ("\ufeff{}", "$: not JSON: Unexpected UTF-8 BOM"),
        (b"\xef\xbb\xbf{}", "$: not JSON: Unexpected UTF-8 BOM"),
        ("{}".encode("utf-16"), "$: not JSON: "),
        (b'"\xff"', "$: not JSON: "),
        ("9" * 5000, "$: not JSON: Exceeds the limit"),
        ("[" * 100_000, "$: nested too deeply"),
        ("[" * 100_000 + "]" * 100_000, "$: nested too deeply"),
    ],
)
def test_what_is_not_json_is_refused_with_its_path(text: str | bytes, error: str) -> None:
    with pytest.raises(JSONError) as caught:
        loads(text)

    assert str(caught.value).startswith(error)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, None, True, "ü"]}, '{"a":[1,null,true,"ü"]}'),
        (BIG, str(BIG)),
        ("\ud83d", '"\\ud83d"'),
        ((1, 2), "[1,2]"),
        (None, "null"),
    ],
)
def test_a_value_is_written(value: object, text: str) -> None:
    assert dumps(value).decode() == text


def circle() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (float("nan"), "Out of range float values are not JSON compliant"),
        ({"a": [None, float("-inf")]}, "Out of range float values are not JSON compliant"),
        (("\ud83d", float("inf")), "Out of range float values are not JSON compliant"),
        (object(), "a object is no JSON value"),
        ({(1, 2): 3}, "keys must be str"),
        pytest.param(10**5000, "Exceeds the limit", id="digits"),
        (circle(), "nested too deeply"),
    ],
)
def test_a_value_that_json_cannot_hold_is_refused(value: object, problem: str) -> None:
    with pytest.raises(JSONError, match=problem):
        dumps(value)


def test_an_object_is_read_and_everything_else_is_none() -> None:
    texts = ['{"a": 1}', "[]", "null", "{", "NaN", "[" * 100_000]

    assert [loads_object(text) for text in texts] == [{"a": 1}, None, None, None, None, None]


def test_a_step_of_a_path_is_quoted_where_it_is_no_name() -> None:
    assert "".join(map(step, ("a", 0, "b c", '"', ""))) == '.a[0]["b c"]["\\""][""]'


def test_the_fast_path_reads_numbers_as_the_standard_library_does() -> None:
    chance = random.Random(5)
    texts = [
        f"{chance.choice('-  ').strip()}{chance.randrange(10 ** chance.randrange(1, 25))}"
        f"{chance.choice(['', '.', '.', '.0'])}"
        f"{chance.choice(['', chance.randrange(10**20)])}{chance.choice(['', '', 'e', 'E-'])}"
        f"{chance.choice(['', chance.randrange(250)])}"
        for _ in range(3000)
    ]

    for text in texts:
        try:
            expected = json.loads(text)
        except ValueError:
            continue
        assert (loads(text), type(loads(text))) == (expected, type(expected)), text


def test_an_object_that_is_too_deep_to_be_passed_on_is_none() -> None:
    def nested(levels: int) -> str:
        return '{"x":' + "[" * (levels - 1) + "]" * (levels - 1) + "}"

    assert loads_object(nested(190)) is not None
    assert loads_object(nested(191)) is None
    assert loads_object(nested(100_000)) is None
    assert loads_object('{"x":"' + "[" * 1_000 + '"}') == {"x": "[" * 1_000}
    assert loads_object('{"x":[' + "[]," * 1_000 + "[]]}") == {"x": [[]] * 1_001}
