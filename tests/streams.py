"""Random streams of a reply, and ways to write them that leave the message alone."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from random import Random
from typing import Any

from attrs import evolve

from agentscope_rx import wire
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    BlockEvent,
    ConfirmResult,
    CustomEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    ExceedMaxItersEvent,
    ExternalExecutionResultEvent,
    HintBlockEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    SubagentExposedEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UnknownEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.identity import Emitter, emitting
from agentscope_rx.message import (
    AssistantMessage,
    ChatUsage,
    GenerateReason,
    ImageBlock,
    TextBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
)

__all__ = ["NEUTRAL", "Rewriting", "chaos", "is_delta", "reply"]

Events = list[AgentEvent]
Rewriting = Callable[[Random, Events], Events]

WORDS = ("a", "bc", " ", "\n", "é", "你好", "🚀", "\x00", "</b>", '"', "def ghi")
ARGUMENTS = ("", "{}", '{"q":1}', '{"city": "Oslo", "n": [1, {"x": null}]}', '{"t":"🚀"}', '{"broken', "[1]")


def reply(seed: int, reply_id: str = "r1", prefix: str = "e") -> Events:
    """Return a whole, valid reply: some rounds, maybe pauses, an end."""
    with emitting(Emitter(prefix)):
        return list(_Writer(Random(seed), reply_id).reply())


class _Writer:
    def __init__(self, random: Random, reply_id: str) -> None:
        self.random = random
        self.r = reply_id
        self.fixed = random.random() < 0.4
        self.count = 0

    def reply(self) -> Iterator[AgentEvent]:
        random = self.random
        yield self.start()
        for _ in range(random.randint(1, 4)):
            yield ModelCallStartEvent(self.r, "m")
            calls = []
            blocks = [self.block() for _ in range(random.randint(0, 3))]
            for _ in range(random.choice((0, 0, 1, 2, 3))):
                calls.append(self.key("call"))
                blocks.append(self.call(calls[-1]))
            # Under fixed keys no two blocks of a kind are open at once.
            yield from (chain(*blocks) if self.fixed or random.random() < 0.5 else weave(random, *blocks))
            yield ModelCallEndEvent(self.r, random.choice((None, ChatUsage(random.randint(0, 9), 3, 1))))
            yield from self.sprinkle()
            yield from self.acting(calls)
        yield from self.end()

    def start(self) -> AgentStartEvent:
        return AgentStartEvent("s", self.r, "Ann")

    def key(self, kind: str) -> str:
        self.count += 1
        return kind if self.fixed and kind != "call" else f"{kind}-{self.count}"

    def pieces(self, text: str) -> list[str]:
        cuts = sorted(self.random.choices(range(len(text) + 1), k=self.random.randint(0, 3)))
        return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    def words(self) -> str:
        return "".join(self.random.choices(WORDS, k=self.random.randint(0, 6)))

    def block(self) -> Events:
        random, r = self.random, self.r
        match random.choice(("text", "text", "thinking", "data", "url")):
            case "text":
                key = self.key("text")
                deltas: Events = [TextBlockDeltaEvent(r, key, piece) for piece in self.pieces(self.words())]
                return [TextBlockStartEvent(r, key), *deltas, TextBlockEndEvent(r, key)]
            case "thinking":
                key = self.key("thinking")
                deltas = [ThinkingBlockDeltaEvent(r, key, piece) for piece in self.pieces(self.words())]
                signed = {"block": {"signature": "s"}} if random.random() < 0.5 else {}
                return [
                    ThinkingBlockStartEvent(r, key),
                    *deltas,
                    ThinkingBlockEndEvent(r, key, metadata=signed),
                ]
            case "data":
                key = self.key("data")
                deltas = [DataBlockDeltaEvent(r, key, piece) for piece in self.base64()]
                start = DataBlockStartEvent(r, key, random.choice((None, "image/png")))
                signed = {"block": {"signature": "d"}} if len(deltas) > 2 else {}
                return [start, *deltas, DataBlockEndEvent(r, key, metadata=signed)]
            case _:
                key = self.key("data")
                delta = DataBlockDeltaEvent(r, key, url="https://x.org/a.png", media_type="image/png")
                return [DataBlockStartEvent(r, key), delta, DataBlockEndEvent(r, key)]

    def base64(self) -> list[str]:
        """Bytes in both habits: each chunk padded alone, or one text cut anywhere."""
        chunks = [self.random.randbytes(self.random.randint(1, 7)) for _ in range(self.random.randint(1, 4))]
        if self.random.random() < 0.5:
            return [base64.b64encode(chunk).decode() for chunk in chunks]
        return self.pieces(base64.b64encode(b"".join(chunks)).decode())

    def call(self, call_id: str) -> Events:
        pieces = self.pieces(self.random.choice(ARGUMENTS))
        deltas = [ToolCallDeltaEvent(self.r, call_id, "tool", piece) for piece in pieces]
        return [
            ToolCallStartEvent(self.r, call_id, "tool"),
            *deltas,
            ToolCallEndEvent(self.r, call_id, "tool"),
        ]

    def acting(self, calls: list[str]) -> Iterator[AgentEvent]:
        random = self.random
        random.shuffle(calls)
        asked = [ToolUseBlock(call, "tool") for call in calls]
        way = random.random()
        if asked and way < 0.25:
            yield RequireUserConfirmEvent(self.r, asked)
            yield from self.pause(GenerateReason.PERMISSION_ASKING)
            yield UserConfirmResultEvent(self.r, [self.answer(call) for call in asked])
        elif asked and way < 0.4:
            yield RequireExternalExecutionEvent(self.r, asked)
            yield from self.pause(GenerateReason.TOOL_SUSPENDED)
            yield ExternalExecutionResultEvent(self.r, [self.outcome(call) for call in asked])
            return
        results = [self.result(call) for call in calls]
        yield from (chain(*results) if random.random() < 0.5 else weave(random, *results))

    def pause(self, reason: GenerateReason) -> Iterator[AgentEvent]:
        if self.random.random() < 0.5:
            yield RequestStopEvent("paused", reason, reply_id=self.r)
        if self.random.random() < 0.7:
            yield AgentEndEvent(self.r, self.random.choice((None, reason)))
            yield self.start()

    def answer(self, call: ToolUseBlock) -> ConfirmResult:
        match self.random.randint(0, 3):
            case 0:
                return ConfirmResult(False, call)
            case 1:
                return ConfirmResult(True, evolve(call, input={"q": 2}, content='{"q": 2}'))
            case 2:
                return ConfirmResult(True, evolve(call, name="safer", input={"q": True}))
            case _:
                return ConfirmResult(True, call)

    def outcome(self, call: ToolUseBlock) -> ToolResultBlock:
        state = self.random.choice((ToolResultState.SUCCESS, ToolResultState.ERROR, ToolResultState.RUNNING))
        return ToolResultBlock(call.id, "tool", (TextBlock(self.words()),), state=state)

    def result(self, call_id: str) -> Events:
        random, r = self.random, self.r
        output: Events = []
        for _ in range(random.randint(0, 3)):
            key = self.key("out")
            match random.choice(("text", "text", "data", "url", "whole")):
                case "text":
                    output += [
                        ToolResultTextDeltaEvent(r, call_id, "tool", piece)
                        for piece in self.pieces(self.words())
                    ]
                case "data":
                    output += [
                        ToolResultDataDeltaEvent(r, call_id, "tool", piece, None, None, "image/png", key)
                        for piece in self.base64()
                    ]
                case "url":
                    output.append(ToolResultDataDeltaEvent(r, call_id, "tool", url="https://x.org/b.png"))
                case _:
                    image = ImageBlock(URLSource("https://x.org/c.png"))
                    output.append(ToolResultDataDeltaEvent(r, call_id, "tool", block=image))
        state = random.choice((*ToolResultState,))
        metadata = random.choice(({}, {"cost": 1}))
        return [
            ToolResultStartEvent(r, call_id, "tool"),
            *output,
            ToolResultEndEvent(r, call_id, "tool", state, metadata=metadata),
        ]

    def sprinkle(self) -> Iterator[AgentEvent]:
        if self.random.random() < 0.2:
            yield HintBlockEvent(self.r, self.key("hint"), "system", self.words())

    def end(self) -> Iterator[AgentEvent]:
        random = self.random
        if random.random() < 0.2:
            yield ExceedMaxItersEvent(self.r, 10, 10)
        if random.random() < 0.2:
            yield RequestStopEvent("enough", reply_id=self.r)
        if random.random() < 0.2:
            reason = random.choice((None, GenerateReason.INTERRUPTED))
            yield AgentResultEvent(AssistantMessage("x", generate_reason=reason), reply_id=self.r)
        if random.random() < 0.9:
            metadata = {"_structured_output": {"a": [1]}} if random.random() < 0.2 else {}
            yield AgentEndEvent(
                self.r, random.choice((None, None, GenerateReason.MODEL_STOP)), metadata=metadata
            )


def weave(random: Random, *streams: Sequence[AgentEvent]) -> Events:
    """Put streams into one, each in its own order."""
    rest = [list(stream) for stream in streams if stream]
    woven: Events = []
    while rest:
        stream = random.choice(rest)
        woven.append(stream.pop(0))
        rest = [stream for stream in rest if stream]
    return woven


def is_delta(event: AgentEvent) -> bool:
    return type(event).__name__.endswith("DeltaEvent")


# Rewritings that leave the message alone.


def text_field(event: Any) -> str | None:
    """The name of the field that a delta's text is in; None if it has none to cut."""
    if isinstance(event, DataBlockDeltaEvent | ToolResultDataDeltaEvent):
        whole = event.url is not None or getattr(event, "block", None) is not None
        return None if whole or not event.block_id else "data"
    return "delta" if is_delta(event) else None


