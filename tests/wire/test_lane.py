"""The fast lane says nothing that the hooks would not say."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from attrs import evolve

from agentscope_rx import _json, wire
from agentscope_rx.errors import WireError
from agentscope_rx.event import (
    AgentEvent,
    AnyAgentEvent,
    CustomEvent,
    DataBlockDeltaEvent,
    ModelCallEndEvent,
    TextBlockDeltaEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
)
from agentscope_rx.wire._lane import REFUSALS, Lane
from tests.samples import EVENTS
from tests.wire.goldens import java_text, lines

LANE = Lane()
FAST = [event for event in EVENTS if type(event) in LANE.encoders]


def by_hooks(text: str | bytes) -> AgentEvent:
    return wire.from_dict(AgentEvent, _json.loads(text))


def test_what_streams_are_full_of_goes_through_it() -> None:
    names = {cls.__name__ for cls in LANE.encoders}

    assert len(names) == 20
    assert {
        f"{block}{step}Event"
        for block in ("TextBlock", "ThinkingBlock", "ToolCall")
        for step in ("Start", "Delta", "End")
    } | {"ToolResultStartEvent", "ToolResultTextDeltaEvent", "ToolResultEndEvent"} <= names


@pytest.mark.parametrize(
    "cls", [CustomEvent, DataBlockDeltaEvent, ModelCallEndEvent, ToolResultDataDeltaEvent]
)
def test_what_has_more_than_scalars_or_rules_of_its_own_does_not(cls: type) -> None:
    assert cls not in LANE.encoders


@pytest.mark.parametrize("event", FAST, ids=lambda event: event.type)
def test_it_writes_what_the_hooks_write(event: AgentEvent) -> None:
    for each in (
        event,
        evolve(event, id="", source=None, metadata={}),
        evolve(event, created_at="", source=""),
    ):
        assert LANE.encoders[type(each)](each) == wire.dumps(each)
        assert wire.dumps_event(each) == wire.dumps(each)


@pytest.mark.parametrize("event", FAST, ids=lambda event: event.type)
def test_it_reads_what_the_hooks_read(event: AgentEvent) -> None:
    text = wire.dumps(event)
    back = LANE.twin(text).event()

    assert back == by_hooks(text) == event
    assert type(back) is type(event)
    assert hash(back) == hash(event)


@pytest.mark.parametrize("event", FAST, ids=lambda event: event.type)
def test_what_it_reads_is_frozen(event: AgentEvent) -> None:
    back: Any = LANE.twin(wire.dumps(event)).event()

    with pytest.raises(AttributeError):
        back.id = "other"
    with pytest.raises(AttributeError):
        del back.id
    with pytest.raises(AttributeError):
        back.more = 1
    with pytest.raises(TypeError):
        back.metadata["a"] = 1


@pytest.mark.parametrize("cls", [cls for cls in get_args(AnyAgentEvent) if cls in LANE.encoders])
def test_it_reads_missing_and_null_as_the_hooks_do(cls: Any) -> None:
    keys = wire.to_dict(next(event for event in FAST if type(event) is cls))
    for text in (json.dumps({"type": cls.type}), json.dumps(dict.fromkeys(keys) | {"type": cls.type})):
        assert LANE.twin(text).event() == by_hooks(text)


@pytest.mark.parametrize("file", ["events", "decode"])
def test_it_accepts_nothing_of_javas_that_the_hooks_do_not(file: str) -> None:
    texts = [
        java_text(line) if file == "events" else json.dumps(entry["input"])
        for line in lines(file)
        for entry in [json.loads(line)]
        if file == "events" or (entry["target"] == "event" and "input_raw" not in entry)
    ] + [entry["input"] for entry in map(json.loads, lines("decode")) if entry.get("input_raw")]
    accepted = 0
    for text in texts:
        try:
            ours = LANE.twin(text).event()
        except REFUSALS:
            continue
        accepted += 1
        assert ours == by_hooks(text), text

    assert accepted > 50


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"TEXT_BLOCK_DELTA","delta":5}',
        '{"type":"TEXT_BLOCK_DELTA","delta":"x","more":1}',
        '{"type":"TEXT_BLOCK_DELTA","metadata":[]}',
        '{"type":"TEXT_BLOCK_DELTA","metadata":{"a":1E400}}',
        '{"type":"TEXT_BLOCK_DELTA","delta":"\\ud83d"}',
        '{"type":"TEXT_BLOCK_DELTA","type":"TEXT_BLOCK_END"}',
        '{"type":"TEXT_BLOCK_DELTA"} ',
        '{"type":"TEXT_BLOCK_DELTA"}x',
        '{"type":"TOOL_RESULT_END","state":"SUCCESS"}',
        '{"type":"TOOL_RESULT_END","state":0}',
        '{"type":"EXCEED_MAX_ITERS","maxIters":true}',
        '{"type":"EXCEED_MAX_ITERS","maxIters":1e2}',
        '{"type":"EXCEED_MAX_ITERS","maxIters":"1"}',
        '{"type":"AGENT_END"}',
        '{"type":"NEWER"}',
        "null",
        "[]",
    ],
)
def test_what_it_refuses_is_left_to_the_hooks(text: str) -> None:
    def outcome(read: Any) -> Any:
        try:
            return read(text)
        except (WireError, _json.JSONError) as error:
            return str(error)

    assert outcome(wire.loads_event) == outcome(by_hooks)


def test_it_leaves_to_the_hooks_what_it_cannot_write() -> None:
    odd = TextBlockDeltaEvent("r", "b", "x\ud83d")
    state = evolve(odd, metadata={"big": 10**400, "end": ToolResultEndEvent("r", "c", "n")})

    assert json.loads(wire.dumps_event(odd))["delta"] == "x\ud83d"
    assert json.loads(wire.dumps_event(state))["metadata"]["end"]["state"] == "success"
    with pytest.raises(WireError, match=r"^\$\.metadata\.a: nan is no JSON number"):
        wire.dumps_event(evolve(odd, metadata={"a": float("nan")}))
