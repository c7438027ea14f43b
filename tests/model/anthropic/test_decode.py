"""Events of a message, as the API and the servers that speak it send them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reactivex import from_iterable

from agentscope_rx._frames import Frame
from agentscope_rx.errors import (
    BadModelOutputError,
    ContentFilterError,
    IncompleteStreamError,
    ModelError,
    ModelResponseError,
    OverloadedError,
    RateLimitedError,
)
from agentscope_rx.event import AgentEvent, AgentStartEvent, BlockEvent, ToolCallStartEvent
from agentscope_rx.message import ChatUsage, ContentBlock, TextBlock, ThinkingBlock, ToolUseBlock
from agentscope_rx.model import ChatResponse, ReplyIds, can_pass, to_events
from agentscope_rx.model.anthropic._decode import MessageDecoder
from agentscope_rx.operators import to_msg
from tests.model.anthropic.stream import (
    Json,
    args,
    event,
    finish,
    sign,
    start,
    stop,
    text,
    think,
    tool,
)

STOP = finish()


def responses(*chunks: Json | str) -> list[ChatResponse]:
    decoder = MessageDecoder("m")
    frames = [Frame(chunk if isinstance(chunk, str) else json.dumps(chunk)) for chunk in chunks]
    found = [response for frame in frames if (response := decoder.feed(frame)) is not None]
    decoder.close()
    return found


def events(*chunks: Json) -> list[AgentEvent]:
    """The events of an answer; it is ended, if it does not end by itself."""
    ended = chunks if chunks[-1]["type"].startswith("message") else (*chunks, *STOP)
    found: list[AgentEvent] = [AgentStartEvent("s", "r", "m")]
    answer = from_iterable(responses(*ended))
    answer.pipe(to_events(reply_id="r", model_name="m", ids=ReplyIds())).subscribe(found.append)
    return found


def blocks(*chunks: Json) -> list[ContentBlock]:
    """What an answer's message holds."""
    return list(from_iterable(events(*chunks)).pipe(to_msg()).run().content)


def brief(*chunks: Json) -> list[Any]:
    """Texts, `(thinking, metadata)`, and `[id, name, content]`."""
    shown: list[Any] = []
    for block in blocks(*chunks):
        match block:
            case TextBlock():
                shown.append(block.text)
            case ThinkingBlock():
                shown.append((block.thinking, dict(block.metadata or {})))
            case ToolUseBlock():
                shown.append([block.id, block.name, block.content])
            case _:
                shown.append(block)
    return shown


