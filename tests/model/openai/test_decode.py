"""Chunks of chat completions, as many servers send them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentscope_rx._frames import Frame, SSEReader
from agentscope_rx.errors import (
    BadModelOutputError,
    ContentFilterError,
    IncompleteStreamError,
    ModelResponseError,
)
from agentscope_rx.message import Base64Source, ChatUsage, DataBlock, TextBlock, ThinkingBlock, URLSource
from agentscope_rx.model import ToolCallChunk
from agentscope_rx.model.openai._decode import ChunkDecoder, decode_chunk
from tests.model.provider_cases import check, decode_with


def event(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice], **more})}\n\n".encode()


def fragment(arguments: str, id: str | None = None, name: str | None = None) -> bytes:
    call = {"index": 0, "id": id, "function": {"name": name, "arguments": arguments}}
    return event({"tool_calls": [call]})


ESCAPES = '{"t":"\\u00e9\\ud83d\\ude00\\\\\\""}'


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        pytest.param(
            b"\xef\xbb\xbf: hi\r\nretry: 3000\r\nid: 1\r\nevent: message\r\ndata:"
            + event({"content": "a"}, "stop").removeprefix(b"data: ").replace(b"\n", b"\r\n"),
            {"text": "a", "finish_reason": "stop"},
            id="everything that frames may have",
        ),
        pytest.param(
            event({"content": "a"}, usage={"prompt_tokens": 3, "completion_tokens": 1})
            + event({"content": "b"}, "stop", usage={"prompt_tokens": 3, "completion_tokens": 2}),
            {"text": "ab", "usage": {"input_tokens": 3, "output_tokens": 2}},
            id="usage counts on",
        ),
        pytest.param(event({"content": "a"}) + b"data:[DONE]\n\n", {"text": "a"}, id="done is a finish"),
        pytest.param(
            fragment("", "c", "f") + b"".join(map(fragment, ESCAPES)) + event({}, "stop"),
            {"tool_calls": [{"id": "c", "name": "f", "input": {"t": 'é😀\\"'}}], "finish_reason": "stop"},
            id="cuts inside escapes, and a finish that does not speak of the call",
        ),
        pytest.param(
            event({"content": "a"}, "length"),
            {"text": "a", "finish_reason": "length"},
            id="the limit was reached",
        ),
    ],
)
def test_further_habits_mean_what_they_say(stream: bytes, expected: dict[str, Any], size: int) -> None:
    nothing = {"text": "", "thinking": "", "tool_calls": [], "usage": None, "error": None}
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]

    check({"expected": nothing | expected}, decode_with(SSEReader(), ChunkDecoder("m")), chunks)


@pytest.mark.parametrize(
    ("delta", "parts"),
    [
        ({"content": "a"}, [TextBlock("a")]),
        ({"content": [{"type": "text", "text": "a"}, {"text": "b"}, 3]}, [TextBlock("a"), TextBlock("b")]),
        ({"content": [{"thinking": [{"type": "text", "text": "h"}, {"text": "m"}]}]}, [ThinkingBlock("hm")]),
        ({"content": [{"type": "thinking", "thinking": "hm"}]}, [ThinkingBlock("hm")]),
        ({"refusal": "I cannot"}, [TextBlock("I cannot")]),
        ({"reasoning_content": "a"}, [ThinkingBlock("a")]),
        ({"reasoning": "a"}, [ThinkingBlock("a")]),
        ({"reasoning": "a", "reasoning_content": "a"}, [ThinkingBlock("a")]),
        ({"content": "b", "reasoning_content": "a"}, [ThinkingBlock("a"), TextBlock("b")]),
        ({"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}]},
         [ToolCallChunk('{"a":1}', "c", "f")]),
        ({"tool_calls": [{"index": "2", "id": 7, "function": None}]}, [ToolCallChunk("", "7", "", 2)]),
        ({"tool_calls": [{"index": True}, None, {"index": "x"}, {"index": 1.0}]},
         [ToolCallChunk(), ToolCallChunk(), ToolCallChunk(), ToolCallChunk(index=1)]),
        ({"tool_calls": [{"id": "c", "extra_content": {"google": {"thought_signature": "s"}}}]},
         [ToolCallChunk("", "c", metadata={"extra_content": {"google": {"thought_signature": "s"}}})]),
        ({"function_call": {"name": "f", "arguments": "{"}}, [ToolCallChunk("{", "", "f", 0)]),
        ({"content": 3, "tool_calls": {}, "reasoning": [], "function_call": "f"}, []),
        ({"role": "assistant"}, []),
    ],
)  # fmt: skip
def test_deltas_of_many_servers_are_understood(delta: dict[str, Any], parts: list[Any]) -> None:
    assert list(decode_chunk({"choices": [{"delta": delta}]}).content) == parts


def test_images_are_data() -> None:
    images = [{"image_url": {"url": "data:image/png;base64,QUJD"}}, {"image_url": {"url": "http://x/y"}}, {}]
    blocks = decode_chunk({"choices": [{"delta": {"images": images}}]}).content

    assert [block.source for block in blocks if isinstance(block, DataBlock)] == [
        Base64Source("image/png", "QUJD"),
        URLSource("http://x/y"),
    ]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}, ChatUsage(5, 7)),
        (
            {
                "prompt_tokens": 5,
                "completion_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 3},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            ChatUsage(5, 7, 3, reasoning_tokens=2),
        ),
        (
            {"prompt_tokens": 5, "prompt_cache_hit_tokens": 4, "prompt_tokens_details": None},
            ChatUsage(5, 0, 4),
        ),
        ({"prompt_tokens": None, "completion_tokens": "7"}, ChatUsage(0, 7)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({}, None),
        (None, None),
    ],
)
def test_usage_is_what_was_counted(usage: Any, expected: ChatUsage | None) -> None:
    assert decode_chunk({"choices": [], "usage": usage}).usage == expected
    assert decode_chunk({"choices": [{"delta": {}, "usage": usage}]}).usage == expected


@pytest.mark.parametrize("finish", [None, "", "null", 3])
def test_what_is_no_finish_reason_does_not_finish(finish: Any) -> None:
    assert decode_chunk({"choices": [{"delta": {}, "finish_reason": finish}]}).finish_reason == ""


@pytest.mark.parametrize(
    "chunk", [{}, {"choices": None}, {"choices": [None]}, {"choices": {}}, {"choices": "x"}]
)
def test_chunks_without_content_are_passed_over(chunk: dict[str, Any]) -> None:
    assert ChunkDecoder("m").feed_json(chunk) is None


def test_a_whole_answer_is_understood_and_a_message_beside_a_delta_is_not_said_twice() -> None:
    message = {"role": "assistant", "content": "a", "tool_calls": [{"id": "c", "function": {"name": "f"}}]}
    choice = {"message": message, "finish_reason": "tool_calls"}

    response = decode_chunk({"id": "x", "choices": [choice]})
    assert response.content == (TextBlock("a"), ToolCallChunk("", "c", "f"))
    assert (response.finish_reason, response.id) == ("tool_calls", "x")
    assert decode_chunk({"choices": [{**choice, "delta": {}}]}).content == ()


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (Frame('{"error": "down"}'), "down"),
        (
            Frame('{"error": {"message": "down", "type": "server_error", "code": 500}}'),
            "down (server_error, 500)",
        ),
        (Frame('{"error": {"code": "E1"}}'), '{"code":"E1"} (E1)'),
        (Frame('{"object": "error", "message": "down", "code": 40}'), "down (40)"),
        (Frame('{"message": "down"}'), "down"),
        (Frame('{"detail": "down"}', "error"), "down"),
        (Frame('{"choices": [], "error": {"message": "down"}}'), "down"),
        (Frame('{"choices": [{"delta": {}, "finish_reason": "error"}]}'), "finish_reason 'error'"),
        (Frame("down", "error"), "down"),
        (Frame('"down"', "error"), "down"),
    ],
)
def test_errors_are_seen_in_all_their_shapes(frame: Frame, words: str) -> None:
    with pytest.raises(ModelResponseError) as caught:
        ChunkDecoder("m").feed(frame)

    assert str(caught.value) == f"m failed while it answered: {words}" or words in str(caught.value)


@pytest.mark.parametrize("data", ['{"error": null}', '{"error": {}}', '{"error": false, "choices": []}'])
def test_an_empty_error_is_none(data: str) -> None:
    assert ChunkDecoder("m").feed(Frame(data)) is None


def test_what_is_no_json_is_an_error_unless_the_stream_was_cut_there() -> None:
    decoder = ChunkDecoder("m")
    with pytest.raises(BadModelOutputError, match=r"m sent an event that is no JSON.*oops"):
        decoder.feed(Frame('{"a": oops'))
    with pytest.raises(BadModelOutputError):
        decoder.feed(Frame("[" * 100_000))

    assert decoder.feed(Frame('{"a": "cu', complete=False)) is None
    with pytest.raises(IncompleteStreamError, match="the answer is cut"):
        decoder.close()


@pytest.mark.parametrize("last", ["[DONE]", '{"choices": [{"delta": {}, "finish_reason": "stop"}]}'])
def test_a_finish_reason_or_done_makes_an_answer_whole(last: str) -> None:
    decoder = ChunkDecoder("m")
    assert not decoder.whole

    decoder.feed(Frame(last))
    assert decoder.whole
    decoder.close()


def test_an_answer_that_the_provider_cut_for_its_content_is_an_error_behind_what_came() -> None:
    decoder = ChunkDecoder("m")
    for frame in ('{"choices": [{"delta": {"content": "a"}, "finish_reason": "content_filter"}]}', "[DONE]"):
        decoder.feed(Frame(frame))

    with pytest.raises(ContentFilterError, match="m held the answer back: content_filter"):
        decoder.close()


def detail(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": f"reasoning.{kind}", "format": "f", **more}


def thoughts(
    *deltas: dict[str, Any], last: str = '{"choices": [{"delta": {}, "finish_reason": "stop"}]}'
) -> list[Any]:
    """The parts of an answer of deltas."""
    decoder = ChunkDecoder("m")
    frames = [Frame(json.dumps({"choices": [{"delta": delta}]})) for delta in deltas]
    told = [decoder.feed(frame) for frame in [*frames, Frame(last)]]
    decoder.close()
    return [part for response in told if response is not None for part in response.content]


SIGNED = [detail("text", text="Let me see", signature="s", index=0)]


@pytest.mark.parametrize("last", ["[DONE]", '{"choices": [{"delta": {}, "finish_reason": "stop"}]}'])
def test_reasoning_details_close_the_thinking_that_they_are_of(last: str) -> None:
    see = {"reasoning": "see", "reasoning_details": [detail("text", text="see", index=0)]}
    sign = {"content": "", "reasoning_details": [detail("text", signature="s", index=0)]}
    let = {"reasoning": "Let me ", "reasoning_details": [detail("text", text="Let me ", index=0)]}
    closed = [
        ThinkingBlock("Let me "),
        ThinkingBlock("see"),
        ThinkingBlock("", {"reasoning_details": SIGNED}),
    ]

    assert thoughts(let, see, sign, {"content": "a"}, last=last) == [*closed, TextBlock("a")]
    assert thoughts(let, see, sign, last=last) == closed
    assert thoughts(let, see | {"content": "a"}, last=last)[-1] == TextBlock("a")


def test_reasoning_details_that_come_late_and_those_that_nobody_can_read_are_kept() -> None:
    secret = detail("encrypted", data="QUJD", id="c", index=1)
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}

    assert thoughts({"content": "a"}, {"tool_calls": [call], "reasoning_details": [secret]}) == [
        TextBlock("a"),
        ThinkingBlock("", {"reasoning_details": [secret]}),
        ToolCallChunk("{}", "c", "f", 0),
    ]
    assert thoughts({"content": "a"}, {"reasoning_details": [secret]})[-1].metadata == {
        "reasoning_details": [secret]
    }


def test_thinking_is_in_the_details_where_it_is_nowhere_else() -> None:
    text, summary = detail("text", text="hm"), detail("summary", summary="aha")

    parts = thoughts({"reasoning_details": [text]}, {"reasoning_details": [summary]})
    assert [part.thinking for part in parts] == ["hm", "aha", ""]
