"""What a person sees of the events."""

from __future__ import annotations

import pytest
from attrs import evolve

from agentscope_rx.cli._console import Console
from agentscope_rx.event import (
    AgentEvent,
    DataBlockStartEvent,
    ExceedMaxItersEvent,
    ModelCallStartEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    ThinkingBlockDeltaEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UnknownEvent,
)
from agentscope_rx.message import ToolResultState


def shown(*events: AgentEvent) -> list[str]:
    console = Console()
    return [text for event in events if (text := console.show(event))]


def test_text_is_shown_as_it_arrives_and_its_end_ends_the_line() -> None:
    assert shown(
        TextBlockDeltaEvent("r", "b", "Hel"), TextBlockDeltaEvent("r", "b", "lo"), TextBlockEndEvent("r", "b")
    ) == ["Hel", "lo", "\n"]


def test_tools_that_run_side_by_side_do_not_mix() -> None:
    one, two = ("r", "c1", "search"), ("r", "c2", "weather")

    assert shown(
        ToolCallStartEvent(*one),
        ToolCallDeltaEvent(*one, '{"q":'),
        ToolCallStartEvent(*two),
        ToolCallDeltaEvent(*one, '"rx"}'),
        ToolCallEndEvent(*two),
        ToolCallEndEvent(*one),
        ToolResultStartEvent(*one),
        ToolResultStartEvent(*two),
        ToolResultTextDeltaEvent(*one, "fou"),
        ToolResultTextDeltaEvent(*two, "no such city"),
        ToolResultEndEvent(*two, ToolResultState.ERROR),
        ToolResultTextDeltaEvent(*one, "nd"),
        ToolResultEndEvent(*one),
    ) == [
        "[weather {}]\n",
        '[search {"q":"rx"}]\n',
        "[weather (error): no such city]\n",
        "[search: found]\n",
    ]


def test_a_second_call_with_the_same_id_starts_afresh() -> None:
    call = ("r", "c1", "search")
    once = (ToolCallDeltaEvent(*call, "{}"), ToolCallEndEvent(*call), ToolResultEndEvent(*call))

    assert shown(*once, *once) == ["[search {}]\n", "[search: ]\n"] * 2


def test_a_result_that_begins_afresh_is_shown_once() -> None:
    call = ("r", "c1", "search")

    assert shown(
        ToolResultStartEvent(*call),
        ToolResultTextDeltaEvent(*call, "fou"),
        ToolResultEndEvent(*call, ToolResultState.RUNNING, metadata={"agentscope_suspended": False}),
        ToolResultStartEvent(*call),
        ToolResultTextDeltaEvent(*call, "found"),
        ToolResultEndEvent(*call),
    ) == ["[search: found]\n"]


def test_data_and_the_limit_of_rounds_are_named() -> None:
    assert shown(
        DataBlockStartEvent("r", "d", "image/png"),
        DataBlockStartEvent("r", "e"),
        ExceedMaxItersEvent("r", 10, 10),
    ) == ["[image/png]\n", "[data]\n", "[stopped after 10 rounds]\n"]


@pytest.mark.parametrize(
    "event",
    [
        ModelCallStartEvent("r", "gpt"),
        ThinkingBlockDeltaEvent("r", "t", "hm"),
        UnknownEvent({"type": "NEWER"}),
        evolve(TextBlockDeltaEvent("r", "b", "from a subagent"), source="main/researcher"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_the_rest_is_not_shown(event: AgentEvent) -> None:
    assert shown(event) == []