# Blocks


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param(
            [start(0, "text", text=""), text(0, "a"), stop(0), start(1, "text", text="b"), text(1, "c"),
             stop(1)],
            ["abc"],
            id="texts side by side are one",
        ),
        pytest.param(
            [start(0, "thinking", thinking=""), think(0, "a"), sign(0, "s"), stop(0),
             start(1, "redacted_thinking", data="r"), stop(1), start(2, "redacted_thinking", data="q"),
             stop(2), start(3, "thinking", thinking="b"), sign(3, "t"), stop(3), start(4, "text"),
             text(4, "c"), stop(4)],
            [("a", {"signature": "s"}), ("", {"redacted_thinking": "r"}), ("", {"redacted_thinking": "q"}),
             ("b", {"signature": "t"}), "c"],
            id="each thinking has what is its own",
        ),
        pytest.param(
            [start(0, "thinking", thinking="", signature=""), sign(0, "s"), stop(0), start(1, "text"),
             text(1, "a")],
            [("", {"signature": "s"}), "a"],
            id="thinking that is not shown",
        ),
        pytest.param(
            [start(0, "thinking", thinking=""), think(0, "a"), stop(0), start(1, "thinking", thinking=""),
             stop(1), start(2, "redacted_thinking", data=""), stop(2)],
            [("a", {"signature": ""})],
            id="a server without signatures",
        ),
        pytest.param(
            [start(0, "thinking", thinking="", signature="s"), think(0, "a"), sign(0, None), stop(0)],
            [("a", {"signature": "s"})],
            id="a signature at the start",
        ),
        pytest.param(
            [tool(0, "a"), args(0, ""), args(0, '{"x"'), args(0, ": 1}"), stop(0), tool(1, "b", "g"),
             stop(1)],
            [["a", "f", '{"x": 1}'], ["b", "g", ""]],
            id="calls",
        ),
        pytest.param(
            [tool(0, "a", input={"x": 1}), stop(0), tool(1, "b", input='{"y": 2}'), stop(1),
             tool(2, "c", input={"z": 0}), args(2, '{"z": 3}'), stop(2)],
            [["a", "f", '{"x":1}'], ["b", "f", '{"y": 2}'], ["c", "f", '{"z": 3}']],
            id="arguments at the start count if there are no others",
        ),
        pytest.param(
            [start(0, "text"), text(0, "a"), start(1, "future", text="x"), text(1, "y"), stop(1),
             text(0, "b"), stop(0), start(2, "future"), start(3, "text"), text(3, "c")],
            ["abc"],
            id="blocks of unknown types are passed over, and hold nothing back",
        ),
    ],
)  # fmt: skip
def test_blocks_become_blocks(chunks: list[Json], expected: list[Any]) -> None:
    assert brief(*chunks) == expected


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param(
            [start(0, "text"), tool(1, "a"), tool(2, "b"), text(0, "x"), args(2, '{"b"'), args(1, '{"a"'),
             text(0, "y"), args(1, ":1}"), stop(0), args(2, ":2}"), stop(2), stop(1)],
            ["xy", ["a", "f", '{"a":1}'], ["b", "f", '{"b":2}']],
            id="text and two calls",
        ),
        pytest.param(
            [start(0, "thinking"), start(1, "text"), start(2, "text"), text(2, "z"), text(1, "x"),
             think(0, "t"), stop(2), sign(0, "s"), text(1, "y"), think(0, "u"), stop(1), stop(0)],
            [("tu", {"signature": "s"}), "xyz"],
            id="thinking and two texts",
        ),
        pytest.param(
            [tool(0, "a"), start(1, "text"), text(1, "x"), args(0, "{}"), tool(2, "b"), text(1, "y"), stop(1),
             args(2, "{}")],
            [["a", "f", "{}"], "xy", ["b", "f", "{}"]],
            id="text does not wait for a call",
        ),
    ],
)  # fmt: skip
def test_blocks_that_grow_side_by_side_stand_in_the_order_of_their_starts(
    chunks: list[Json], expected: list[Any]
) -> None:
    assert brief(*chunks) == expected


