"""The text of a tool call's arguments: strict where it can be read in one way only, else as it came."""

from __future__ import annotations

import json

import pytest

from agentscope_rx._json import loads_object
from agentscope_rx.model._arguments import Arguments


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def strict(*fragments: str) -> str:
    arguments = Arguments()
    return "".join(map(arguments.feed, fragments)) + arguments.finish()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("  \n", "", id="blanks"),
        pytest.param('{"a":1}', '{"a":1}', id="an object"),
        pytest.param(' {"a": [1, -2.5e3, true, null, {"b": {}}], "c": []} ', None, id="everything JSON has"),
        pytest.param('{"t":"\\u00e9\\n\\"x\\\\"}', '{"t":"\\u00e9\\n\\"x\\\\"}', id="escapes"),
        pytest.param("{}", "{}", id="no arguments"),
        pytest.param("{ }", "{ }", id="no arguments, spaced"),
        pytest.param('{}{"topic":"tea"}', '{"topic":"tea"}', id="placeholder, then the real object"),
        pytest.param('{} \n {"topic":"tea"}', ' \n {"topic":"tea"}', id="placeholder, blanks, object"),
        pytest.param("{}{}", "{}", id="placeholder, then no arguments"),
        pytest.param('{}""', "{}", id="stray empty string"),
        pytest.param('{"a":1}""null 1', '{"a":1}', id="stray values"),
        pytest.param('{"a":1}[{"b":2}]', '{"a":1}', id="stray array"),
        pytest.param('{"a":1}"x\n"', '{"a":1}', id="stray text with a control character"),
        pytest.param('{"a":"x\n\ty\x01"}', '{"a":"x\\n\\ty\\u0001"}', id="control characters in a string"),
        pytest.param('{"a\nb":1}', '{"a\\nb":1}', id="control characters in a key"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_what_can_be_read_in_one_way_becomes_strict_json(text: str, expected: str | None, size: int) -> None:
    result = strict(*pieces(text, size))

    assert result == (text.rstrip() if expected is None else expected)
    assert not result or isinstance(json.loads(result), dict)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"to":"bob","amount":10', id="cut after a number"),
        pytest.param('{"to":"bo', id="cut in a string"),
        pytest.param("{", id="cut after the brace"),
        pytest.param("{}{", id="cut right after a placeholder"),
        pytest.param('{"text": "he said "hi" loudly"}', id="quotes that are not escaped"),
        pytest.param('{"text": "he said "hi\n" loudly"}', id="control characters after the mistake"),
        pytest.param('{"a":1}{"b":2}', id="two objects"),
        pytest.param('{"a":1}{}', id="an object and an empty one"),
        pytest.param("{}{}{}", id="three empty objects"),
        pytest.param('{}""{"a":1}', id="a stray value between objects"),
        pytest.param('{"a":1}}', id="a brace too many"),
        pytest.param('{"a":1} trailing', id="trailing text"),
        pytest.param('{"room": @@north}', id="no value"),
        pytest.param('{"a":01}', id="no number"),
        pytest.param('{"a":tru}', id="no literal"),
        pytest.param('{"a":NaN}', id="not a number"),
        pytest.param('{"a":1}NaN', id="an object and what is no value"),
        pytest.param('{"a":1,}', id="comma too many"),
        pytest.param('{"a" 1}', id="colon missing"),
        pytest.param('{"a":[1 2]}', id="comma missing"),
        pytest.param('{"a":[1}', id="wrong bracket"),
        pytest.param('{"a":"\\x"}', id="no escape"),
        pytest.param('{"a":"\\u12g4"}', id="no unicode escape"),
        pytest.param("{'a':1}", id="single quotes"),
        pytest.param('["a"]', id="an array"),
        pytest.param('"{}"', id="a string"),
        pytest.param("null", id="null"),
        pytest.param("hello", id="text"),
        pytest.param("}", id="a closing brace"),
        pytest.param("<html>\n</html>", id="markup"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_everything_else_stays_as_it_came(text: str, size: int) -> None:
    result = strict(*pieces(text, size))

    assert result == text
    assert loads_object(result) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [('{}{"a', '{"a'), ('{}{"a":1}{"b":2}', '{"a":1}{"b":2}'), ('{}{"a" 1}', '{"a" 1}')],
)
def test_only_a_placeholder_that_real_arguments_followed_is_lost(text: str, expected: str) -> None:
    assert strict(*pieces(text, 1)) == strict(text) == expected
    assert loads_object(expected) is None


def test_fragments_go_out_as_they_come() -> None:
    arguments = Arguments()

    assert [arguments.feed(part) for part in ('{"ci', 'ty":', '"Par', 'is"', "}")] == [
        '{"ci', 'ty":', '"Par', 'is"', "}",
    ]  # fmt: skip


def test_only_what_may_be_a_placeholder_is_held_back() -> None:
    arguments = Arguments()

    assert [arguments.feed(part) for part in ("{", " ", "}", '{"a"', ":1}")] == ["", "", "", '{"a"', ":1}"]


def test_it_tells_whether_the_object_is_whole() -> None:
    arguments = Arguments()
    assert (arguments.begun, arguments.whole) == (False, False)

    arguments.feed(" ")
    assert (arguments.begun, arguments.whole) == (False, False)

    arguments.feed('{"a"')
    assert (arguments.begun, arguments.whole) == (True, False)

    arguments.feed(":1}")
    assert (arguments.begun, arguments.whole) == (True, True)


def test_large_arguments_take_linear_time() -> None:
    text = json.dumps({"code": 'x = "\\n"\n' * 20_000, "rows": list(range(5_000))})

    assert strict(*pieces(text, 7)) == text


def test_many_empty_objects_do_not_recurse() -> None:
    text = "{}" * 20_000

    assert strict(text) == text
    assert strict(*pieces(text, 100)) == text
