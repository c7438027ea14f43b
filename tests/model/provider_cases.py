"""Recorded provider streams, and a small fold to compare them by.

They are in `tests/cases/provider`, and beside the tests of a provider in `recorded`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from agentscope_rx._frames import FrameReader
from agentscope_rx.errors import IncompleteStreamError, ModelResponseError
from agentscope_rx.event import AgentEvent, AgentStartEvent, ModelCallEndEvent, TextBlockDeltaEvent
from agentscope_rx.message import Msg, TextBlock, ThinkingBlock, ToolUseBlock
from agentscope_rx.model import ChatResponse, ReplyIds, to_events
from agentscope_rx.model._provider import Decoder, decoded
from agentscope_rx.operators import to_msg

HERE = Path(__file__).parent
FILES = sorted((HERE.parent / "cases" / "provider").glob("*.json")) + sorted(HERE.glob("*/recorded/*.json"))
NETWORK_CHUNK = 16 * 1024

Decode = Callable[[Iterable[bytes]], Iterator[ChatResponse]]


def cases(kind: str) -> list[dict[str, Any]]:
    """The cases of a provider's format."""
    found = [json.loads(file.read_text(encoding="utf-8")) for file in FILES]
    return [case for case in found if case["kind"] == kind]


def decode_with(reader: FrameReader, decoder: Decoder) -> Decode:
    """What a model does with the bytes of one answer, without the network."""

    def decode(chunks: Iterable[bytes]) -> Iterator[ChatResponse]:
        for chunk in chunks:
            yield from decoded(decoder, reader.feed(chunk))
            if decoder.done:
                break
        else:
            yield from decoded(decoder, reader.close())
        decoder.close()

    return decode


def chunks_of(case: dict[str, Any], size: int | None = None) -> list[bytes]:
    """The bytes as they came from the network, or cut again."""
    encode: Callable[[str], bytes] = (
        base64.b64decode if case["encoding"] == "base64" else lambda text: text.encode("latin-1")
    )
    chunks: list[bytes] = []
    for chunk in case["chunks"]:
        if isinstance(chunk, dict):
            body = encode(chunk["repeat"]) * chunk["times"]
            chunks += [body[at : at + NETWORK_CHUNK] for at in range(0, len(body), NETWORK_CHUNK)]
        else:
            chunks.append(encode(chunk))
    if size is None:
        return chunks
    data = b"".join(chunks)
    return [data[at : at + size] for at in range(0, len(data), size)]


def responses(decode: Decode, chunks: Iterable[bytes]) -> Observable[ChatResponse]:
    """What a decoder makes of bytes, as a model would stream it."""

    def subscribe(
        observer: abc.ObserverBase[ChatResponse], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        try:
            for response in decode(chunks):
                observer.on_next(response)
        except Exception as error:
            observer.on_error(error)
        else:
            observer.on_completed()
        return Disposable()

    return Observable(subscribe)


def check(case: dict[str, Any], decode: Decode, chunks: list[bytes]) -> None:
    """Check what a case expects, on the events and on the message that they make."""
    answer = responses(decode, chunks).pipe(to_events(reply_id="r", model_name="m", ids=ReplyIds()))
    events: list[AgentEvent] = [AgentStartEvent("s", "r", "m")]
    errors: list[Exception] = []
    answer.subscribe(events.append, errors.append)
    check_events(case, events, errors, uncut="chunks" in case and chunks == chunks_of(case))


def check_events(
    case: dict[str, Any], events: list[AgentEvent], errors: list[Exception], *, uncut: bool = False
) -> None:
    """The same of the events of an answer; `uncut` if its chunks came as they were recorded."""
    expected = case["expected"]

    check_grammar(events[1:])
    check_error(expected, errors)
    end = events[-1]
    assert isinstance(end, ModelCallEndEvent)
    if "finish_reason" in expected:
        assert end.metadata.get("finishReason") == expected["finish_reason"]
    if "deltas" in expected and uncut:
        assert [event.delta for event in events if isinstance(event, TextBlockDeltaEvent)] == expected[
            "deltas"
        ]
    if expected["usage"] is not None:
        assert end.usage is not None
        assert (end.usage.input_tokens, end.usage.output_tokens) == (
            expected["usage"]["input_tokens"],
            expected["usage"]["output_tokens"],
        )
    check_message(expected, fold(events))
    check_calls(expected, fold(events).get_content_blocks(ToolUseBlock))


def fold(events: list[AgentEvent]) -> Msg:
    from reactivex import from_iterable

    return from_iterable(events).pipe(to_msg()).run()


def check_grammar(events: list[AgentEvent]) -> None:
    """Every Start has its End, deltas lie between them and are not empty, and all can be written."""
    open_blocks: set[tuple[str, str]] = set()
    for event in events:
        kind, _, step = event.type.rpartition("_")
        key = (kind, getattr(event, "block_id", getattr(event, "tool_call_id", "")))
        match step:
            case "START":
                assert key not in open_blocks
                open_blocks.add(key)
            case "DELTA":
                assert key in open_blocks
                assert event.delta  # type: ignore[attr-defined]
                event.delta.encode()  # type: ignore[attr-defined]
            case _:
                open_blocks.remove(key)
    assert open_blocks == set()
    assert [event.type for event in (events[0], events[-1])] == ["MODEL_CALL_START", "MODEL_CALL_END"]


def check_error(expected: dict[str, Any], errors: list[Exception]) -> None:
    if expected["error"] is None:
        assert errors == []
        return
    classes = {"provider_error": ModelResponseError, "incomplete_stream": IncompleteStreamError}
    (error,) = errors
    assert isinstance(error, classes[expected["error"]])
    assert expected.get("error_contains", "") in str(error)


def check_message(expected: dict[str, Any], msg: Msg) -> None:
    text = "".join(block.text for block in msg.get_content_blocks(TextBlock))
    if "text" in expected:
        assert text == expected["text"]
    if "text_len" in expected:
        assert len(text) == expected["text_len"]
        assert hashlib.sha256(text.encode()).hexdigest() == expected["text_sha256"]
    thoughts = msg.get_content_blocks(ThinkingBlock)
    assert "".join(block.thinking for block in thoughts) == expected["thinking"]
    if "thinking_signature" in expected:
        signatures = [(block.metadata or {}).get("signature") for block in thoughts]
        assert signatures == [expected["thinking_signature"]]
    if "block_order" in expected:
        assert [block.type for block in msg.content] == expected["block_order"]
    for block in msg.content:
        assert getattr(block, "text", "-")
        assert getattr(block, "thinking", "-")


def check_calls(expected: dict[str, Any], calls: list[ToolUseBlock]) -> None:
    assert len(calls) == len(expected["tool_calls"])
    assert len({call.id for call in calls}) == len(calls)
    for call, wanted in zip(calls, expected["tool_calls"], strict=True):
        assert call.id == wanted["id"] or (wanted["id"] == "*" and call.id)
        assert call.name == wanted["name"]
        assert call.input == wanted["input"]
        assert call.input_error == wanted.get("input_error", False)
        if "raw" in wanted:
            assert call.content == wanted["raw"]