def test_what_need_not_wait_goes_out_at_once() -> None:
    decoder = MessageDecoder("m")
    found: list[Any] = []
    for chunk in (
        start(0, "text"), text(0, "a"), tool(1, "t"), args(1, "{"), text(0, "b"), stop(0), args(1, "}"),
        start(2, "text"), text(2, "c"),
    ):  # fmt: skip
        response = decoder.feed(Frame(json.dumps(chunk)))
        parts = response.content if response else ()
        found.append(
            [getattr(part, "text", None) or getattr(part, "arguments", None) or "begins" for part in parts]
        )

    assert found == [[], ["a"], [], [], ["b"], ["begins", "{"], ["}"], [], ["c"]]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([start(None, "text"), text(None, "a"), stop(None), tool(None, "a"), args(None, "{}")],
                     ["a", ["a", "f", "{}"]], id="no indexes"),
        pytest.param([start(0, "text"), text(0, "a"), tool(1, "a"), args(1, '{"x":1}'), tool(2, "b"),
                      args(2, "{}")],
                     ["a", ["a", "f", '{"x":1}'], ["b", "f", "{}"]], id="no stops"),
        pytest.param([start(0, "text"), text(0, "a"), tool(0, "a"), args(0, "{}"), tool(0, "b"),
                      args(0, '{"x":1}')],
                     ["a", ["a", "f", "{}"], ["b", "f", '{"x":1}']], id="every index is 0, and no stops"),
        pytest.param([tool(0, "a"), args(0, "{}"), stop(0), tool(0, "b"), args(0, '{"x":1}'), stop(0)],
                     [["a", "f", "{}"], ["b", "f", '{"x":1}']], id="every index is 0"),
        pytest.param([text(0, "a"), think(1, "b"), sign(2, "c"), text(0, "d")],
                     ["ad", ("b", {"signature": ""})], id="no starts"),
        pytest.param([start(0, "text"), start(0, "text"), text(0, "a"), stop(0), stop(0), stop(7)], ["a"],
                     id="starts and stops twice"),
        pytest.param([tool(0, "a"), stop(0), args(0, '{"x":1}')], [["a", "f", '{"x":1}']],
                     id="late arguments"),
        pytest.param([start(0, "text"), start(1, "text"), stop(1), text(1, "b"), text(0, "a")], ["ab"],
                     id="late text waits, too"),
        pytest.param([tool(0, ""), args(0, "{}"), tool(1, ""), args(1, '{"x":1}')],
                     [["*", "f", "{}"], ["*", "f", '{"x":1}']], id="no ids"),
        pytest.param([start(0, "text") | {"index": "0"}, text(0, "a") | {"index": "0"}, stop(0)], ["a"],
                     id="indexes that are texts"),
        pytest.param([start(0, "text"), text(0, None), text(0, 3), text(0, ""), think(0, "x"), args(0, "{}"),
                      event("delta", 0), event("delta", 0, delta=None),
                      event("start", 1, content_block=None), {"type": "ping"}],
                     [], id="what says nothing"),
    ],
)  # fmt: skip
def test_habits_of_other_servers_are_understood(chunks: list[Json], expected: list[Any]) -> None:
    found = brief(*chunks)
    for block, wanted in zip(found, expected, strict=True):
        if wanted[0] == "*":
            assert block[0]
            block[0] = "*"
    assert found == expected


def test_citations_stay_with_their_text() -> None:
    cite = {"type": "citations_delta", "citation": {"cited_text": "x"}}
    found = blocks(
        start(0, "text", citations=[]), text(0, "a"), event("delta", 0, delta=cite), text(0, "b"), stop(0),
        start(1, "text"), text(1, "c"), stop(1), start(2, "text"), event("delta", 2, delta=cite), stop(2),
    )  # fmt: skip

    assert found == [TextBlock("ab", {"citations": [{"cited_text": "x"}]}), TextBlock("c")]


def test_tools_that_the_api_runs_are_kept_to_be_given_back() -> None:
    asked = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"encrypted_content": "e"}]}
    chunks = [
        start(0, "text"), text(0, "Let me see."), stop(0), start(1, **asked), args(1, '{"query":'),
        args(1, '"x"}'), stop(1), start(2, **found), stop(2), start(3, "text"), text(3, "So."), stop(3),
    ]  # fmt: skip

    assert brief(*chunks) == [
        "Let me see.",
        ("", {"server_block": {**asked, "input": {"query": "x"}}}),
        ("", {"server_block": found}),
        "So.",
    ]


def test_what_the_api_says_of_a_call_is_kept() -> None:
    call = blocks(tool(0, "a", caller={"type": "direct"}, toolset_name=None), args(0, "{}"), stop(0))[0]

    assert isinstance(call, ToolUseBlock)
    assert call.metadata == {"caller": {"type": "direct"}}


