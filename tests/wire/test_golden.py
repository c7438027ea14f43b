"""What Java wrote is read, and written as Java wrote it."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from agentscope_rx import wire
from agentscope_rx.errors import WireError
from tests.wire.goldens import differences, java_text, lines, target

# Where the goldens and the behaviour that is asked for collide, the latter wins: the paths that differ, or
# the error; and why.
COLLISIONS: Final[dict[str, tuple[list[str], str]]] = {
    "base/empty_strings": (["$.id", "$.createdAt", "$.replyId"], "an empty id or time is not written"),
    "ModelCallEnd/usage_int_max_total_overflows": (["$.usage.totalTokens"], "integers have any size"),
    "usage/overflow_total": (["$.usage.totalTokens"], "integers have any size"),
    "ModelCallEnd/usage_time_nan": (
        ["refused: $.usage.time: expected float, got str"],
        "a string for a number is refused, though Java writes NaN so",
    ),
    "root_list_of_blocks_loses_type": (
        ["refused: $[0].type: expected str, got null"],
        "a block without a type is refused, though Java writes it",
    ),
}


def written() -> list[Any]:
    return [
        pytest.param(target(file, entry["name"], entry["class"]), java_text(line), id=entry["name"])
        for file in ("events", "messages", "blocks", "values", "agentstate")
        for line in lines(file)
        for entry in [json.loads(line)]
    ]


@pytest.mark.parametrize(("cls", "java"), written())
def test_a_line_is_read_and_written_as_java_wrote_it(
    cls: Any, java: str, request: pytest.FixtureRequest
) -> None:
    expected, _ = COLLISIONS.get(request.node.callspec.id, ([], ""))

    assert outcome(cls, java) == expected


def outcome(cls: Any, java: str) -> list[str]:
    try:
        ours = wire.dumps(wire.loads(cls, java), java=True)
    except WireError as error:
        return [f"refused: {error}"]
    return list(differences(json.loads(java), json.loads(ours)))


@pytest.mark.parametrize(("cls", "java"), written())
def test_keys_are_in_javas_order(cls: Any, java: str) -> None:
    try:
        ours = wire.dumps(wire.loads(cls, java), java=True)
    except WireError:
        return  # the test above says which

    assert_order(json.loads(java), json.loads(ours))


def assert_order(java: Any, ours: Any) -> None:
    match java, ours:
        case dict(), dict():
            common = [key for key in ours if key in java and key != "type"]
            assert common == [key for key in java if key in ours and key != "type"]
            assert "type" not in ours or next(iter(ours)) == "type"
            for key in common:
                if key not in ("metadata", "input", "value"):  # these users fill
                    assert_order(java[key], ours[key])
        case list(), list():
            for left, right in zip(java, ours, strict=True):
                assert_order(left, right)
        case _:
            pass


@pytest.mark.parametrize(("cls", "java"), written())
def test_our_own_form_brings_back_the_same_value(cls: Any, java: str) -> None:
    try:
        value = wire.loads(cls, java)
    except WireError:
        return  # the first test says which

    assert wire.loads(cls, wire.dumps(value)) == value