def cut_deltas(random: Random, events: Events) -> Events:
    """Any delta cut in two."""
    cut: Events = []
    for event in events:
        field = text_field(event)
        if field is None or random.random() < 0.5:
            cut.append(event)
            continue
        whole: str = getattr(event, field)
        at = random.randint(0, len(whole))
        cut.append(evolve(event, **{field: whole[:at], "id": f"{event.id}/1"}))
        cut.append(evolve(event, **{field: whole[at:]}))
    return cut


def cut_pairs(random: Random, events: Events) -> Events:
    """Surrogate pairs cut between two deltas, as UTF-16 writers do."""
    cut: Events = []
    for event in events:
        field = text_field(event)
        whole: str = getattr(event, field) if field == "delta" else ""
        at = whole.find("🚀")
        if field is None or at < 0:
            cut.append(event)
        else:
            cut.append(evolve(event, **{field: whole[:at] + "\ud83d", "id": f"{event.id}/1"}))
            cut.append(evolve(event, **{field: "\ude80" + whole[at + 1 :]}))
    return cut


def empty_deltas(random: Random, events: Events) -> Events:
    """Empty deltas between others."""
    fuller: Events = []
    for index, event in enumerate(events):
        fuller.append(event)
        field = text_field(event)
        if field is not None and random.random() < 0.5:
            fuller.append(evolve(event, **{field: "", "id": f"empty-{index}"}))
    return fuller