def test_a_call_shows_before_its_arguments_come() -> None:
    first = events(tool(0, "a"))[2]

    assert isinstance(first, ToolCallStartEvent)
    assert not any(isinstance(each, BlockEvent) for each in events(tool(0, "a")))


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
@pytest.mark.parametrize("fragments", [[], [""], ["{"], ['{"x": "/sr']])
def test_a_call_that_a_limit_cut_off_cannot_run(reason: str, fragments: list[str]) -> None:
    end = {"type": "message_delta", "delta": {"stop_reason": reason}}
    call = blocks(tool(0, "a"), *(args(0, fragment) for fragment in fragments), stop(0), end)[0]

    assert isinstance(call, ToolUseBlock)
    assert call.input_error


# Usage and the end


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([{"input_tokens": 5, "output_tokens": 1}, {"output_tokens": 7}], ChatUsage(5, 7)),
        ([{"input_tokens": 5, "output_tokens": 1}, {"input_tokens": 9, "output_tokens": 7}], ChatUsage(9, 7)),
        ([{"input_tokens": 5, "output_tokens": 1}, {"input_tokens": 0, "output_tokens": None}],
         ChatUsage(5, 1)),
        (
            [
                {"input_tokens": 5, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100},
                {"output_tokens": 7, "cache_read_input_tokens": 110},
            ],
            ChatUsage(135, 7, 110),
        ),
        ([{"output_tokens": 7, "output_tokens_details": {"thinking_tokens": 4}}],
         ChatUsage(0, 7, reasoning_tokens=4)),
        ([{"input_tokens": "5", "cache_read_input_tokens": None}], ChatUsage(5)),
        ([{"input_tokens": 0, "output_tokens": 0}], None),
        ([None, {}], None),
    ],
)  # fmt: skip
def test_usage_is_the_last_total_with_what_the_cache_gave(
    counts: list[Any], expected: ChatUsage | None
) -> None:
    begin: Json = {"type": "message_start", "message": {"usage": counts[0]}}
    found = responses(begin, *({"type": "message_delta", "usage": count} for count in counts[1:]), *STOP)

    assert next((item.usage for item in reversed(found) if item.usage is not None), None) == expected


@pytest.mark.parametrize(
    "reason",
    [
        "end_turn",
        "max_tokens",
        "stop_sequence",
        "tool_use",
        "pause_turn",
        "model_context_window_exceeded",
        "x",
    ],
)
def test_a_reason_to_stop_makes_an_answer_whole(reason: str) -> None:
    decoder = MessageDecoder("m")
    for early in ({"stop_reason": None}, {"stop_reason": ""}, {}):
        assert decoder.feed(Frame(json.dumps({"type": "message_delta", "delta": early}))) is None
    assert not decoder.whole
    response = decoder.feed(Frame(json.dumps({"type": "message_delta", "delta": {"stop_reason": reason}})))

    assert response == ChatResponse(finish_reason=reason)
    assert (decoder.whole, decoder.done) == (True, False)
    decoder.close()
    decoder.feed(Frame('{"type": "message_stop"}'))
    assert decoder.done


@pytest.mark.parametrize("last", ['{"type": "message_stop"}', "[DONE]"])
def test_the_end_of_the_message_is_an_end(last: str) -> None:
    assert responses(start(0, "text"), text(0, "a"), last) == [ChatResponse((TextBlock("a"),))]


def test_an_answer_without_an_end_is_cut() -> None:
    with pytest.raises(IncompleteStreamError, match=r"^the stream of m ended without a stop_reason"):
        responses(start(0, "text"), text(0, "a"), stop(0))


@pytest.mark.parametrize(
    ("details", "said"),
    [
        (
            {"type": "refusal", "category": "bio", "explanation": "This could do harm."},
            "refusal (This could do harm)",
        ),
        ({"type": "refusal", "category": "bio", "explanation": None}, "refusal (bio)"),
        (None, "refusal"),
    ],
)
def test_a_refusal_is_an_error_behind_what_came(details: Any, said: str) -> None:
    decoder = MessageDecoder("m")
    end = {"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": details}}
    assert decoder.feed(Frame(json.dumps(text(0, "a")))) == ChatResponse((TextBlock("a"),))
    assert decoder.feed(Frame(json.dumps(end))) == ChatResponse(finish_reason="refusal")

    with pytest.raises(ContentFilterError) as caught:
        decoder.close()
    assert str(caught.value) == f"m held the answer back: {said}; ask in other words"
    assert caught.value.type == "refusal"


