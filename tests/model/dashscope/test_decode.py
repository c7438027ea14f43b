"""Frames of DashScope's own protocol, beyond the recorded ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from agentscope_rx._frames import Frame, SSEReader
from agentscope_rx.errors import (
    BadModelOutputError,
    ContentFilterError,
    ContextTooLongError,
    IncompleteStreamError,
    ModelResponseError,
    RateLimitedError,
)
from agentscope_rx.message import Base64Source, ChatUsage, DataBlock, TextBlock, ThinkingBlock, URLSource
from agentscope_rx.model import ChatResponse, ToolCallChunk
from agentscope_rx.model.dashscope._decode import FrameDecoder
from tests.model.provider_cases import check, decode_with


def body(message: dict[str, Any], finish: str | None = "null", **more: Any) -> dict[str, Any]:
    return {"output": {"choices": [{"message": message, "finish_reason": finish}]}, "request_id": "r", **more}


def stream(*bodies: dict[str, Any]) -> bytes:
    frames = (
        f"id:{n}\nevent:result\n:HTTP_STATUS/200\ndata:{json.dumps(item)}\n\n"
        for n, item in enumerate(bodies)
    )
    return "".join(frames).encode()


def call(
    arguments: str | None, id: str = "", name: str | None = None, index: int | None = 0
) -> dict[str, Any]:
    return {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*fragments: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": list(fragments)}


END = body({"content": ""}, "tool_calls")
TWO = [
    {"id": "c1", "name": "f", "input": {"a": 1}},
    {"id": "c2", "name": "g", "input": {"b": [2]}},
]


@pytest.mark.parametrize("size", [1, 3, 64, 10_000])
@pytest.mark.parametrize(
    ("incremental", "frames"),
    [
        pytest.param(
            True,
            [calls(call('{"a"', "c1", "f")), calls(call(": 1}")), calls(call("", "c2", "g", 1)),
             calls(call('{"b": [', "", "", 1)), calls(call("2]}", index=1))],
            id="fragments by index, only the first of which says the name",
        ),
        pytest.param(
            True,
            [calls(call('{"a": 1}', "c1", "f"), call('{"b"', "c2", "g", 1)),
             calls(call(": [2]}", "c2", index=1))],
            id="two in one frame",
        ),
        pytest.param(
            True,
            [calls(call('{"a"', "c1", "f", None)), calls(call(": 1}", "c1", None, None)),
             calls(call('{"b": [2]}', "c2", "g", None))],
            id="no index",
        ),
        pytest.param(
            False,
            [calls(call('{"a"', "c1", "f")), calls(call('{"a": 1}', "c1", "f")),
             calls(call('{"a": 1}', "c1", "f")),
             calls(call('{"a": 1}', "c1", "f"), call("", "c2", "g", 1)),
             calls(call('{"a": 1}', "c1", "f"), call('{"b": [2]}', "c2", "g", 1))],
            id="all so far in each frame",
        ),
        pytest.param(
            False,
            [calls(call('{"a"', "c1", "f", None)), calls(call('{"a": 1}', "c1", "f", None)),
             calls(call('{"a": 1}', "c1", "f", None), call('{"b": [2]}', "c2", "g", None))],
            id="all so far, no index",
        ),
    ],
)  # fmt: skip
def test_calls_come_in_fragments_or_again_and_again(
    incremental: bool, frames: list[dict[str, Any]], size: int
) -> None:
    data = stream(*map(body, frames), END)
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    expected = {"text": "", "thinking": "", "tool_calls": TWO, "usage": None, "error": None}

    check(
        {"expected": expected | {"finish_reason": "tool_calls"}},
        decode_with(SSEReader(), FrameDecoder("m", incremental=incremental)),
        chunks,
    )


def fed(*bodies: dict[str, Any], incremental: bool = True) -> list[ChatResponse | None]:
    decoder = FrameDecoder("m", incremental=incremental)
    return [decoder.feed(Frame(json.dumps(item))) for item in bodies]


def parts(*bodies: dict[str, Any], incremental: bool = True) -> list[Sequence[Any]]:
    return [
        () if response is None else response.content for response in fed(*bodies, incremental=incremental)
    ]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"content": "a"}, [TextBlock("a")]),
        ({"content": "b", "reasoning_content": "a"}, [ThinkingBlock("a"), TextBlock("b")]),
        ({"content": "", "reasoning_content": "", "reasoning_signature": "s"},
         [ThinkingBlock("", {"signature": "s", "reasoning_signature": "s"})]),
        ({"content": [{"text": "a"}, {"type": "text", "text": "b"}, {"text": ""}, 3]},
         [TextBlock("a"), TextBlock("b")]),
        ({"content": [{"image": "http://x/y.png"}]}, [DataBlock(URLSource("http://x/y.png", "image/png"))]),
        ({"content": [{"image": "data:image/jpeg;base64,QUJD"}]},
         [DataBlock(Base64Source("image/jpeg", "QUJD"))]),
        ({"content": [{"audio": {"data": "QQ==", "url": ""}}]},
         [DataBlock(Base64Source("audio/wav", "QQ=="))]),
        ({"content": [{"video": {"url": "http://x/y.mp4"}}]},
         [DataBlock(URLSource("http://x/y.mp4", "video/mp4"))]),
        ({"tool_calls": [{"id": 7, "function": {"name": "f", "arguments": {"a": 1}}}]},
         [ToolCallChunk('{"a":1}', "7", "f")]),
        ({"tool_calls": [None, {"index": "2"}, {"function": None}]},
         [ToolCallChunk(), ToolCallChunk(index=2), ToolCallChunk()]),
        ({"content": 3, "tool_calls": {}, "reasoning_content": []}, []),
        ({}, []),
    ],
)  # fmt: skip
def test_messages_are_understood(message: dict[str, Any], expected: list[Any]) -> None:
    found = [getattr(part, "source", part) for part in parts(body(message))[0]]
    wanted = [getattr(part, "source", part) for part in expected]

    assert found == wanted


def test_text_without_a_message_is_understood_too() -> None:
    first, last = fed(
        {"output": {"text": "a", "finish_reason": "null"}}, {"output": {"text": "b", "finish_reason": "stop"}}
    )

    assert first == ChatResponse([TextBlock("a")])
    assert last == ChatResponse([TextBlock("b")], finish_reason="stop")


@pytest.mark.parametrize("item", [
    {}, {"output": None}, {"output": {"choices": None}}, {"output": {"choices": [None]}},
    {"output": {"choices": [{"finish_reason": None, "message": None}]}}, {"output": "x", "usage": []},
    {"code": "", "message": "", "output": {"choices": []}}, {"code": None, "message": "m"},
    {"status_code": 200, "code": "200", "output": {"text": None}}, {"code": "Success"},
])  # fmt: skip
def test_frames_without_content_are_passed_over(item: dict[str, Any]) -> None:
    assert fed(item) == [None]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}, ChatUsage(5, 7)),
        (
            {"input_tokens": 5, "output_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3},
             "output_tokens_details": {"reasoning_tokens": 2, "text_tokens": 5}},
            ChatUsage(5, 7, 3, reasoning_tokens=2),
        ),
        ({"input_tokens": 5, "input_tokens_details": {"cached_tokens": 3}}, ChatUsage(5, 0, 3)),
        ({"input_tokens": "5", "output_tokens": None, "cached_tokens": 2}, ChatUsage(5, 0, 2)),
        ({"input_tokens": 0}, None),
        (None, None),
    ],
)  # fmt: skip
def test_usage_is_what_was_counted(usage: Any, expected: ChatUsage | None) -> None:
    (response,) = fed(body({}, usage=usage))

    assert (None if response is None else response.usage) == expected


def test_an_answer_that_is_said_again_and_again_is_said_once() -> None:
    image = {"image": "http://x/y.png"}
    frames = [
        {"reasoning_content": "h", "content": ""},
        {"reasoning_content": "hm", "content": ""},
        {"reasoning_content": "hm", "reasoning_signature": "s", "content": "I"},
        {"reasoning_content": "", "content": [{"text": "I a"}, {"text": "m"}, image]},
        {"content": [{"text": "I a"}, {"text": "m"}, {"text": " Q"}, image]},
        {"content": [{"text": "I am"}]},
        {"content": ""},
    ]
    new = parts(*map(body, frames), incremental=False)

    assert new[:3] == [
        (ThinkingBlock("h"),),
        (ThinkingBlock("m"),),
        (ThinkingBlock("", {"signature": "s", "reasoning_signature": "s"}), TextBlock("I")),
    ]
    assert new[3][0] == TextBlock(" am")
    assert new[3][1].source == URLSource("http://x/y.png", "image/png")
    assert new[4:] == [(TextBlock(" Q"),), (), ()]


@pytest.mark.parametrize("wrong", [{"content": "there"}, {"reasoning_content": "then"},
                                   {"tool_calls": [call("}", "c", "f")]}])  # fmt: skip
def test_a_server_that_does_not_repeat_itself_as_it_was_asked_to_is_told_of(wrong: dict[str, Any]) -> None:
    before = {"content": "Hi", "reasoning_content": "hm", "tool_calls": [call("{", "c", "f")]}

    with pytest.raises(
        BadModelOutputError, match=r"m was asked to repeat its answer.*incremental_output=True"
    ):
        fed(body(before), body(wrong), incremental=False)


def test_a_name_that_comes_later_is_not_lost() -> None:
    frames = [calls(call("", "c", "")), calls(call("", "c", "")), calls(call("{}", "c", "f"))]

    assert parts(*map(body, frames), incremental=False) == [
        (ToolCallChunk("", "c", "", 0),), (), (ToolCallChunk("{}", "c", "f", 0),),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("frame", "error", "words"),
    [
        (Frame('{"code": "Throttling.RateQuota", "message": "slow down", "request_id": "r"}', "error"),
         RateLimitedError, "m failed while it answered: slow down (Throttling.RateQuota)"),
        (Frame('{"code": "DataInspectionFailed", "message": "bad words"}'), ContentFilterError, "bad words"),
        (Frame('{"code": "InvalidApiKey", "message": "who?"}'), ModelResponseError, "who? (InvalidApiKey)"),
        (Frame('{"error": {"message": "down", "code": "500"}}'), ModelResponseError, "down (500)"),
        (Frame('{"output": {}, "code": "InternalError", "message": "oops"}'), ModelResponseError, "oops"),
        (Frame("down", "error"), ModelResponseError, "down"),
        (Frame('{"output": {"text": "x"}}', "error"), ModelResponseError, "x"),
    ],
)  # fmt: skip
def test_errors_are_seen_in_all_their_shapes(
    frame: Frame, error: type[ModelResponseError], words: str
) -> None:
    with pytest.raises(error) as caught:
        FrameDecoder("m").feed(frame)

    assert words in str(caught.value)
    assert caught.value.request_id in ("", "r")


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("InvalidApiKey", 401), ("AccessDenied", 403), ("AccessDenied.Unpurchased", 403),
        ("Model.AccessDenied", 403), ("ModelNotFound", 404), ("InvalidParameter", 400), ("Arrearage", 400),
        ("InternalError", 500), ("InternalError.Timeout", 504), ("RequestTimeOut", 504), ("SystemError", 500),
        ("ServiceUnavailable", 503), ("Throttling", 429), ("Throttling.AllocationQuota", 429),
        ("LimitRequests", 429), ("DataInspectionFailed", 400),
    ],
)  # fmt: skip
def test_codes_inside_a_stream_stand_for_a_status(code: str, status: int) -> None:
    with pytest.raises(ModelResponseError) as caught:
        FrameDecoder("m").feed(Frame(json.dumps({"code": code, "message": "m"}), "error"))

    assert caught.value.status == status


def test_a_conversation_that_is_too_long_is_known_by_its_words() -> None:
    error = {"code": "InvalidParameter", "message": "Range of input length should be [1, 129024]"}
    with pytest.raises(ContextTooLongError):
        FrameDecoder("m").feed(Frame(json.dumps(error), "error"))


def test_what_is_no_json_is_an_error_unless_the_stream_was_cut_there() -> None:
    decoder = FrameDecoder("m")
    with pytest.raises(BadModelOutputError, match=r"m sent an event that is no JSON.*oops"):
        decoder.feed(Frame('{"a": oops'))

    assert decoder.feed(Frame('{"a": "cu', complete=False)) is None
    with pytest.raises(IncompleteStreamError, match="the answer is cut"):
        decoder.close()


@pytest.mark.parametrize(
    ("frame", "done"),
    [
        (Frame(json.dumps(body({"content": ""}, "stop"))), False),
        (Frame("{}", "done"), True),
        (Frame("[DONE]"), True),
    ],
)
def test_a_finish_reason_or_done_makes_an_answer_whole(frame: Frame, done: bool) -> None:
    decoder = FrameDecoder("m")
    assert not decoder.whole

    decoder.feed(frame)
    assert (decoder.whole, decoder.done) == (True, done)
    decoder.close()


def test_an_answer_that_the_provider_cut_for_its_content_is_an_error_behind_what_came() -> None:
    decoder = FrameDecoder("m")
    decoder.feed(Frame(json.dumps(body({"content": "a"}, "content_filter"))))

    with pytest.raises(ContentFilterError, match="m held the answer back: content_filter"):
        decoder.close()