def repeated(random: Random, events: Events) -> Events:
    """Single events sent again, somewhere later."""
    again = list(events)
    for event in random.choices(events, k=5):
        again.insert(random.randint(again.index(event) + 1, len(again)), event)
    return again


def twice(_: Random, events: Events) -> Events:
    """The whole stream twice."""
    return [*events, *events]


def resumed(random: Random, events: Events) -> Events:
    """A dropped connection, resumed from an earlier event."""
    drop = random.randint(0, len(events))
    return [*events[:drop], *events[random.randint(0, drop) :]]


def over_the_wire(_: Random, events: Events) -> Events:
    """Every event through JSON."""
    return [wire.loads_event(wire.dumps_event(event)) for event in events]


def with_subagent(random: Random, events: Events) -> Events:
    """Another agent's stream woven in under a source, with the same ids and keys."""
    child = [
        evolve(event, source="main/helper", id=f"{event.id}-c") for event in reply(random.randint(0, 999))
    ]
    return weave(random, events, child)


def with_other_reply(random: Random, events: Events) -> Events:
    """Another reply's stream woven in, with the same keys."""
    return weave(random, events, reply(random.randint(0, 999), "r2", "f"))


def with_strangers(random: Random, events: Events) -> Events:
    """Unknown and custom events sprinkled in."""
    wider: Events = []
    for event in events:
        wider.append(event)
        if random.random() < 0.3:
            stranger = random.choice(
                (
                    UnknownEvent({"type": "NEWER", "blockId": "text", "delta": "no"}),
                    CustomEvent("tick", {"delta": "no"}),
                    SubagentExposedEvent("sub"),
                )
            )
            wider.append(stranger)
    return wider


def renamed(_: Random, events: Events) -> Events:
    """Event ids and block keys renamed one to one."""
    names: list[Any] = []
    for event in events:
        changes: dict[str, Any] = {"id": f"x{hash(event.id) % 10**9}-{event.id}"}
        if isinstance(event, BlockEvent) and not isinstance(event, HintBlockEvent):
            changes["block_id"] = f"<{event.block_id}>"
        names.append(evolve(event, **changes))
    return names


def orphans(random: Random, events: Events) -> Events:
    """Deltas and Ends that have no Start."""
    wider: Events = []
    for event in events:
        wider.append(event)
        if random.random() < 0.3:
            wider.append(
                random.choice(
                    (
                        TextBlockDeltaEvent("r1", "nobody", "no"),
                        ThinkingBlockEndEvent("r1", "nobody"),
                        DataBlockDeltaEvent("r1", "nobody", "AAAA"),
                        ToolCallDeltaEvent("r1", "nobody", "tool", "no"),
                        ToolCallEndEvent("r1", "nobody", "tool"),
                        ToolResultTextDeltaEvent("r1", "nobody", "tool", "no"),
                        ToolResultEndEvent("r1", "nobody", "tool"),
                    )
                )
            )
    return wider


