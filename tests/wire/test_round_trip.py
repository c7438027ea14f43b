"""Whatever is written can be read, and is written again the same."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

import pytest
from attrs import evolve

from agentscope_rx import wire
from agentscope_rx.errors import WireError
from agentscope_rx.event import (
    AgentEvent,
    AnyAgentEvent,
    CustomEvent,
    DataBlockDeltaEvent,
    ModelCallEndEvent,
    TextBlockDeltaEvent,
    ToolResultDataDeltaEvent,
    UnknownEvent,
)
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    ChatUsage,
    ContentBlock,
    DataBlock,
    GenerateReason,
    HintBlock,
    ImageBlock,
    Msg,
    MsgRole,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    ToolUseBlock,
    URLSource,
    UserMessage,
    VideoBlock,
)
from agentscope_rx.permission import (
    AdditionalWorkingDirectory,
    PermissionBehavior,
    PermissionContextState,
    PermissionDecision,
    PermissionMode,
    PermissionRule,
)
from agentscope_rx.state import (
    AgentState,
    PlanModeContextState,
    ReadCacheEntry,
    SpawnEntry,
    Task,
    TaskContextState,
    TaskState,
    ToolContextState,
    ToolkitState,
)
from tests.samples import BLOCKS, EVENTS, LINK, MESSAGES, RULE

CASES = Path(__file__).parent.parent / "cases" / "events"

ODD_TEXTS: Final = (
    "",
    "x\ud83d",
    "\udc00\ud800",
    "\u2028\u2029\x85\x00\x1f\x7f",
    "\ufeff\ufffe",
    "\U0001f469\u200d\U0001f467",
    '"\\/\b\f\n\r\t',
    "None",
)
ODD_VALUES: Final[dict[str, Any]] = {
    "": "empty",
    "a b": {"type": "AGENT_END", "nested": [[], {}, [None, True, False]]},
    "big": [2**63, 2**64, -(10**50), 1.5e300, 5e-324, -0.0, 0.1],
    "\ud83d": "\ud83d",
    "null": None,
}


def survives(value: Any, cls: Any) -> None:
    text = wire.dumps(value)
    back = wire.loads(cls, text)

    assert wire.dumps(back) == text
    assert b"\n" not in text
    assert back == value


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_an_event_of_every_class_survives(event: AgentEvent) -> None:
    text = wire.dumps_event(event)
    back = wire.loads_event(text)

    assert wire.dumps_event(back) == text
    assert back == event or isinstance(event, UnknownEvent)


def test_there_is_a_sample_of_every_class() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(AnyAgentEvent))


@pytest.mark.parametrize("msg", MESSAGES, ids=lambda msg: type(msg).__name__)
def test_a_message_of_every_class_survives(msg: Msg) -> None:
    text = wire.dumps_msg(msg)
    back = wire.loads_msg(text)

    assert wire.dumps_msg(back) == text
    assert back == msg or (type(msg) is Msg and type(back) is AssistantMessage)


@pytest.mark.parametrize(
    ("role", "cls"),
    [
        (MsgRole.USER, UserMessage),
        (MsgRole.ASSISTANT, AssistantMessage),
        (MsgRole.SYSTEM, SystemMessage),
        (MsgRole.TOOL, ToolResultMessage),
        (None, Msg),
    ],
)
def test_the_role_says_which_class_a_message_is(role: MsgRole | None, cls: type[Msg]) -> None:
    assert type(wire.loads_msg(wire.dumps_msg(Msg("n", role, "hi")))) is cls


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.type)
def test_a_block_of_every_class_survives(block: ContentBlock) -> None:
    survives(block, ContentBlock)
    survives(block, type(block))


@pytest.mark.parametrize(
    "value",
    [
        LINK,
        Base64Source("image/png", "AA=="),
        ChatUsage(),
        ChatUsage(2**40, 2, 3, 4, 5),
        RULE,
        PermissionDecision(PermissionBehavior.ASK, "m", "r", {"a": None}, (RULE,)),
        PermissionDecision(PermissionBehavior.DENY),
        PermissionContextState(
            PermissionMode.EXPLORE,
            {"/w": AdditionalWorkingDirectory("/w")},
            {"n": (RULE,)},
            {"n": [RULE, RULE]},
            {"m": [PermissionRule("m", source="")]},
        ),
        AgentState("s", None, "sum", MESSAGES[2:], "r", 3, True, checkpoint={"version": 1, "blocks": [None]}),
        Task("s", "d", {"a": 1}, "t", TaskState.COMPLETED, "1", "o", ("2",), ("3",)),
        TaskContextState((Task("s", "d"),)),
        PlanModeContextState(True, "plan.md"),
        ToolContextState(5, 20000.5, ("a",), {"k": SpawnEntry("k", depth=1), "l": SpawnEntry()}),
        ReadCacheEntry(("a",), 1.5, 0.25, "/x"),
        ToolkitState(("web",)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_other_value_survives(value: Any) -> None:
    survives(value, type(value))


@pytest.mark.parametrize("odd", ODD_TEXTS, ids=ascii)
def test_any_text_survives_in_every_place_for_a_text(odd: str) -> None:
    for event in EVENTS:
        if isinstance(event, UnknownEvent):
            continue
        texts = {
            name: odd
            for name, hint in get_type_hints(type(event)).items()
            if hint in (str, str | None) and isinstance(getattr(event, name), str) and name != "data"
        }
        assert len(texts) >= 3
        survives(evolve(event, **texts), AgentEvent)
    for block in (
        TextBlock(odd),
        ThinkingBlock(odd, {odd: odd}),
        DataBlock(URLSource(odd, odd), odd or "d", odd),
        ToolUseBlock(odd, odd, {odd: odd}, odd, {odd: [odd]}),
        ToolResultBlock(odd, odd, (TextBlock(odd),), {odd: odd}),
        HintBlock(odd, odd, odd),
    ):
        survives(block, ContentBlock)
    survives(UserMessage(odd, odd, id=odd, timestamp=odd, metadata={odd: odd}), Msg)


def test_any_json_survives_in_every_place_for_json() -> None:
    for event in EVENTS:
        survives(evolve(event, metadata=ODD_VALUES), AgentEvent) if not isinstance(
            event, UnknownEvent
        ) else None
    survives(CustomEvent("c", ODD_VALUES), AgentEvent)
    survives(wire.from_dict(AgentEvent, {"type": "NEWER"} | ODD_VALUES), AgentEvent)
    survives(ToolUseBlock("c", "n", ODD_VALUES, metadata=ODD_VALUES), ContentBlock)
    survives(ThinkingBlock("t", ODD_VALUES), ContentBlock)
    survives(ToolResultBlock("c", "n", "x", ODD_VALUES), ContentBlock)
    survives(AssistantMessage("x", metadata=ODD_VALUES), Msg)
    survives(Task("s", "d", ODD_VALUES), Task)


@pytest.mark.parametrize(
    "value",
    [
        TextBlock("x", {}),
        ThinkingBlock("x", {}),
        VideoBlock(None),
        DataBlock(LINK, ""),
        ImageBlock(LINK, 0),
        ToolUseBlock("", ""),
        ToolUseBlock("c", "n", content=""),
        ToolResultBlock("c", "n", metadata={"a": None, "b": 1}),
    ],
    ids=repr,
)
def test_edges_of_blocks_survive(value: ContentBlock) -> None:
    survives(value, ContentBlock)


@pytest.mark.parametrize(
    "event",
    [
        ModelCallEndEvent("r", ChatUsage(0, 0)),
        ModelCallEndEvent("r", ChatUsage(1, 2, reasoning_tokens=1)),
        DataBlockDeltaEvent("r", "b", url="u"),
        DataBlockDeltaEvent("r", "b", url=""),
        ToolResultDataDeltaEvent("r", "c", "n", url="u", media_type="a/b"),
        ToolResultDataDeltaEvent("r", "c", "n", block=TextBlock("x"), block_id="i"),
        ToolResultDataDeltaEvent("r", "c", "n"),
    ],
    ids=repr,
)
def test_edges_of_events_survive(event: AgentEvent) -> None:
    survives(event, AgentEvent)


def test_a_reason_travels_in_the_metadata_and_is_a_field() -> None:
    msg = AssistantMessage("x", metadata={"k": 1}, generate_reason=GenerateReason.MAX_ITERATIONS)

    assert wire.to_dict(msg)["metadata"] == {"k": 1, "agentscope_generate_reason": "MAX_ITERATIONS"}
    back = wire.loads_msg(wire.dumps_msg(msg))
    assert (back.generate_reason, back.metadata) == (GenerateReason.MAX_ITERATIONS, {"k": 1})
    assert "agentscope_generate_reason" not in wire.to_dict(AssistantMessage("x"))["metadata"]


@pytest.mark.parametrize(
    "case",
    [json.loads(file.read_text(encoding="utf-8")) for file in sorted(CASES.glob("R0*.json"))],
    ids=lambda case: case["id"],
)
def test_a_round_trip_case_comes_back(case: dict[str, Any]) -> None:
    events = [wire.from_dict(AgentEvent, event) for event in case["events"]]
    frames = [wire.dumps_event(event) for event in events]
    back = [wire.loads_event(frame) for frame in frames]

    assert len(frames) == case["expected"]["frames"]
    assert back == events
    assert isinstance(back[0], TextBlockDeltaEvent)
    assert back[0].delta in case["expected"]["decoded_delta_one_of"]


def test_every_event_of_the_reconstruction_cases_comes_back() -> None:
    lines = (CASES.parent / "reconstruct.jsonl").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    events = [event for line in lines for event in json.loads(line)["events"]]

    assert len(events) > 3000
    for event in events:
        survives(wire.loads_event(json.dumps(event)), AgentEvent)


class Chance:
    """Random values, from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self) -> str:
        return self.random.choice((*ODD_TEXTS, "a", "reply-1", "YQ==", "{}", "ü" * 30))

    def json(self, depth: int = 3) -> Any:
        scalars: tuple[Callable[[], Any], ...] = (
            self.text,
            lambda: None,
            lambda: self.random.random() < 0.5,
            lambda: self.random.randrange(-(10**20), 10**20),
            lambda: self.random.uniform(-1e9, 1e9),
        )
        kind = self.random.randrange(len(scalars) + (2 if depth else 0))
        if kind < len(scalars):
            return scalars[kind]()
        members = [self.json(depth - 1) for _ in range(self.random.randrange(4))]
        return members if kind == len(scalars) else {self.text(): member for member in members}

    def mapping(self) -> dict[str, Any]:
        return {self.text(): self.json() for _ in range(self.random.randrange(3))}

    def pick(self, *values: Any) -> Any:
        return self.random.choice(values)

    def source(self) -> Any:
        return self.pick(
            Base64Source(self.text(), self.text()), URLSource(self.text(), self.pick(None, self.text()))
        )

    def block(self, depth: int = 3) -> ContentBlock:
        output = [self.block(depth - 1) for _ in range(self.random.randrange(3))] if depth else []
        return self.pick(
            TextBlock(self.text(), self.pick(None, self.mapping())),
            ThinkingBlock(self.text(), self.pick(None, self.mapping())),
            DataBlock(self.source(), self.text(), self.pick(None, self.text())),
            ImageBlock(self.source(), self.pick(None, 0, 10**12)),
            VideoBlock(self.pick(None, self.source()), self.pick(None, 0.5, 24)),
            ToolUseBlock(
                self.text(),
                self.text(),
                self.mapping(),
                self.pick(None, self.text()),
                self.mapping(),
                self.pick(*ToolCallState),
            ),
            ToolResultBlock(self.text(), self.text(), output, self.mapping(), self.pick(*ToolResultState)),
            HintBlock(self.text(), self.text(), self.pick(None, self.text())),
        )

    def msg(self) -> Msg:
        return self.pick(AssistantMessage, ToolResultMessage)(
            content=[self.block() for _ in range(self.random.randrange(4))],
            name=self.pick(None, self.text()),
            id=self.text(),
            timestamp=self.text(),
            metadata=self.mapping(),
            usage=self.pick(None, ChatUsage(self.random.randrange(10**12), 2, 3, self.random.random())),
            generate_reason=self.pick(None, *GenerateReason),
        )


