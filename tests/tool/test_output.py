from __future__ import annotations

import dataclasses
import enum
from datetime import date
from decimal import Decimal
from typing import Any

import attrs
import pydantic
import pytest

from agentscope_rx.event import (
    AgentEvent,
    RequestStopEvent,
    TextBlockDeltaEvent,
    ToolResultDataDeltaEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.message import (
    Base64Source,
    ContentBlock,
    DataBlock,
    ImageBlock,
    TextBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
)
from agentscope_rx.operators import with_source
from agentscope_rx.tool._output import ResultWriter, as_item, as_result, as_text


class Mood(enum.Enum):
    GOOD = "good"


@attrs.frozen
class Place:
    city: str
    when: date


@dataclasses.dataclass
class Pair:
    a: int
    b: Place | None = None


class Order(pydantic.BaseModel):
    item: str


class Odd:
    def __str__(self) -> str:
        return "odd"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        (3, "3"),
        (2.5, "2.5"),
        (True, "true"),
        (float("nan"), "nan"),
        ([], "[]"),
        ([1, "a", None], '[1,"a",null]'),
        ({"a": {"b": 1}}, '{"a":{"b":1}}'),
        ({1: "one"}, '{"1":"one"}'),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        ("\ud83d", "\ud83d"),
        (["\ud83d"], '["\\ud83d"]'),
        (date(2026, 1, 2), "2026-01-02"),
        (Mood.GOOD, "good"),
        (Decimal("1.50"), "1.50"),
        (Place("Oslo", date(2026, 1, 2)), '{"city":"Oslo","when":"2026-01-02"}'),
        (Pair(1), '{"a":1,"b":null}'),
        (Order(item="tea"), '{"item":"tea"}'),
        ([Order(item="tea")], '[{"item":"tea"}]'),
        (Odd(), "odd"),
        ({"x": Odd()}, '{"x":"odd"}'),
    ],
)
def test_a_value_becomes_the_text_that_a_model_reads(value: Any, text: str) -> None:
    assert as_text(value) == text


def test_a_value_that_holds_itself_is_written_as_str_does() -> None:
    circle: list[Any] = []
    circle.append(circle)

    assert as_text(circle) == "[[...]]"


IMAGE = DataBlock(URLSource("http://x/y.png"))


@pytest.mark.parametrize(
    ("value", "output"),
    [
        (None, ()),
        ("text", (TextBlock("text"),)),
        (IMAGE, (IMAGE,)),
        ([TextBlock("see"), IMAGE], (TextBlock("see"), IMAGE)),
        (["see", IMAGE, {"a": 1}], (TextBlock("see"), IMAGE, TextBlock('{"a":1}'))),
        ((TextBlock("a"),), (TextBlock("a"),)),
        ([1, 2], (TextBlock("[1,2]"),)),
        ([], (TextBlock("[]"),)),
    ],
)
def test_what_a_tool_returns_is_a_successful_result(value: Any, output: tuple[ContentBlock, ...]) -> None:
    result = as_result(value)

    assert (result.output, result.state) == (output, ToolResultState.SUCCESS)


@pytest.mark.parametrize(
    ("given", "state"),
    [
        (ToolResultBlock("", "", "x"), ToolResultState.SUCCESS),
        (ToolResultBlock.text("x"), ToolResultState.SUCCESS),
        (ToolResultBlock.error("x"), ToolResultState.ERROR),
        (ToolResultBlock("", "", "x", state=ToolResultState.DENIED), ToolResultState.DENIED),
    ],
)
def test_a_result_that_a_tool_returns_is_taken_as_it_is(
    given: ToolResultBlock, state: ToolResultState
) -> None:
    assert as_result(given) == attrs.evolve(given, state=state)


def test_a_suspended_result_keeps_running_and_has_no_output() -> None:
    result = as_result(ToolResultBlock.suspended(ToolUseBlock("c", "f"), "waits for the bank"))

    assert (result.output, result.state, result.is_suspended) == ((), ToolResultState.RUNNING, True)
    assert result.metadata["agentscope_suspend_reason"] == "waits for the bank"


