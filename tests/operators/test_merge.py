from __future__ import annotations

import attrs
import pytest

from agentscope_rx.event import (
    AgentEvent,
    DataBlockDeltaEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    ThinkingBlockDeltaEvent,
    ToolCallDeltaEvent,
    ToolResultDataDeltaEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.message import TextBlock
from agentscope_rx.operators._merge import merge


def text(delta: str, block_id: str = "text-1", reply_id: str = "r", **base: object) -> TextBlockDeltaEvent:
    return TextBlockDeltaEvent(reply_id, block_id, delta, **base)


@pytest.mark.parametrize(
    ("earlier", "later", "joined"),
    [
        (text("he", id="1"), text("llo", id="2"), "hello"),
        (ThinkingBlockDeltaEvent("r", "b", "he", id="1"), ThinkingBlockDeltaEvent("r", "b", "llo"), "hello"),
        (ToolCallDeltaEvent("r", "c", "f", '{"a"'), ToolCallDeltaEvent("r", "c", "f", ":1}"), '{"a":1}'),
        (ToolResultTextDeltaEvent("r", "c", "f", "a"), ToolResultTextDeltaEvent("r", "c", "f", "b"), "ab"),
        (text(""), text("x"), "x"),
        (text("\ud83d"), text("\ude00"), "\ud83d\ude00"),
    ],
)
def test_deltas_of_one_block_are_joined(earlier: AgentEvent, later: AgentEvent, joined: str) -> None:
    merged = merge(earlier, later)

    assert type(merged) is type(later)
    assert merged.delta == joined
    assert (merged.id, merged.created_at) == (later.id, later.created_at)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (DataBlockDeltaEvent("r", "b", "AAAA"), DataBlockDeltaEvent("r", "b", "BBBB", None, "image/png")),
        (
            ToolResultDataDeltaEvent("r", "c", "f", "AAAA", media_type="image/png", block_id="d"),
            ToolResultDataDeltaEvent("r", "c", "f", "BBBB", block_id="d"),
        ),
    ],
)
def test_base64_of_one_block_is_joined_and_keeps_its_media_type(
    earlier: AgentEvent, later: AgentEvent
) -> None:
    merged = merge(earlier, later)

    assert merged is not None
    assert (merged.data, merged.media_type) == ("AAAABBBB", "image/png")


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (text("a"), text("b", block_id="text-2")),
        (text("a"), text("b", reply_id="other")),
        (text("a"), text("b", source="main/researcher")),
        (text("a"), ThinkingBlockDeltaEvent("r", "text-1", "b")),
        (text("a"), TextBlockEndEvent("r", "text-1")),
        (ToolCallDeltaEvent("r", "c1", "f", "a"), ToolCallDeltaEvent("r", "c2", "f", "b")),
        (ToolCallDeltaEvent("r", "c", "f", "a"), ToolResultTextDeltaEvent("r", "c", "f", "b")),
        (DataBlockDeltaEvent("r", "b", "AAAA"), DataBlockDeltaEvent("r", "b", url="http://x/y.png")),
        (
            DataBlockDeltaEvent("r", "b", "AAAA", media_type="image/png"),
            DataBlockDeltaEvent("r", "b", "BBBB", media_type="image/jpeg"),
        ),
        (ToolResultDataDeltaEvent("r", "c", "f", "AAAA"), ToolResultDataDeltaEvent("r", "c", "f", "BBBB")),
        (
            ToolResultDataDeltaEvent("r", "c", "f", "AAAA", block_id="d"),
            ToolResultDataDeltaEvent("r", "c", "f", block=TextBlock("x"), block_id="d"),
        ),
        ("a", "b"),
        (1, text("a")),
    ],
)
def test_what_belongs_to_different_blocks_stays_apart(earlier: object, later: object) -> None:
    assert merge(earlier, later) is None


@pytest.mark.parametrize("event", [text("once", id="1"), DataBlockDeltaEvent("r", "b", "AAAA", id="1")])
def test_a_copy_of_the_same_event_adds_nothing(event: AgentEvent) -> None:
    assert merge(event, attrs.evolve(event)) is event


def test_events_without_an_id_are_never_copies() -> None:
    merged = merge(text("a", id=""), text("a", id=""))

    assert isinstance(merged, TextBlockDeltaEvent)
    assert merged.delta == "aa"


def test_metadata_of_both_is_kept_and_the_later_one_wins() -> None:
    merged = merge(text("a", metadata={"x": 1, "taskId": "t"}), text("b", metadata={"x": 2}))

    assert merged is not None
    assert merged.metadata == {"x": 2, "taskId": "t"}


@pytest.mark.parametrize(("limit", "fits"), [(4, True), (3, False)])
def test_nothing_longer_than_the_limit_is_made(limit: int, fits: bool) -> None:
    assert (merge(text("ab"), text("cd"), limit=limit) is not None) is fits