def repeated_starts_and_ends(random: Random, events: Events) -> Events:
    """Starts and Ends of blocks repeated at once, under ids of their own."""
    wider: Events = []
    for index, event in enumerate(events):
        wider.append(event)
        name = type(event).__name__
        framed = name.endswith(("StartEvent", "EndEvent")) and not name.startswith("ModelCall")
        if framed and name != "AgentEndEvent" and not suspends(event) and random.random() < 0.5:
            wider.append(evolve(event, id=f"again-{index}"))
    return wider


def suspends(event: AgentEvent) -> bool:
    return isinstance(event, ToolResultEndEvent) and event.state is ToolResultState.RUNNING


def nameless(_: Random, events: Events) -> Events:
    """No event but the first names its reply."""
    first, *rest = events
    return [first, *(evolve(event, reply_id="") for event in rest)]


def without_ids(_: Random, events: Events) -> Events:
    """Events without an id."""
    return [evolve(event, id="") for event in events]


def swapped(random: Random, events: Events) -> Events:
    """Neighbours of different keys swapped; Starts, and what is about the whole reply, keep their order."""
    order = list(events)
    for at in random.choices(range(len(order) - 1), k=len(order)):
        left, right = order[at], order[at + 1]
        if key_of(left) and key_of(right) and key_of(left) != key_of(right) and not opens(left, right):
            order[at], order[at + 1] = right, left
    return order


def key_of(event: AgentEvent) -> str | None:
    """The key of a delta or a frame of a block or call; None for what concerns more than that."""
    name = type(event).__name__
    if not name.endswith(("StartEvent", "DeltaEvent", "EndEvent")):
        return None
    kind = next((kind for kind in ("Text", "Thinking", "Data") if name.startswith(kind)), "")
    key = getattr(event, "tool_call_id", None) or getattr(event, "block_id", None)
    return f"{kind}/{key}" if key else None


def opens(*events: AgentEvent) -> bool:
    return all(type(event).__name__.endswith("StartEvent") for event in events)


def keyed_by_kind(_: Random, events: Events) -> Events:
    """Every block key replaced by its kind, where no two blocks of a kind are open at once."""
    changed: Events = []
    opened: set[str] = set()
    for event in events:
        if isinstance(event, BlockEvent) and not isinstance(event, HintBlockEvent):
            kind = next(
                kind for kind in ("Text", "Thinking", "Data") if type(event).__name__.startswith(kind)
            )
            starts = type(event).__name__.endswith("StartEvent")
            if starts and kind in opened:
                return events
            (opened.add if starts else lambda _: None)(kind)
            if type(event).__name__.endswith("EndEvent"):
                opened.discard(kind)
            changed.append(evolve(event, block_id=kind.lower()))
        else:
            changed.append(event)
    return changed


def as_older_servers_write(_: Random, events: Events) -> Events:
    """Legacy names, `source: null`, unknown fields."""
    changed: Events = []
    for event in events:
        raw = {**wire.to_dict(event), "source": None, "newField": {"x": [1]}}
        raw["type"] = LEGACY.get(raw["type"], raw["type"])
        changed.append(wire.from_dict(AgentEvent, raw))
    return changed


LEGACY = {
    "AGENT_START": "REPLY_START",
    "AGENT_END": "RUN_FINISHED",
    "MODEL_CALL_START": "MODEL_CALL_STARTED",
    "MODEL_CALL_END": "MODEL_CALL_ENDED",
    "DATA_BLOCK_START": "BINARY_BLOCK_START",
    "DATA_BLOCK_DELTA": "BINARY_BLOCK_DELTA",
    "DATA_BLOCK_END": "BINARY_BLOCK_END",
    "TOOL_RESULT_DATA_DELTA": "TOOL_RESULT_BINARY_DELTA",
}


NEUTRAL: tuple[Rewriting, ...] = (
    cut_deltas,
    cut_pairs,
    empty_deltas,
    repeated,
    twice,
    resumed,
    over_the_wire,
    with_subagent,
    with_other_reply,
    with_strangers,
    renamed,
    orphans,
    repeated_starts_and_ends,
    nameless,
    without_ids,
    swapped,
    keyed_by_kind,
    as_older_servers_write,
)


def chaos(seed: int) -> Events:
    """Return events in no good order: parts of replies, dropped, doubled, shuffled, renamed."""
    random = Random(seed)
    events = [*reply(seed), *reply(seed + 1, random.choice(("r1", "r2", "")), "g")]
    for _ in range(random.randint(0, 30)):
        at, to = random.randrange(len(events)), random.randrange(len(events))
        match random.randint(0, 5):
            case 0:
                del events[at]
            case 1:
                events.insert(to, events[at])
            case 2:
                events.insert(to, events.pop(at))
            case 3:
                events[at] = evolve(events[at], id="")
            case 4:
                events.insert(to, evolve(events[at], id=f"h{to}-{at}"))
            case _:
                events[at] = evolve(events[at], reply_id=random.choice(("r1", "r2", "")))
    return events
