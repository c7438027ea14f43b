"""Each text that Java's classes were given to read (`decode.jsonl`, `enums.jsonl`,
`agentstate_decode.jsonl`) is read as they read it.

Where it is not, exactly one row of `EXCEPTIONS` covers it: it quotes the decision, tells by the input, or by
our error and what lies at its path, whether it applies, and how many texts it covers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, TypeAlias

import pytest
from attrs import frozen

from agentscope_rx import wire
from agentscope_rx.errors import WireError
from agentscope_rx.event import AgentEvent, ToolResultDataDeltaEvent, UnknownEvent
from agentscope_rx.message import GenerateReason, MsgRole, ToolCallState, ToolResultState
from tests.wire.goldens import anywhere, differences, lines, target, value_at


@frozen
class Line:
    """A text, and what Java made of it."""

    name: str
    cls: Any
    text: str
    accepted: bool
    reencoded: Any


def given(file: str) -> list[Line]:
    return [
        Line(
            entry["name"],
            target(entry["target"]),
            entry["input"] if entry.get("input_raw") else json.dumps(entry["input"]),
            entry["accepted"],
            entry["reencoded"],
        )
        for entry in map(json.loads, lines(file))
    ]


LINES: Final = given("decode") + given("enums") + given("agentstate_decode")

WORDS: Final = {
    str(word) for enum in (MsgRole, GenerateReason, ToolCallState, ToolResultState) for word in enum
}


def read(line: Line) -> Any:
    """What we make of a text: the value, or the error."""
    try:
        return wire.loads(line.cls, line.text)
    except WireError as error:
        return error


def agrees(line: Line) -> bool:
    ours = read(line)
    if isinstance(ours, WireError) or not line.accepted:
        return isinstance(ours, WireError) and not line.accepted
    return not list(differences(line.reencoded, wire.to_dict(ours, java=True)))


def inside(line: Line) -> list[Any]:
    return list(anywhere(json.loads(line.text)))


def objects(line: Line) -> list[dict[str, Any]]:
    return [item for item in inside(line) if isinstance(item, dict)]


def legacy_type(line: Line, ours: Any) -> bool:
    known = isinstance(ours, AgentEvent) and not isinstance(ours, UnknownEvent)
    return known and json.loads(line.text)["type"] != ours.type


def in_another_case(line: Line, ours: Any) -> bool:
    names = [item for item in inside(line) if isinstance(item, str)]
    return any(name not in WORDS and {name.upper(), name.lower()} & WORDS for name in names)


def tool_block_without_type(line: Line, ours: Any) -> bool:
    blocks = [item.get("toolCalls") or item.get("toolResults") or [] for item in objects(line)]
    return any("type" not in block for found in blocks for block in found)


def repeated_keys(line: Line, ours: Any) -> bool:
    repeated: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        repeated.extend(key for key in keys if keys.count(key) > 1)

    json.loads(line.text, object_pairs_hook=note)
    return bool(repeated)


Applies: TypeAlias = Callable[[Line, Any], bool]


def refused(*problems: str, lies: Callable[[WireError, Any], bool] | None = None) -> Applies:
    """We refuse it with one of these problems, and what lies at the error's path is as `lies` says."""

    def applies(line: Line, ours: Any) -> bool:
        if not isinstance(ours, WireError) or not any(problem in ours.problem for problem in problems):
            return False
        return lies is None or lies(ours, value_at(json.loads(line.text), ours))

    return applies


def is_enum(line: Line, error: WireError) -> bool:
    return error.path.endswith((".state", ".role", ".generateReason")) or issubclass(line.cls, Enum)


def ordinal_or_padding(line: Line, ours: Any) -> bool:
    if not isinstance(ours, WireError) or not is_enum(line, ours):
        return False
    value = value_at(json.loads(line.text), ours)
    return type(value) is int or (isinstance(value, str) and (value.isdigit() or value != value.strip()))


def scalar_for_string(line: Line, ours: Any) -> bool:
    a_scalar = refused("expected str, got", lies=lambda _, value: isinstance(value, int | float))
    return a_scalar(line, ours) and not is_enum(line, ours)


def accepted(condition: Applies) -> Applies:
    """We accept it, Java does not or reads something else, and the condition holds."""
    return lambda line, ours: not isinstance(ours, WireError) and condition(line, ours)


EXCEPTIONS: Final[tuple[tuple[str, int, Applies], ...]] = (
    ("duplicate keys: the last one wins", 5, accepted(repeated_keys)),
    ("the enum's legacy type names on whole events: accepted", 11, accepted(legacy_type)),
    ("states, roles and reasons in any case: accepted", 18, accepted(in_another_case)),
    (
        "flat string data: accepted",
        1,
        accepted(
            lambda line, ours: (
                isinstance(ours, ToolResultDataDeltaEvent) and isinstance(inside(line)[0].get("data"), str)
            )
        ),
    ),
    (
        "mediaType in a base64 source: accepted",
        1,
        accepted(lambda line, ours: any("mediaType" in item for item in objects(line))),
    ),
    ("tool blocks without type where only they can stand: accepted", 2, accepted(tool_block_without_type)),
    (
        "integers of any size: accepted",
        4,
        accepted(lambda line, ours: any(type(item) is int and item >= 2**31 for item in inside(line))),
    ),
    (
        "unknown type, or none, or not a string: UnknownEvent",
        17,
        accepted(lambda line, ours: isinstance(ours, UnknownEvent) and not repeated_keys(line, ours)),
    ),
    (
        "every message survives unchanged: Java rounds a video's fps to 32 bits",
        2,
        accepted(lambda line, ours: list(differences(line.reencoded, wire.to_dict(ours))) == ["$.fps"]),
    ),
    (
        "unknown block or source type, state or reason value: refused",
        3,
        refused("unknown block type", "unknown source type", "unknown GenerateReason 'NOPE'"),
    ),
    (
        "a string, fraction or empty string for a number: refused",
        15,
        refused("expected int", "expected float", lies=lambda _, value: isinstance(value, str | float)),
    ),
    ("a scalar for a string: refused", 13, scalar_for_string),
    (
        "a non-bool for confirmed, and alike for shutdown_interrupted: refused",
        8,
        refused(
            "expected bool",
            lies=lambda error, _: error.path.endswith((".confirmed", ".shutdown_interrupted")),
        ),
    ),
    ("enum ordinals or padding: refused", 26, ordinal_or_padding),
    ("top-level null: refused", 11, lambda line, ours: line.text == "null" and isinstance(ours, WireError)),
    ("trailing text: refused", 3, refused("Extra data")),
    (
        "a null in rules, and alike among messages, tasks, groups and spawned agents: refused",
        5,
        refused("got null", lies=lambda error, _: error.path.endswith(("]", ".spawn_registry.k"))),
    ),
    ("NaN, 1E400: refused", 2, refused("1e400 is no JSON number", "1E400 is no JSON number")),
    ("nesting over 200: refused", 1, refused("nested deeper than 200")),
)


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.name}")
def test_a_text_is_read_as_java_reads_it_but_for_one_exception(line: Line) -> None:
    ours = read(line)
    rows = [] if agrees(line) else [row for row, _, applies in EXCEPTIONS if applies(line, ours)]

    assert len(rows) == (not agrees(line)), (ours, rows)


@pytest.mark.parametrize(("row", "count", "applies"), EXCEPTIONS, ids=[row for row, _, _ in EXCEPTIONS])
def test_an_exception_covers_so_many_texts(row: str, count: int, applies: Applies) -> None:
    covered = [line.name for line in LINES if not agrees(line) and applies(line, read(line))]

    assert len(covered) == count, covered
