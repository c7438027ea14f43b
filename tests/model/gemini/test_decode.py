"""Chunks of Gemini's answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentscope_rx._frames import BodyReader, Frame, SSEReader
from agentscope_rx.errors import (
    BadModelOutputError,
    ContentFilterError,
    ContextTooLongError,
    IncompleteStreamError,
    ModelResponseError,
    OverloadedError,
    RateLimitedError,
)
from agentscope_rx.event import AgentEvent, AgentStartEvent, ToolCallStartEvent
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    ChatUsage,
    DataBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    URLSource,
    UserMessage,
)
from agentscope_rx.model import ChatResponse, GenerateOptions, ReplyIds, can_pass, to_events
from agentscope_rx.model.gemini._decode import ChunkDecoder
from agentscope_rx.model.gemini._request import build_request
from tests.model.gemini.provider import chunk
from tests.model.provider_cases import check, decode_with, fold, responses


def sse(*chunks: Any) -> bytes:
    return b"".join(f"data: {json.dumps(each)}\r\n\r\n".encode() for each in chunks)


def decode(*chunks: Any) -> list[ChatResponse]:
    decoder = ChunkDecoder("m")
    decoded = [decoder.feed(Frame(json.dumps(each))) for each in chunks]
    decoder.close()
    return [each for each in decoded if each is not None]


def parts(*given: dict[str, Any]) -> list[Any]:
    return [part for response in decode(chunk("STOP", *given)) for part in response.content]


def failure(*chunks: Any) -> ModelResponseError:
    with pytest.raises(ModelResponseError) as caught:
        decode(*chunks)
    return caught.value


THOUGHT = {"text": "need weather", "thought": True}
CALL = {"functionCall": {"id": "fc1", "name": "f", "args": {"x": 1}}}
SIGNED = {**CALL, "thoughtSignature": "sig"}


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        pytest.param(
            sse(chunk(None, THOUGHT), chunk(None, SIGNED), chunk("STOP", CALL)),
            {
                "thinking": "need weather",
                "tool_calls": [{"id": "fc1", "name": "f", "input": {"x": 1}}],
                "block_order": ["thinking", "tool_use"],
            },
            id="a call that is repeated is one call",
        ),
        pytest.param(
            sse(
                chunk(None, CALL, {"functionCall": {"id": "fc1", "name": "f", "args": {"x": 2}}}),
                chunk("STOP"),
            ),
            {
                "tool_calls": [
                    {"id": "fc1", "name": "f", "input": {"x": 1}},
                    {"id": "fc1-2", "name": "f", "input": {"x": 2}},
                ]
            },
            id="an id that comes again with something else is another call",
        ),
        pytest.param(
            sse(chunk("STOP", *[{"functionCall": {"name": "now"}}] * 2)),
            {"tool_calls": [{"id": "*", "name": "now", "input": {}}] * 2},
            id="the same call twice without an id is two calls",
        ),
        pytest.param(
            sse(chunk(None, {**THOUGHT, "thoughtSignature": "sig"}), chunk("STOP", {"text": "sunny"})),
            {"thinking": "need weather", "text": "sunny", "thinking_signature": "sig"},
            id="a thought with a signature",
        ),
        pytest.param(
            sse(chunk(None, {"text": "a"}), chunk("MAX_TOKENS", {"text": "b"})),
            {"text": "ab", "finish_reason": "MAX_TOKENS"},
            id="the limit was reached",
        ),
        pytest.param(
            sse(
                chunk(None, {"text": "a"}),
                {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}},
            ),
            {"text": "a", "error": "provider_error", "error_contains": "busy"},
            id="an error in the middle",
        ),
        pytest.param(
            sse(chunk(None, {"text": "a"}), chunk("SAFETY")),
            {"text": "a", "error": "provider_error", "error_contains": "SAFETY", "finish_reason": "SAFETY"},
            id="an answer that is held back in the middle",
        ),
        pytest.param(
            sse(chunk(None, {"text": "a"})),
            {"text": "a", "error": "incomplete_stream"},
            id="an end without a reason",
        ),
        pytest.param(
            sse(chunk("STOP", {"text": "a"})) + b"data: [DONE]\n\n",
            {"text": "a"},
            id="a word of other servers",
        ),
        pytest.param(
            sse(chunk("STOP", {"text": "é😀"}))[:-4], {"text": "é😀"}, id="no blank line at the end"
        ),
    ],
)
def test_streams_mean_what_they_say(stream: bytes, expected: dict[str, Any], size: int) -> None:
    nothing = {"text": "", "thinking": "", "tool_calls": [], "usage": None, "error": None}
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]

    check({"expected": nothing | expected}, decode_with(SSEReader(), ChunkDecoder("m")), chunks)


def message(*chunks: dict[str, Any]) -> Msg:
    """The message that an answer becomes."""
    events: list[AgentEvent] = [AgentStartEvent("s", "r", "m")]
    errors: list[Exception] = []
    answer = responses(decode_with(SSEReader(), ChunkDecoder("m")), [sse(*chunks)])
    answer.pipe(to_events(reply_id="r", model_name="m", ids=ReplyIds())).subscribe(
        events.append, errors.append
    )
    assert errors == []
    return fold(events)


def test_a_signature_stays_with_its_call_when_the_call_is_repeated() -> None:
    (call,) = message(chunk(None, SIGNED), chunk("STOP", CALL)).get_content_blocks(ToolUseBlock)

    assert call.metadata == {"thoughtSignature": "sig"}


IMAGE = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
CODE = {"executableCode": {"language": "PYTHON", "code": "1 + 1"}, "thoughtSignature": "c"}
RESULT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}


@pytest.mark.parametrize(
    "answer",
    [
        [{"text": "abc"}, {"text": "", "thoughtSignature": "s"}],
        [{"text": "abc", "thoughtSignature": "s"}, {"text": "de", "thoughtSignature": "t"}, {"text": "f"}],
        [{"text": "ab"}, {"text": "c", "thoughtSignature": "s"}, {"text": "d"}],
        [{"text": "hm", "thought": True}, {"text": "", "thought": True, "thoughtSignature": "s"},
         {"text": "so", "thought": True}, {"text": "a"}],
        [{"text": "hm", "thought": True}, {"text": "", "thoughtSignature": "s"}, {"text": "a"}],
        [{**IMAGE, "thought": True}, {**IMAGE, "thoughtSignature": "s"}, {"text": "a"}, IMAGE],
        [{"fileData": {"fileUri": "https://x/y", "mimeType": "video/mp4"}, "thoughtSignature": "s"}],
        [{"text": "Let me run it: "}, CODE, RESULT, {"text": "It is 2."}],
        [{"text": "a"}, {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {"q": "x"}}},
         {"toolResponse": {"id": "t", "response": {}}}, {"text": "b"}],
    ],
)  # fmt: skip
def test_what_was_answered_goes_back_part_by_part(answer: list[dict[str, Any]]) -> None:
    reply = message(*(chunk(None, part) for part in answer), chunk("STOP"))
    body = build_request("gemini-3-pro", [UserMessage("hi"), reply], (), GenerateOptions())

    assert body["contents"][1] == {"role": "model", "parts": answer}


@pytest.mark.parametrize(
    ("part", "block"),
    [
        ({"text": "a"}, TextBlock("a")),
        ({"text": "a", "thought": False}, TextBlock("a")),
        ({"text": "a", "thought": True}, ThinkingBlock("a")),
        ({"text": "ab", "thoughtSignature": "s"}, TextBlock("ab", {"thoughtSignature": "s", "covers": 2})),
        ({"thoughtSignature": "s"}, TextBlock("", {"thoughtSignature": "s", "covers": 0})),
        ({"text": "a", "thought": True, "thoughtSignature": "s"},
         ThinkingBlock("a", {"signature": "s", "thoughtSignature": "s", "covers": 1})),
        ({"functionCall": {"name": "f", "args": {"x": 1}}}, ToolUseBlock("", "f", {"x": 1})),
        ({"functionCall": {"id": "i", "name": "f", "args": None}}, ToolUseBlock("i", "f")),
        ({"functionCall": {"name": "f", "args": '{"x":1}'}}, ToolUseBlock("", "f", content='{"x":1}')),
        ({"functionCall": {"name": "f", "args": [1]}}, ToolUseBlock("", "f", content="[1]")),
        ({"text": "", "functionCall": {"name": "f"}}, ToolUseBlock("", "f")),
        (SIGNED, ToolUseBlock("fc1", "f", {"x": 1}, metadata={"thoughtSignature": "sig"})),
        (CODE, TextBlock("", {"part": CODE})),
    ],
)  # fmt: skip
def test_a_part_is_a_block(part: dict[str, Any], block: Any) -> None:
    assert parts(part) == [block]


@pytest.mark.parametrize(
    "part", [{}, {"text": None}, {"text": 3}, {"thought": True}, None, "a", {"inlineData": 1}]
)
def test_a_part_that_says_nothing_is_skipped(part: Any) -> None:
    assert parts(part) == []


@pytest.mark.parametrize(
    ("part", "source", "metadata"),
    [
        (IMAGE, Base64Source("image/png", "QUJD"), None),
        ({"inlineData": {"data": "QUJD"}}, Base64Source("application/octet-stream", "QUJD"), None),
        ({"fileData": {"fileUri": "https://x/y"}}, URLSource("https://x/y"), None),
        ({**IMAGE, "thoughtSignature": "s"}, Base64Source("image/png", "QUJD"), {"thoughtSignature": "s"}),
        ({**IMAGE, "thought": True}, Base64Source("image/png", "QUJD"), {"thought": True}),
    ],
)
def test_media_are_data_blocks(part: dict[str, Any], source: Any, metadata: Any) -> None:
    (block,) = parts(part)

    assert isinstance(block, DataBlock)
    assert (block.source, block.metadata) == (source, metadata)


def test_usage_counts_on_and_what_a_chunk_leaves_out_stays() -> None:
    first = {"promptTokenCount": 9, "cachedContentTokenCount": 4, "toolUsePromptTokenCount": 1}
    second = {"thoughtsTokenCount": 5, "promptTokenCount": None}
    third = {"promptTokenCount": 9, "candidatesTokenCount": 3, "thoughtsTokenCount": 5, "totalTokenCount": 17}
    answered = decode(
        chunk(usageMetadata=first), chunk(usageMetadata=second), chunk(), chunk("STOP", usageMetadata=third)
    )

    assert [response.usage for response in answered] == [
        ChatUsage(10, 0, 4),
        ChatUsage(10, 5, 4, reasoning_tokens=5),
        ChatUsage(10, 8, 4, reasoning_tokens=5),
    ]


def test_an_answer_has_its_id_and_only_the_first_candidate_counts() -> None:
    other = {"index": 1, "content": {"parts": [{"text": "b"}]}, "finishReason": "SAFETY"}
    first = chunk("STOP", {"text": "a"})
    (response,) = decode({"candidates": [*first["candidates"], other], "responseId": "r"})

    assert response == ChatResponse([TextBlock("a")], None, "STOP", "r")


def test_without_sse_the_answer_is_one_list() -> None:
    body = json.dumps(
        [chunk(None, {"text": "a"}), chunk("STOP", {"text": "b"}, usageMetadata={"promptTokenCount": 1})]
    )
    decoded = list(decode_with(BodyReader(), ChunkDecoder("m"))([body.encode()]))

    assert decoded == [ChatResponse([TextBlock("a"), TextBlock("b")], ChatUsage(1), "STOP")]
    with pytest.raises(OverloadedError, match="busy"):
        decode([{"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}])


@pytest.mark.parametrize(
    "reason",
    [
        "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR", "ESCALATION", "PUP_LIMITED_DISABLED",
    ],
)  # fmt: skip
def test_an_answer_that_is_held_back_says_why(reason: str) -> None:
    error = failure(chunk(reason))

    assert isinstance(error, ContentFilterError)
    assert str(error) == f"m held the answer back: {reason}; ask in other words"
    assert not can_pass(error)


@pytest.mark.parametrize(
    ("feedback", "words"),
    [
        ({"blockReason": "SAFETY"}, "SAFETY"),
        ({"blockReason": "OTHER"}, "OTHER"),
        ({"blockReason": "BLOCKLIST", "blockReasonMessage": "A word."}, r"BLOCKLIST \(A word\)"),
    ],
)
def test_a_question_that_is_blocked_says_why(feedback: dict[str, Any], words: str) -> None:
    with pytest.raises(ContentFilterError, match=f"m held the answer back: {words};"):
        decode({"promptFeedback": feedback})


@pytest.mark.parametrize("feedback", [{}, None, {"blockReason": "BLOCKED_REASON_UNSPECIFIED"}])
def test_feedback_without_a_reason_blocks_nothing(feedback: Any) -> None:
    assert decode({**chunk("STOP", {"text": "a"}), "promptFeedback": feedback})[0].content == (
        TextBlock("a"),
    )


@pytest.mark.parametrize(
    "reason",
    [
        "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE",
        "OTHER", "NO_IMAGE", "IMAGE_OTHER", "CONTINUATION", "WHO_KNOWS",
    ],
)  # fmt: skip
def test_any_other_end_is_an_error_that_may_pass(reason: str) -> None:
    error = failure(chunk(None, {"text": "a"}), chunk(reason))

    assert type(error) is ModelResponseError
    assert str(error) == f"m did not finish its answer: {reason}; ask again"
    assert (error.type, error.status) == (reason, 500)
    assert can_pass(error)


def test_a_bad_end_is_explained() -> None:
    bad = chunk("MALFORMED_FUNCTION_CALL")
    bad["candidates"][0]["finishMessage"] = "Malformed function call: print(f(."

    assert "MALFORMED_FUNCTION_CALL (Malformed function call: print(f()" in str(failure(bad))
    assert not can_pass(failure(chunk("MISSING_THOUGHT_SIGNATURE")))


@pytest.mark.parametrize("reason", ["FINISH_REASON_UNSPECIFIED", "", None, 3])
def test_a_reason_that_is_none_is_no_end(reason: Any) -> None:
    with pytest.raises(IncompleteStreamError, match="without a finishReason"):
        decode(chunk(reason, {"text": "a"}))


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        ({"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}, OverloadedError, 503),
        ({"code": 429, "message": "Quota.", "status": "RESOURCE_EXHAUSTED"}, RateLimitedError, 429),
        ({"code": 500, "message": "Internal.", "status": "INTERNAL"}, ModelResponseError, 500),
        ({"code": 400, "message": "The input token count exceeds the maximum number of tokens allowed.",
          "status": "INVALID_ARGUMENT"}, ContextTooLongError, 400),
        ({"code": 400, "message": "Bad.", "status": "INVALID_ARGUMENT"}, ModelResponseError, 400),
    ],
)  # fmt: skip
def test_an_error_inside_the_stream_is_what_it_says(
    error: dict[str, Any], kind: type[ModelResponseError], status: int
) -> None:
    caught = failure(chunk(None, {"text": "a"}), {"error": error})

    assert type(caught) is kind
    assert caught.status == status
    assert error["message"].rstrip(".") in str(caught)


@pytest.mark.parametrize(
    "piece", [{"willContinue": True}, {"partialArgs": [{"jsonPath": "$.x", "stringValue": "a"}]}]
)
def test_arguments_in_pieces_are_refused_and_never_run(piece: dict[str, Any]) -> None:
    with pytest.raises(BadModelOutputError, match="the arguments of 'f' in pieces; take stream"):
        decode(chunk(None, {"functionCall": {"name": "f", **piece}}))


def test_a_call_without_a_name_is_an_error_and_no_call() -> None:
    events: list[AgentEvent] = []
    errors: list[Exception] = []
    answer = responses(
        decode_with(SSEReader(), ChunkDecoder("m")),
        [sse(chunk("STOP", {"functionCall": {"args": {"x": 1}}}))],
    )
    answer.pipe(to_events(reply_id="r", model_name="m", ids=ReplyIds())).subscribe(
        events.append, errors.append
    )

    assert [type(error) for error in errors] == [BadModelOutputError]
    assert not any(isinstance(event, ToolCallStartEvent) for event in events)


def test_ids_that_were_made_here_are_in_the_message_and_in_the_next_request() -> None:
    reply = message(chunk("STOP", {"functionCall": {"name": "f"}}, {"functionCall": {"name": "f"}}))
    ids = [call.id for call in reply.get_content_blocks(ToolUseBlock)]
    results = [ToolResultBlock.text(id, id=id, name="f") for id in reversed(ids)]
    answered = AssistantMessage("me", [*reply.content, *results])
    body = build_request("gemini-2.5-flash", [UserMessage("hi"), answered], (), GenerateOptions())
    _, called, came = body["contents"]

    assert len({*ids, ""}) == 3
    assert [part["functionCall"]["id"] for part in called["parts"]] == ids
    assert [part["functionResponse"]["id"] for part in came["parts"]] == ids
    assert [part["functionResponse"]["response"]["output"] for part in came["parts"]] == ids


@pytest.mark.parametrize("value", [None, 3, "a", [], [3], {"candidates": 3}, {"candidates": [None, "a"]}])
def test_values_of_any_form_are_nothing(value: Any) -> None:
    decoder = ChunkDecoder("m")

    assert decoder.feed(Frame(json.dumps(value))) is None
    assert not decoder.whole