@pytest.mark.parametrize("seed", range(60))
def test_random_messages_survive(seed: int) -> None:
    msg = Chance(seed).msg()

    survives(msg, Msg)
    assert wire.dumps_msg(wire.loads_msg(wire.dumps_msg(msg, java=True)), java=True) == wire.dumps_msg(
        msg, java=True
    )


@pytest.mark.parametrize("seed", range(60))
def test_random_events_survive(seed: int) -> None:
    chance = Chance(seed)
    for event in EVENTS:
        if not isinstance(event, UnknownEvent):
            survives(
                evolve(
                    event,
                    id=chance.text(),
                    source=chance.pick(None, chance.text()),
                    metadata=chance.mapping(),
                ),
                AgentEvent,
            )


@pytest.mark.parametrize("seed", range(40))
def test_random_json_is_read_or_refused(seed: int) -> None:
    """Known keys with values of any type, on known and unknown types: nothing but `WireError` comes out."""
    chance = Chance(seed)
    keys = sorted({key for value in (*EVENTS, *MESSAGES, *BLOCKS) for key in wire.to_dict(value)})
    types = [event.type for event in EVENTS] + [block.type for block in BLOCKS] + [None, 5, "X"]
    values: list[Any] = []
    refusals: list[WireError] = []
    for _ in range(40):
        value: Any = {key: chance.json() for key in chance.random.sample(keys, chance.random.randrange(12))}
        for key in chance.random.sample(sorted(value), min(len(value), 2)):
            value[key] = chance.pick({}, [], [{}], [{"type": chance.pick(*types)}], "", "success", 1)
        value["type"] = chance.pick(*types)
        for cls in (AgentEvent, Msg, ContentBlock):
            try:
                values.append((wire.loads(cls, json.dumps(value)), cls))
            except WireError as error:
                refusals.append(error)

    assert values
    assert all(error.path.startswith("$") for error in refusals)
    for back, cls in values:
        survives(back, cls)


@pytest.mark.parametrize("seed", range(40))
def test_broken_text_is_read_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    for event in EVENTS:
        text = bytearray(wire.dumps_event(event))
        for _ in range(chance.randrange(1, 4)):
            place = chance.randrange(len(text))
            text[place : place + chance.randrange(3)] = bytes(
                chance.choices(b'"{}[],:\\0e-n\xff\xf0 ', k=chance.randrange(3))
            )
        try:
            back = wire.loads_event(bytes(text))
        except WireError:
            continue
        survives(back, AgentEvent)