@pytest.mark.parametrize(
    ("item", "text"), [("a", "a"), (None, ""), (1, "1\n"), ({"a": 1}, '{"a":1}\n'), ([], "[]\n")]
)
def test_items_of_a_generator_are_text_or_a_line_of_json(item: Any, text: str) -> None:
    assert as_item(item) == TextBlock(text)


def test_blocks_of_a_generator_pass() -> None:
    assert as_item(IMAGE) is IMAGE
    assert as_item(["see", IMAGE]) == ToolResultBlock("", "", (TextBlock("see"), IMAGE))


def deltas(emitted: ContentBlock | AgentEvent) -> list[AgentEvent]:
    return list(ResultWriter(ToolUseBlock("c", "f"), "r").deltas(emitted))


def test_text_becomes_a_text_delta_and_empty_text_nothing() -> None:
    (event,) = deltas(TextBlock("hi"))

    assert isinstance(event, ToolResultTextDeltaEvent)
    assert (event.reply_id, event.tool_call_id, event.tool_call_name, event.delta) == ("r", "c", "f", "hi")
    assert deltas(TextBlock("")) == []


@pytest.mark.parametrize(
    ("block", "fields"),
    [
        (
            DataBlock(Base64Source("image/png", "AAAA"), "d"),
            {"data": "AAAA", "media_type": "image/png", "block_id": "d", "url": None, "block": None},
        ),
        (
            DataBlock(URLSource("http://x", "image/png"), "d"),
            {"data": "", "media_type": "image/png", "block_id": "d", "url": "http://x", "block": None},
        ),
        (named := DataBlock(URLSource("http://x"), "d", "the map"), {"block": named, "url": None}),
        (image := ImageBlock(URLSource("http://x"), 1, 2), {"block": image, "url": None}),
    ],
)
def test_data_becomes_a_data_delta_that_says_all_of_it(block: ContentBlock, fields: dict[str, Any]) -> None:
    (event,) = deltas(block)

    assert isinstance(event, ToolResultDataDeltaEvent)
    assert {name: getattr(event, name) for name in fields} == fields


def test_an_emitted_result_is_its_output_with_its_metadata() -> None:
    events = deltas(ToolResultBlock("", "", (TextBlock("a"), IMAGE), {"step": 1}))

    assert [type(e) for e in events] == [ToolResultTextDeltaEvent, ToolResultDataDeltaEvent]
    assert [e.metadata for e in events] == [{"step": 1}, {"step": 1}]


def test_the_wish_to_stop_gets_the_reply_it_belongs_to() -> None:
    wish = RequestStopEvent("enough")

    assert deltas(wish) == [attrs.evolve(wish, reply_id="r")]


def test_a_subagent_s_event_passes_as_it_is() -> None:
    event = with_source(TextBlockDeltaEvent("child", "text-1", "hi"), "main/child")

    (passed,) = deltas(event)

    assert passed is event


def test_words_about_a_failure_begin_a_line_of_their_own_below_text() -> None:
    for said, begin in (("half", "\n"), ("line\n", ""), ("", "")):
        write = ResultWriter(ToolUseBlock("c", "f"), "r")
        events = [*write.deltas(TextBlock(said)), *write.error("gone")]
        text = "".join(e.delta for e in events if isinstance(e, ToolResultTextDeltaEvent))
        assert text == f"{said}{begin}Error: gone"


def test_words_about_a_failure_below_an_image_need_no_line_of_their_own() -> None:
    write = ResultWriter(ToolUseBlock("c", "f"), "r")
    events = [*write.deltas(TextBlock("half")), *write.deltas(IMAGE), *write.error("gone")]

    assert [e.delta for e in events if isinstance(e, ToolResultTextDeltaEvent)] == ["half", "Error: gone"]
