"""The browser's fold, run in Node: the same cases, and the same messages as the fold in Python makes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
import reactivex

from agentscope_rx import _json, wire
from agentscope_rx._frames import SSEReader
from agentscope_rx.event import AgentEvent
from agentscope_rx.identity import format_timestamp
from agentscope_rx.message import GenerateReason, Msg, ToolCallState, ToolResultState
from agentscope_rx.operators import ReplyFold, to_msgs
from agentscope_rx.operators._fold._base64 import join_base64
from tests.case_streams import FILES, RECONSTRUCT, REPORTED, SSE, Case, difference, full
from tests.nodejs import NodeProgram
from tests.operators.test_to_msg import fold, pauses, seen
from tests.streams import NEUTRAL, Rewriting, chaos, reply

EVERY = RECONSTRUCT + REPORTED


@pytest.fixture(scope="module")
def js() -> Iterator[NodeProgram]:
    with NodeProgram(Path(__file__).parent / "js" / "program.mjs") as program:
        yield program


def named(cases: Iterable[Case]) -> Any:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in cases])


def raw(case: Case) -> list[Any]:
    """The events as they are written in the case, short forms aside; the client is to read them."""
    return full(case.raw["events"])


def written(events: Iterable[AgentEvent]) -> list[Any]:
    return [wire.to_dict(event) for event in events]


def read(message: dict[str, Any]) -> Msg:
    """A message of the client as a value of ours."""
    reason = message.pop("generateReason")
    metadata = message["metadata"] | ({} if reason is None else {"agentscope_generate_reason": reason})
    return wire.from_dict(Msg, message | {"metadata": metadata})


def folded(js: NodeProgram, *parts: Any, **arguments: Any) -> Msg:
    return read(js("fold", parts=parts, **arguments)["message"])


@named(EVERY)
def test_the_events_make_the_message(js: NodeProgram, case: Case) -> None:
    made = js("fold", parts=[raw(case)], replyId=case.reply_id, scope=case.scope)
    expected = [block for block in case.message.get("content", ()) if "inputError" in block]
    message = read(made["message"])

    assert difference(case.message, message) is None
    assert all((block["id"] in made["inputErrors"]) is block["inputError"] for block in expected)
    assert nameless(message) == nameless(fold(case.events, reply_id=case.reply_id, scope=case.scope))


def nameless(message: Msg) -> Any:
    """A message without the ids that blocks get only when they are read."""

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(item) for item in value]
        if not isinstance(value, dict):
            return value
        unnamed = value.get("type") in ("data", "hint")
        return {key: plain(item) for key, item in value.items() if not (unnamed and key == "id")}

    return plain(wire.to_dict(message))


@named(case for case in EVERY if "cuts" in case.raw)
def test_the_parts_make_what_the_whole_does(js: NodeProgram, case: Case) -> None:
    cuts = [0, *case.raw["cuts"], len(case.events)]
    parts = [raw(case)[start:end] for start, end in pairwise(cuts)]

    message = folded(js, *parts, replyId=case.reply_id, scope=case.scope)

    assert difference(case.message, message) is None


@named(case for case in EVERY if len(case.events) <= 40)
def test_every_cut_and_overlap_makes_what_the_whole_does(js: NodeProgram, case: Case) -> None:
    overlaps = (0, 2, len(case.events)) if all(event.id for event in case.events) else (0,)

    assert js("cuts", events=raw(case), overlaps=overlaps, replyId=case.reply_id, scope=case.scope) == []


@named(case for case in EVERY if "cuts" in case.raw and pauses(case))
def test_a_resumed_reply_folds_on_from_the_paused_message(js: NodeProgram, case: Case) -> None:
    cuts = [0, *case.raw["cuts"], len(case.events)]
    paused: Any = None
    for start, end in pairwise(cuts):
        paused = js("fold", parts=[raw(case)[start:end]], replyId=case.reply_id, seed=paused)["message"]

    assert difference(case.message, read(paused)) is None


@named(case for case in REPORTED if "messages" in case.expected)
def test_each_reply_of_a_stream_makes_its_own_message(js: NodeProgram, case: Case) -> None:
    for reply_id, expected in case.expected["messages"].items():
        source = expected.get("source")
        made = (
            js("source", events=raw(case), source=source, replyId=reply_id)
            if source
            else js("toMsg", events=raw(case), replyId=reply_id)
        )
        message = read(made)

        assert message.id == reply_id
        assert difference({"content": expected["content"]}, message) is None


@named(case for case in REPORTED if "complete" in case.expected)
def test_a_reply_is_complete_when_it_has_ended_and_nothing_has_started_it_again(
    js: NodeProgram, case: Case
) -> None:
    made = js("fold", parts=[raw(case)], replyId=case.reply_id)

    assert made["complete"] is case.expected["complete"]


@named(case for case in REPORTED if "ignored" in case.expected)
def test_ignored_events_change_nothing(js: NodeProgram, case: Case) -> None:
    events = raw(case)
    kept = [event for event in events if event.get("id") not in case.expected["ignored"]]

    assert len(kept) == len(events) - len(case.expected["ignored"])
    assert folded(js, kept, replyId=case.reply_id) == folded(js, events, replyId=case.reply_id)


@named(case for case in REPORTED if {"pending", "dangling"} & case.expected.keys())
def test_calls_that_wait_or_hang_are_told_by_their_states(js: NodeProgram, case: Case) -> None:
    content = wire.to_dict(folded(js, raw(case), replyId=case.reply_id))["content"]
    calls = [block for block in content if block["type"] == "tool_use"]
    final = {b["id"] for b in content if b["type"] == "tool_result" and b["state"] != ToolResultState.RUNNING}

    waiting = {ToolCallState.ASKING, ToolCallState.SUBMITTED}
    pending = [call["id"] for call in calls if call["state"] in waiting]
    assert case.expected.get("pending", pending) == pending
    dangling = [call["id"] for call in calls if call["id"] not in final and call["id"] not in pending]
    assert case.expected.get("dangling", dangling) == dangling


@named(case for case in REPORTED if "checkpoints" in case.raw)
def test_every_checkpoint_makes_the_message(js: NodeProgram, case: Case) -> None:
    events = raw(case)
    for cut in case.raw["checkpoints"]:
        for start in range(cut + 1):
            message = folded(js, events[:cut], events[start:], replyId=case.reply_id)
            assert difference(case.message, message) is None


@named(case for case in REPORTED if "terminate" in case.raw)
def test_a_failing_source_leaves_to_msgs_with_the_message_before_the_error(
    js: NodeProgram, case: Case
) -> None:
    message, error = js("toMsgs", events=raw(case), fail="the connection broke")

    assert case.raw["terminate"] == "error"
    assert error == "the connection broke"
    assert difference(case.message, read(message)) is None
    with pytest.raises(AssertionError, match="the connection broke"):
        js("toMsg", events=raw(case), fail="the connection broke")


@named(case for case in REPORTED if "startedAtUtc" in case.expected)
def test_the_message_has_the_time_of_its_start_in_utc(js: NodeProgram, case: Case) -> None:
    message = folded(js, raw(case), replyId=case.reply_id)

    assert message.timestamp == case.expected["startedAtUtc"].replace("T", " ").replace("Z", ".000")


@named(SSE)
def test_a_stream_of_bytes_makes_the_message(js: NodeProgram, case: Case) -> None:
    connections = [case.raw["chunks"], *(again.get("chunks", []) for again in case.raw.get("reconnects", []))]
    events: list[Any] = []
    bad = 0
    for chunks in filter(None, connections):
        made = js("sse", chunks=[packed(case, chunk) for chunk in chunks])
        texts = [frame["data"] for frame in made["frames"] if frame["data"].strip()]
        for event in js("events", texts=texts):
            known = "refused" not in event and event["type"] != "UNKNOWN"
            bad += not known
            events += [event] if known else []

    ids = list(dict.fromkeys(event["id"] for event in events))
    assert case.expected.get("eventIds", ids) == ids
    assert bad == case.expected.get("badFrames", 0)
    assert made["lastEventId"] == case.expected["lastEventId"]
    assert made["retry"] == case.expected.get("retryMs")
    assert difference(case.message, folded(js, events, replyId=case.reply_id)) is None
    assert js("cuts", events=events, overlaps=[0, 2], replyId=case.reply_id) == []


def packed(case: Case, chunk: str) -> str:
    encoding = case.raw["encoding"]
    return chunk if encoding == "base64" else base64.b64encode(chunk.encode(encoding)).decode()


@pytest.mark.parametrize("file", [raw for raw in FILES if raw["kind"] == "events_roundtrip"])
def test_what_is_no_whole_character_comes_through(js: NodeProgram, file: dict[str, Any]) -> None:
    (event,) = js("events", texts=[json.dumps(event) for event in file["events"]])

    assert event["delta"] in file["expected"]["decoded_delta_one_of"]


def test_every_handed_stream_of_events_has_been_folded() -> None:
    kinds = {"events": REPORTED, "events_sse": SSE}

    assert len(RECONSTRUCT) == 242
    for file in FILES:
        assert file["kind"] == "events_roundtrip" or file["id"] in {case.id for case in kinds[file["kind"]]}


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.parametrize("stream", [reply, chaos])
def test_random_streams_make_the_message_that_python_makes(js: NodeProgram, seed: int, stream: Any) -> None:
    events = stream(seed)
    made = js("fold", parts=[written(events)], replyId="r1")
    ours = ReplyFold("r1")
    for event in events:
        ours.apply(event)

    assert read(made["message"]) == ours.message()
    assert (made["complete"], made["empty"]) == (ours.complete, ours.empty)


@pytest.mark.parametrize("rewriting", NEUTRAL)
@pytest.mark.parametrize("seed", range(8))
def test_rewritten_streams_make_the_message_that_python_makes(
    js: NodeProgram, seed: int, rewriting: Rewriting
) -> None:
    events = rewriting(Random(seed), reply(seed))

    assert folded(js, written(events), replyId="r1") == fold(events, reply_id="r1")


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("stream", [reply, chaos])
def test_a_checkpoint_of_one_is_gone_on_from_by_the_other(js: NodeProgram, seed: int, stream: Any) -> None:
    events = stream(seed)
    cut = Random(seed).randint(0, len(events))
    begun = ReplyFold("r1")
    for event in events[:cut]:
        begun.apply(event)
    whole = begun.copy()
    for event in events[cut:]:
        whole.apply(event)

    from_python = js("fold", parts=[written(events[cut:])], seed=saved(begun.checkpoint()))
    from_js = ReplyFold(seed=js("fold", parts=[written(events[:cut])], replyId="r1")["checkpoint"])
    assert from_js.message() == begun.message()
    for event in events[cut:]:
        from_js.apply(event)

    assert read(from_python["message"]) == whole.message() == from_js.message()


def saved(checkpoint: Any) -> Any:
    return _json.loads(_json.dumps(checkpoint))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("stream", [reply, chaos])
def test_after_every_event_the_message_is_that_of_the_prefix_and_stays_it(
    js: NodeProgram, seed: int, stream: Any
) -> None:
    made = js("prefixes", events=written(stream(seed)), replyId="r1")

    assert made["kept"] == made["early"] == made["folds"]


@pytest.mark.parametrize("seed", range(40))
def test_replies_side_by_side_make_the_messages_that_python_makes(js: NodeProgram, seed: int) -> None:
    events = chaos(seed)
    ours = seen(reactivex.from_iterable(events).pipe(to_msgs()))

    assert [read(message) for message in js("toMsgs", events=written(events))] == ours


@pytest.mark.parametrize("seed", range(40))
def test_bytes_cut_anywhere_are_read_as_python_reads_them(js: NodeProgram, seed: int) -> None:
    random = Random(seed)
    pieces = (
        "data",
        ":",
        " ",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "id: 7",
        "event: gap",
        "retry: 9",
        "x",
        "é",
        "🚀",
        "\x00",
    )
    stream = ("\ufeff" * random.randint(0, 1) + "".join(random.choices(pieces, k=80))).encode()
    stream += random.randbytes(3) + b"\n\ndata: end\n\n"
    cuts = sorted(random.choices(range(len(stream)), k=random.randint(0, 30)))
    chunks = [stream[start:end] for start, end in pairwise([0, *cuts, len(stream)])]

    reader = SSEReader()
    ours = [frame for chunk in chunks for frame in reader.feed(chunk)]
    made = js("sse", chunks=[base64.b64encode(chunk).decode() for chunk in chunks])

    frames = [(frame["data"], frame["event"], frame["id"]) for frame in made["frames"]]
    assert frames == [(frame.data, frame.event, frame.id) for frame in ours]
    assert (made["lastEventId"], made["retry"]) == (reader.last_event_id, reader.retry)


def test_base64_is_joined_as_python_joins_it(js: NodeProgram) -> None:
    random = Random(7)
    texts = ["".join(random.choices("AQg+/==\n %", k=random.randint(0, 14))) for _ in range(4_000)]
    texts += [base64.b64encode(random.randbytes(n)).decode() + "=" * (n % 3) for n in range(40)]

    assert js("base64", texts=texts) == [join_base64(text) for text in texts]


def test_times_are_read_as_python_reads_them(js: NodeProgram) -> None:
    texts = [
        "", "yesterday", "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.6789+02:00", "2026-01-02 03:04",
        "2026-01-02", "20260102T030405Z", "2026-01-02T03", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z",
        "0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-01:00", "2026-01-02T03:60:00Z",
        "2024-02-29T23:59:59,5Z", "2026-01-02T03:04:05+0530", "2026-01-02T03:04:05-00:30:15",
        "0099-01-01T00:00:00Z",
        "2026-01-02T03:04:05.678Z ", "2026-1-2T03:04:05Z",
    ]  # fmt: skip

    assert dict(zip(texts, js("times", texts=texts), strict=True)) == {t: format_timestamp(t) for t in texts}


def test_arguments_are_strict_json(js: NodeProgram) -> None:
    texts = [
        "{}", ' {"a": 1} ', '{"a":1,"a":2}', "[1]", "1", "", "{", '{"a":NaN}',
        '{"a":1e999}', '{"a":[-1e999]}',
        '{"n": [123456789012345678901234567890, -9007199254740993, 9007199254740991, 1.2345678901234567890]}',
        '{"1234567890123456789": "\\"1234567890123456789"}',
        '{"__proto__": {"x": 1}}', '\ufeff{}', "{} {}", "{'a': 1}",
        '{"a": "\\ud83d"}', '{"a": 01}',
        '{"a":' * 190 + "1" + "}" * 190, '{"a":' * 191 + "1" + "}" * 191,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
    ]  # fmt: skip
    assert js("objects", texts=texts) == [_json.loads_object(text) for text in texts]


def test_names_that_objects_have_already_are_keys_like_others(js: NodeProgram) -> None:
    text, call = {"blockId": "__proto__"}, {"toolCallId": "constructor"}
    events: list[Any] = [
        {"type": "TEXT_BLOCK_START", "id": "constructor", **text},
        {"type": "TEXT_BLOCK_DELTA", "id": "__proto__", "delta": "a", **text},
        {"type": "TOOL_CALL_START", "toolCallName": "t", **call},
        {"type": "TOOL_CALL_DELTA", "delta": '{"__proto__": 1}', **call},
        {"type": "constructor"},
    ]
    events = [event | {"replyId": "__proto__"} for event in events]
    for parts in ([events], [events[:1], events], [events[:3], events[3:]]):
        message = folded(js, *parts)
        first, second = wire.to_dict(message)["content"]
        assert (message.id, first["text"], second["input"]) == ("__proto__", "a", {"__proto__": 1})


def test_what_is_no_event_says_nothing(js: NodeProgram) -> None:
    events = [
        None,
        7,
        "x",
        [],
        {},
        {"type": 3},
        {"type": "TEXT_BLOCK_START", "blockId": 7},
        {"type": "NEWER"},
    ]
    message = folded(js, [*events, {"type": "AGENT_END", "replyId": "r", "generateReason": "interrupted"}])

    assert (message.content, message.generate_reason) == ((), GenerateReason.INTERRUPTED)
