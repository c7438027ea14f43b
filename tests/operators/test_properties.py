"""What holds for every stream: the fold against the reference, and against itself on rewritten streams."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

import pytest
import reactivex
from attrs import evolve

from agentscope_rx import _json
from agentscope_rx.event import AgentEvent
from agentscope_rx.message import (
    ContentBlock,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    URLSource,
)
from agentscope_rx.operators import ReplyFold, blocks, coalesce, snapshots, to_msg, to_msgs
from tests.reference import reference
from tests.streams import NEUTRAL, Rewriting, chaos, reply

SEEDS = range(40)
BROKEN = range(60)


def fold(events: list[AgentEvent], reply_id: str = "r1") -> Msg:
    state = ReplyFold(reply_id)
    for event in events:
        state.apply(event)
    return state.message()


def plain(message: Msg) -> dict[str, Any]:
    """A message as the reference writes it."""
    return {
        "name": message.name,
        "usage": message.usage,
        "reason": message.generate_reason,
        "output": message.structured_output,
        "content": [plain_block(block) for block in message.content],
    }


def plain_block(block: ContentBlock, inside: bool = False) -> tuple[Any, ...]:
    match block:
        case TextBlock():
            return "text", block.text, block.metadata
        case ThinkingBlock():
            return "thinking", block.thinking, block.metadata
        case DataBlock(source=URLSource() as source):
            return "data", source.url, source.mime_type, block.metadata
        case DataBlock(source=source):
            unknown = source.media_type == "application/octet-stream"
            return "data", source.data, None if unknown else source.media_type, block.metadata
        case HintBlock():
            return "hint", block.id, block.hint, block.source
        case ToolUseBlock():
            return "tool_use", block.id, block.name, block.content, block.input, block.state, block.metadata
        case ToolResultBlock():
            output = [plain_block(part) for part in block.output]
            return "tool_result", block.id, block.name, output, block.state, block.metadata
        case _:
            return "whole", block


def whole(content: list[Any]) -> list[Any]:
    """Write the whole blocks of the reference as ours are written."""
    return [
        plain_block(part[1])
        if part[0] == "whole"
        else (*part[:3], whole(part[3]), *part[4:])
        if part[0] == "tool_result"
        else part
        for part in content
    ]


def told(events: list[AgentEvent], reply_id: str = "r1") -> dict[str, Any]:
    expected = reference(events, reply_id)
    return {**expected, "content": whole(expected["content"])}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_valid_stream_folds_as_the_rules_say(seed: int) -> None:
    events = reply(seed)

    assert plain(fold(events)) == told(events)


@pytest.mark.parametrize("seed", BROKEN)
def test_a_broken_stream_folds_as_the_rules_say(seed: int) -> None:
    events = chaos(seed)

    for reply_id in ("r1", "r2"):
        assert plain(fold(events, reply_id)) == told(events, reply_id)


@pytest.mark.parametrize("rewrite", NEUTRAL, ids=lambda rewrite: rewrite.__name__)
@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_another_way_to_write_a_stream_leaves_the_message_alone(seed: int, rewrite: Rewriting) -> None:
    events = reply(seed)

    assert same(fold(rewrite(Random(seed), events)), fold(events))


def same(a: Msg, b: Msg) -> bool:
    """Compare what is compared: ids of data blocks follow their keys."""
    return (plain(a), a.timestamp) == (plain(b), b.timestamp)


def through(events: list[AgentEvent], *operators: Any) -> list[Any]:
    items: list[Any] = []
    reactivex.from_iterable(events).pipe(*operators).subscribe(items.append)
    return items


@pytest.mark.parametrize("seed", SEEDS)
def test_joined_deltas_make_the_same_message(seed: int) -> None:
    events = reply(seed)
    joined = through(events, coalesce())

    assert same(fold(joined), fold(events))
    assert len(joined) <= len(events)
    assert same(fold(through([*events, *events], coalesce())), fold(events))


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_lost_ends_and_frames_lose_no_text(seed: int) -> None:
    events = reply(seed)
    lost = [event for event in events if not type(event).__name__.endswith("BlockEndEvent")]
    bare = [event for event in events if not type(event).__name__.startswith(("Agent", "ModelCallEnd"))]

    assert sorted(said(fold(lost))) == sorted(said(fold(events)))
    assert said(fold(bare)) == said(fold(events))


def said(message: Msg) -> str:
    return "".join(block.text for block in message.content if isinstance(block, TextBlock))


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_text_and_thinking_are_conserved_each_once(seed: int) -> None:
    events = reply(seed)
    message = fold(events)

    for kind, block, read in (
        ("TextBlockDelta", TextBlock, lambda block: block.text),
        ("ThinkingBlockDelta", ThinkingBlock, lambda block: block.thinking),
    ):
        streamed = "".join(sorted("".join(e.delta for e in events if type(e).__name__.startswith(kind))))
        assert "".join(sorted("".join(read(b) for b in message.get_content_blocks(block)))) == streamed


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_a_prefix_has_the_first_blocks_and_the_beginnings_of_their_texts(seed: int) -> None:
    events = reply(seed)
    message = fold(events)

    for length in range(len(events)):
        prefix = fold(events[:length]).content
        kinds = [type(block) for block in message.content]
        assert [type(block) for block in prefix] == kinds[: len(prefix)]
        for part, block in zip(prefix, message.content, strict=False):
            if isinstance(part, TextBlock) and isinstance(block, TextBlock):
                assert block.text.startswith(part.text)


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_two_replies_in_one_stream_fold_as_each_would_alone(seed: int) -> None:
    one, two = reply(seed), reply(seed + 1, "r2", "f")
    woven = two_in_one(Random(seed), one, two)

    assert fold(woven, "r1") == fold(one, "r1")
    assert fold(woven, "r2") == fold(two, "r2")
    made = {message.id: message for message in through(woven, to_msgs())}
    assert made == {"r1": fold(one, "r1"), "r2": fold(two, "r2")}


def two_in_one(random: Random, *streams: list[AgentEvent]) -> list[AgentEvent]:
    rest = [list(stream) for stream in streams]
    woven: list[AgentEvent] = []
    while any(rest):
        stream = random.choice([stream for stream in rest if stream])
        woven.append(stream.pop(0))
    return woven


@pytest.mark.parametrize("seed", BROKEN)
def test_whatever_comes_is_folded_and_nothing_is_raised(seed: int) -> None:
    events: list[Any] = chaos(seed)
    for stranger in ("text", None, 7, object):
        events.insert(Random(seed).randint(0, len(events)), stranger)
    copies = deepcopy(events)
    errors: list[Exception] = []

    for operator in (to_msg(), to_msg(scope="call"), to_msgs(), to_msgs(scope="call"), snapshots(), blocks()):
        reactivex.from_iterable(events).pipe(operator).subscribe(lambda _: None, errors.append)

    assert errors == []
    assert events == copies


@pytest.mark.parametrize("seed", [*range(0, 40, 5), *range(1000, 1010)])
def test_each_snapshot_is_the_fold_of_what_had_come(seed: int) -> None:
    events = reply(seed) if seed < 1000 else chaos(seed)
    prefixes = [fold(events[: length + 1]) for length in range(len(events))]

    at_once: list[Msg] = []
    reactivex.from_iterable(events).pipe(snapshots("r1")).subscribe(lambda now: at_once.append(now.message))
    assert at_once == prefixes
    assert [snapshot.message for snapshot in through(events, snapshots("r1"))] == prefixes
    late = through(events, snapshots("r1"))
    order = Random(seed).sample(range(len(events)), len(events))
    assert {at: late[at].message for at in order} == dict(enumerate(prefixes))
    assert [snapshot.message for snapshot in late] == prefixes


@pytest.mark.parametrize("seed", [*range(0, 40, 5), *range(1000, 1010)])
def test_every_cut_goes_on_with_any_overlap(seed: int) -> None:
    random = Random(seed)
    events = reply(seed) if seed < 1000 else with_names(chaos(seed))
    expected = fold(events)

    for cut, snapshot in enumerate(through(events, snapshots("r1")), start=1):
        checkpoint = _json.loads(_json.dumps(snapshot.checkpoint))
        state = ReplyFold(seed=checkpoint)
        assert state.message() == snapshot.message
        for event in events[random.randint(0, cut) :]:
            state.apply(event)
        assert state.message() == expected


def with_names(events: list[AgentEvent]) -> list[AgentEvent]:
    """Give all events an id and a reply: without, what comes again cannot be told from what is new."""
    return [
        evolve(event, id=event.id or f"n{index}", reply_id=event.reply_id or "r1")
        for index, event in enumerate(events)
    ]


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_the_blocks_are_the_content_of_the_message(seed: int) -> None:
    events = reply(seed)

    assert tuple(through(events, blocks())) == fold(events).content


def test_others_leave_nothing_behind() -> None:
    state = ReplyFold("r1")
    for event in reply(0):
        state.apply(event)
    before = state.checkpoint()
    for event in [*reply(1, "r2", "f"), *(evolve(event, source="main/x") for event in reply(2, "r1", "g"))]:
        assert state.apply(event) is False

    after = state.checkpoint()
    assert {**after, "ours": True} == before
