"""Arguments that are still being written, cut everywhere, against the whole parse."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
import reactivex

from agentscope_rx._json import loads, loads_object
from agentscope_rx.event import AgentStartEvent, ToolCallDeltaEvent, ToolCallEndEvent, ToolCallStartEvent
from agentscope_rx.message import PartialInput, ToolUseBlock
from agentscope_rx.operators import snapshots

TEXTS = [
    "{}",
    ' { } \n',
    '{"a":1}',
    '{"a": -1.5e+3 , "b" : [ ] , "c" : { } , "d" : [ 1 , 2 ] }\t',
    '{"a":true,"b":false,"c":null,"d":[true,[false],{"e":null}]}',
    '{"text":"Paris \\u00e9\\ud83d\\ude00 \\"quoted\\" \\\\ \\/ \\b\\f\\n\\r\\t end","n":0}',
    '{"é😀":"é😀","\\u0041\\n":"x"}',
    '{"a":{"b":{"c":[[[{"d":"deep"}]]]}}}',
    '{"a":"x","a":{"b":1},"a":[1,"y"]}',
    '{"":"","a":"","b":[""]}',
    '{"big":123456789012345678901234567890,"small":1e-7,"zero":-0}',
    '{"lone":"\\ud83d","low":"\\ude00","two":"\\ud83d\\ud83d\\ude00","mixed":"\\ud83dx\\n"}',
    '{"list":["a","b",["c"],{"d":["e"]}],"tail":"z"}',
]  # fmt: skip


def random_value(chance: random.Random, depth: int = 0) -> Any:
    match chance.randrange(7 if depth < 4 else 5):
        case 0:
            return chance.choice([True, False, None])
        case 1:
            return chance.randrange(-1000, 10**12)
        case 2:
            return chance.random() * 10 ** chance.randrange(-20, 20)
        case 3 | 4:
            return "".join(chance.choices('ab\\"/\n\t {}[]:,é😀\x7f', k=chance.randrange(6)))
        case 5:
            return [random_value(chance, depth + 1) for _ in range(chance.randrange(4))]
        case _:
            return random_object(chance, depth + 1)


def random_object(chance: random.Random, depth: int = 0) -> dict[str, Any]:
    keys = ["a", "b", 'q"', "é", "", "\n"]
    return {chance.choice(keys): random_value(chance, depth) for _ in range(chance.randrange(5))}


def random_texts(count: int) -> list[str]:
    chance = random.Random(7)
    return [
        json.dumps(
            random_object(chance),
            ensure_ascii=chance.random() < 0.5,
            indent=chance.choice([None, None, 1]),
        )
        for _ in range(count)
    ]


def is_part(part: Any, whole: Any) -> bool:
    """Whether what is known so far may become what it becomes."""
    match part, whole:
        case dict(), dict():
            return all(key in whole and is_part(value, whole[key]) for key, value in part.items())
        case list(), list():
            return len(part) <= len(whole) and all(
                is_part(value, whole[index]) for index, value in enumerate(part)
            )
        case str(), str():
            return whole.startswith(part)
        case _:
            return type(part) is type(whole) and part == whole


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_cut_anywhere_becomes_what_the_whole_is(text: str) -> None:
    whole = loads(text)
    for cut in range(len(text) + 1):
        partial = PartialInput(text[:cut])
        assert not partial.broken
        partial.feed(text[cut:])
        assert partial.value == whole
        assert partial.whole


@pytest.mark.parametrize("text", [text for text in TEXTS if '"a":"x","a"' not in text] + random_texts(60))
def test_what_is_known_of_a_text_only_grows(text: str) -> None:
    whole, partial, before = loads(text), PartialInput(), {}
    for at, char in enumerate(text):
        partial.feed(char)
        now = json.loads(json.dumps(partial.value))
        assert is_part(before, now)
        assert is_part(now, whole)
        assert now == PartialInput(text[: at + 1]).value
        before = now

    assert before == whole
    assert partial.whole
    assert not partial.broken


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}), ("{", {}), ('{"ci', {}), ('{"city"', {}), ('{"city":', {}), ('{"city":"', {"city": ""}),
        ('{"city":"Pa', {"city": "Pa"}), ('{"city":"Pa\\', {"city": "Pa"}), ('{"city":"\\u00', {"city": ""}),
        ('{"city":"\\ud83d', {"city": ""}), ('{"n":1', {}), ('{"n":1,', {"n": 1}), ('{"n":12 ', {"n": 12}),
        ('{"b":tru', {}), ('{"b":true', {"b": True}), ('{"l":[', {"l": []}), ('{"l":[1,2', {"l": [1]}),
        ('{"l":["a', {"l": ["a"]}), ('{"o":{"x":"y', {"o": {"x": "y"}}), ('{"a":"x","a":"', {"a": ""}),
    ],
)  # fmt: skip
def test_what_is_known_is_there_and_nothing_else(text: str, value: dict[str, Any]) -> None:
    partial = PartialInput(text)

    assert (partial.value, partial.whole, partial.broken) == (value, False, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1]", {}), ('"x"', {}), ("null", {}), ("hello", {}), ("}", {}), ('{"a":1]', {"a": 1}),
        ('{"a":[1}', {"a": [1]}), ('{"a" 1', {}), ('{"a":}', {}), ('{"a":1,}', {"a": 1}), ('{,', {}),
        ('{"a":[,', {"a": []}), ('{"a":[1,]', {"a": [1]}), ('{"a":01,', {}), ('{"a":1.,', {}),
        ('{"a":NaN,', {}), ('{"a":+1', {}), ('{"a":truth,', {}), ('{"a":1e999,', {}), ("{'a'", {}),
        ('{"a":"x\\q', {"a": "x"}), ('{"a":"\\u12g', {"a": ""}), ('{"a":1}{', {"a": 1}),
        ('{"a":1} x', {"a": 1}),
        ('{"a":1 2', {"a": 1}), ('{"a":"x""', {"a": "x"}), ('{"a"::', {}), ('{1', {}), ('{"a":٣,', {}),
    ],
)  # fmt: skip
def test_what_no_object_has_at_its_place_ends_it_and_what_was_read_stays(
    text: str, value: dict[str, Any]
) -> None:
    partial = PartialInput(text)
    assert (partial.value, partial.whole, partial.broken) == (value, False, True)
    partial.feed('{"b":2}')
    assert partial.value == value
    assert loads_object(text) is None


def test_raw_line_ends_in_texts_are_shown() -> None:
    assert PartialInput('{"a":"x\ny').value == {"a": "x\ny"}


def test_what_is_too_deep_to_be_passed_on_is_broken() -> None:
    assert PartialInput('{"a":' * 150).broken is False
    assert PartialInput('{"a":' * 300).broken is True


def test_time_is_in_proportion_to_the_text() -> None:
    def seconds(length: int) -> float:
        started, partial = time.perf_counter(), PartialInput()
        for fragment in ['{"a":"', *["abcdefgh"] * length, '","b":[', *["12,"] * length, "1]}"]:
            partial.feed(fragment)
        assert partial.whole
        return time.perf_counter() - started

    seconds(1_000)
    short = min(seconds(4_000) for _ in range(3))
    assert min(seconds(32_000) for _ in range(3)) < 24 * short


def test_a_snapshot_of_a_reply_shows_the_arguments_as_they_come() -> None:
    events = [
        AgentStartEvent("s", "r", "me"),
        ToolCallStartEvent("r", "c", "find"),
        *(ToolCallDeltaEvent("r", "c", "find", text) for text in ('{"city":"Pa', 'ris","n', '":1}')),
        ToolCallEndEvent("r", "c", "find"),
    ]
    seen: list[Any] = []
    reactivex.of(*events).pipe(snapshots()).subscribe(
        lambda snapshot: seen.extend(
            dict(call.partial_input) for call in snapshot.message.get_content_blocks(ToolUseBlock)
        )
    )

    grown = [value for number, value in enumerate(seen) if number == 0 or value != seen[number - 1]]
    assert grown == [{}, {"city": "Pa"}, {"city": "Paris"}, {"city": "Paris", "n": 1}]