def test_a_server_that_does_not_stream_is_understood() -> None:
    message = {
        "type": "message",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "a"},
            {"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 7},
    }

    assert brief(message) == [("hm", {"signature": "s"}), "a", ["c", "f", '{"x":1}']]
    (response,) = responses(message)
    assert (response.usage, response.finish_reason) == (ChatUsage(5, 7), "tool_use")


# Errors


@pytest.mark.parametrize(
    ("frame", "error", "status", "words"),
    [
        (Frame('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "error"),
         OverloadedError, 529, "Overloaded (overloaded_error)"),
        (Frame('{"type":"error","error":{"type":"rate_limit_error","message":"Too fast"}}'),
         RateLimitedError, 429, "Too fast (rate_limit_error)"),
        (Frame('{"type":"error","error":{"type":"api_error","message":"Internal"}}'),
         ModelResponseError, 500, "Internal (api_error)"),
        (Frame('{"type":"error","error":{"type":"timeout_error","message":"Late"}}'),
         ModelResponseError, 504, "Late (timeout_error)"),
        (Frame('{"error":{"type":"invalid_request_error","message":"No"}}'),
         ModelResponseError, 400, "No (invalid_request_error)"),
        (Frame('{"message":"down"}'), ModelResponseError, 0, "down"),
        (Frame('{"msg":"down","code":500}'), ModelResponseError, 500, "down (500)"),
        (Frame('{"detail":"down"}', "error"), ModelResponseError, 0, "down"),
        (Frame("down", "error"), ModelResponseError, 0, "down"),
    ],
)  # fmt: skip
def test_errors_are_seen_in_all_their_shapes(
    frame: Frame, error: type[ModelResponseError], status: int, words: str
) -> None:
    with pytest.raises(ModelResponseError) as caught:
        MessageDecoder("m").feed(frame)

    assert type(caught.value) is error
    assert caught.value.status == status
    assert str(caught.value) == f"m failed while it answered: {words}"
    assert can_pass(caught.value) == (status >= 429)


def test_the_request_of_an_error_is_known() -> None:
    error = '{"type":"error","error":{"type":"api_error","message":"x"},"request_id":"req_1"}'
    with pytest.raises(ModelResponseError) as caught:
        MessageDecoder("m").feed(Frame(error))

    assert caught.value.request_id == "req_1"


def test_arguments_of_a_call_that_never_began_are_an_error() -> None:
    decoder = MessageDecoder("m")
    decoder.feed(Frame(json.dumps(tool(0, "a"))))

    with pytest.raises(
        BadModelOutputError, match=r"^m sent arguments of a tool call that it never began: .*rm"
    ):
        decoder.feed(Frame(json.dumps(args(1, '{"path": "rm"}'))))


def test_what_is_no_json_is_an_error() -> None:
    with pytest.raises(ModelError, match="no JSON"):
        MessageDecoder("m").feed(Frame("oops"))


@pytest.mark.parametrize("type", ["content_block_delta", "message_stop", "message_delta"])
def test_the_type_may_stand_in_the_event_only(type: str) -> None:
    data: Json = {"index": 0, "delta": {"type": "text_delta", "text": "a", "stop_reason": "x"}}
    decoder = MessageDecoder("m")
    response = decoder.feed(Frame(json.dumps(data), type))

    assert (response is not None and response.content == (TextBlock("a"),)) == (type == "content_block_delta")
    assert decoder.whole == (type != "content_block_delta")


def test_an_empty_event_is_nothing() -> None:
    assert MessageDecoder("m").feed(Frame("")) is None
