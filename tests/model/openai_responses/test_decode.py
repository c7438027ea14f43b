"""Events of responses, as many servers send them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from reactivex import from_iterable, operators as ops

from agentscope_rx._frames import BodyReader, Frame
from agentscope_rx.errors import (
    BadModelOutputError,
    ContentFilterError,
    ContextTooLongError,
    IncompleteStreamError,
    ModelResponseError,
    OverloadedError,
    RateLimitedError,
)
from agentscope_rx.event import AgentStartEvent
from agentscope_rx.message import (
    Base64Source,
    ChatUsage,
    ContentBlock,
    DataBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from agentscope_rx.model import ChatResponse, ReplyIds, to_events
from agentscope_rx.model.openai_responses._decode import ResponseDecoder
from agentscope_rx.operators import to_msg
from tests.model.provider_cases import decode_with

Json = dict[str, Any]

OVER: Json = {"type": "response.completed", "response": {"id": "resp_1", "status": "completed"}}


def frames(events: Iterable[Json]) -> list[Frame]:
    return [Frame(json.dumps(event)) for event in events]


def answers(*events: Json, decoder: ResponseDecoder | None = None) -> list[ChatResponse]:
    """What a decoder says of events."""
    decoder = decoder or ResponseDecoder("m", "here")
    told = [decoder.feed(frame) for frame in frames(events)]
    decoder.close()
    return [response for response in told if response is not None]


def blocks_of(*events: Json) -> tuple[ContentBlock, ...]:
    """What events, and the end behind them, are in the message."""
    answer = from_iterable(answers(*events, OVER))
    call = answer.pipe(to_events(reply_id="r", model_name="m", ids=ReplyIds()))
    message = call.pipe(ops.start_with(AgentStartEvent("s", "r", "m")), to_msg()).run()
    return tuple(message.content)


def added(index: int, **item: Any) -> Json:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int, **item: Any) -> Json:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def delta(kind: str, index: int, text: Any, **more: Any) -> Json:
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": text, **more}


def said(text: str, *annotations: Json) -> list[Json]:
    return [{"type": "output_text", "text": text, "annotations": list(annotations)}]


SECRET: Json = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
OPEN: list[Json] = [{"type": "reasoning_text", "text": "hm"}]


@pytest.mark.parametrize(
    ("item", "kept"),
    [
        (SECRET, SECRET),
        ({**SECRET, "status": "completed", "content": None}, SECRET),
        ({**SECRET, "content": []}, SECRET),
        ({**SECRET, "status": None, "more": 1}, SECRET),
        (
            {"id": "rs_1", "type": "reasoning", "content": OPEN, "encrypted_content": None},
            {"id": "rs_1", "type": "reasoning", "content": OPEN, "summary": []},
        ),
        ({**SECRET, "status": "incomplete"}, None),
        ({**SECRET, "encrypted_content": None}, None),
        ({**SECRET, "encrypted_content": ""}, None),
    ],
)
def test_reasoning_is_kept_as_it_came_if_there_is_a_use_in_it(item: Json, kept: Json | None) -> None:
    blocks = blocks_of(done(0, **item), done(1, id="m", type="message", content=said("a")))

    metadata = None if kept is None else {"reasoning_item": kept, "server": "here"}
    found = [block.metadata or None for block in blocks if isinstance(block, ThinkingBlock)]
    assert found == ([] if kept is None else [metadata])


def test_each_item_of_reasoning_is_a_block_with_what_goes_back() -> None:
    second = {**SECRET, "id": "rs_2", "summary": [{"type": "summary_text", "text": "aha"}]}
    blocks = blocks_of(
        delta("reasoning_summary_text", 0, "hm", item_id="rs_1"),
        done(0, **SECRET),
        done(1, id="ws", type="web_search_call"),
        done(2, **second),
    )

    assert blocks == (
        ThinkingBlock("hm", {"reasoning_item": SECRET, "server": "here"}),
        ThinkingBlock("aha", {"reasoning_item": second, "server": "here"}),
    )


def test_reasoning_without_an_end_of_its_own_is_set_apart() -> None:
    (block,) = blocks_of(
        added(0, id="rs_1", type="reasoning"),
        delta("reasoning_text", 0, "hm"),
        added(1, id="rs_2", type="reasoning"),
        delta("reasoning_text", 1, "aha"),
    )

    assert block == ThinkingBlock("hm\n\naha")


def test_messages_with_a_phase_are_blocks_of_their_own() -> None:
    assert blocks_of(
        added(0, id="m1", type="message", phase="commentary"),
        delta("output_text", 0, "Let me look."),
        done(0, id="m1", type="message", content=said("Let me look.")),
        done(1, id="m2", type="message", content=said("Sunny."), phase="final_answer"),
    ) == (
        TextBlock("Let me look.", {"phase": "commentary"}),
        TextBlock("Sunny.", {"phase": "final_answer"}),
    )


def test_a_message_without_text_leaves_nothing_behind() -> None:
    assert blocks_of(done(0, id="m1", type="message", content=[], phase="commentary")) == ()


def test_where_a_text_is_from_stays_with_it() -> None:
    source = {"type": "url_citation", "url": "http://x", "start_index": 0, "end_index": 1}

    assert blocks_of(done(0, id="m1", type="message", content=said("a", source))) == (
        TextBlock("a", {"citations": [source]}),
    )


def test_images_that_the_server_drew_are_data_and_told_once() -> None:
    image = {"id": "ig_1", "type": "image_generation_call", "result": "QUJD", "output_format": "webp"}
    drawn = {**OVER, "response": {**OVER["response"], "output": [image]}}
    partial = {"type": "response.image_generation_call.partial_image", "partial_image_b64": "QQ=="}

    for events in ((partial, done(0, **image), drawn), (drawn,)):
        (response, *rest) = answers(*events)
        (block,) = response.content
        assert isinstance(block, DataBlock)
        assert block.source == Base64Source("image/webp", "QUJD")
        assert [part for each in rest for part in each.content] == []


def test_an_image_that_failed_is_none() -> None:
    assert blocks_of(done(0, id="ig_1", type="image_generation_call", result=None, status="failed")) == ()


def test_what_only_some_calls_have_is_kept_with_them() -> None:
    item = {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    (plain, other) = blocks_of(
        done(0, **item), done(1, **item | {"id": "fc_2", "call_id": "d", "namespace": "crm", "caller": None})
    )

    assert isinstance(plain, ToolUseBlock)
    assert isinstance(other, ToolUseBlock)
    assert (plain.metadata, other.metadata) == ({}, {"function_call": {"namespace": "crm"}})


def test_what_comes_twice_is_said_once() -> None:
    item = {"id": "m1", "type": "message"}
    call = {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "f"}
    events = [
        added(0, **item), added(0, **item), delta("output_text", 0, "Hi", item_id="m1"),
        done(0, **item, content=said("Hi there")), done(0, **item, content=said("Hi there")),
        delta("output_text", 0, " there", item_id="m1"),
        added(1, **call), added(1, **call), delta("function_call_arguments", 1, '{"a":', item_id="fc_1"),
        done(1, **call, arguments='{"a":1}'), done(1, **call, arguments='{"a":1}'),
    ]  # fmt: skip

    assert blocks_of(*events) == (TextBlock("Hi there"), ToolUseBlock("c", "f", {"a": 1}, content='{"a":1}'))


def test_the_last_event_does_not_take_back_what_was_said() -> None:
    assert blocks_of(
        delta("output_text", 0, " Hi ", item_id="m1"),
        done(0, id="m1", type="message", content=said("Hi")),
    ) == (TextBlock(" Hi "),)


@pytest.mark.parametrize(
    ("said", "meant", "fails"),
    [
        ('{"a":1}', '{"a":2}', True),
        ('{"a":1}', '{"a":1,"b":2}', True),
        ("{}", '{"a":1}', True),
        ('{"a":1}', '{ "a": 1 }', False),
        ('{"a":1}', "{}", False),
        ('{"a":1}', "", False),
        ('{"a":1}', None, False),
        ('{"a":1}', '{"a":', False),
        ('{"a":', '{"a":1}', False),
        ('{"b":', '{"a":1}', False),
    ],
)
def test_arguments_that_are_others_at_the_end_do_not_run(said: str, meant: str | None, fails: bool) -> None:
    item = {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "f"}
    events = (delta("function_call_arguments", 0, said), done(0, **item, arguments=meant), OVER)
    if fails:
        with pytest.raises(BadModelOutputError, match=r"m sent other arguments of 'f' at the end than"):
            answers(*events)
        return
    told = "".join(part.arguments for each in answers(*events) for part in each.content)  # type: ignore[union-attr]
    assert told == ('{"a":1}' if meant == '{"a":1}' and said == '{"a":' else said)


def test_the_end_of_the_response_ends_items_that_have_none() -> None:
    call = {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'}
    end = {"type": "response.completed", "response": {"status": "completed", "output": [call]}}
    decoder = ResponseDecoder("m")
    told = answers(added(0, **call | {"arguments": ""}), end, decoder=decoder)

    assert [part.arguments for each in told for part in each.content] == ["", '{"a":1}']  # type: ignore[union-attr]


def test_fragments_before_their_call_are_its_arguments() -> None:
    assert blocks_of(
        delta("function_call_arguments", 0, '{"a":'),
        added(0, id="fc_1", type="function_call", call_id="c", name="f"),
        delta("function_call_arguments", 0, "1}"),
    ) == (ToolUseBlock("c", "f", {"a": 1}, content='{"a":1}'),)


def test_items_without_ids_and_indexes_follow_one_another() -> None:
    assert blocks_of(
        {
            "type": "response.output_item.added",
            "item": {"type": "function_call", "call_id": "c", "name": "f"},
        },
        {"type": "response.function_call_arguments.delta", "delta": '{"a":1}'},
        {
            "type": "response.output_item.added",
            "item": {"type": "function_call", "call_id": "d", "name": "g"},
        },
        {"type": "response.function_call_arguments.delta", "delta": '{"b":2}'},
    ) == (
        ToolUseBlock("c", "f", {"a": 1}, content='{"a":1}'),
        ToolUseBlock("d", "g", {"b": 2}, content='{"b":2}'),
    )


@pytest.mark.parametrize(
    ("item", "call"),
    [
        ({"call_id": "c", "arguments": {"a": 1}}, ToolUseBlock("c", "f", {"a": 1}, content='{"a":1}')),
        ({"call_id": "c", "arguments": None}, ToolUseBlock("c", "f", {}, content="{}")),
        ({"id": "fc_1", "arguments": "{}"}, ToolUseBlock("fc_1", "f", {}, content="{}")),
        ({"call_id": 7, "arguments": "{}"}, ToolUseBlock("7", "f", {}, content="{}")),
    ],
)
def test_calls_of_many_servers_are_understood(item: Json, call: ToolUseBlock) -> None:
    (found,) = blocks_of(done(0, type="function_call", name="f", **item))

    assert isinstance(found, ToolUseBlock)
    assert (found.id, found.name, found.input, found.input_error) == (call.id, "f", call.input, False)


@pytest.mark.parametrize(
    ("event", "block"),
    [
        (delta("reasoning_summary", 0, {"text": "hm"}), ThinkingBlock("hm")),
        (delta("reasoning", 0, "hm"), ThinkingBlock("hm")),
        (delta("refusal", 0, "No."), TextBlock("No.")),
    ],
)
def test_deltas_of_many_servers_are_understood(event: Json, block: ContentBlock) -> None:
    assert blocks_of(event) == (block,)


@pytest.mark.parametrize(
    "event",
    [
        {}, {"type": 3}, {"type": "response.output_item.added"},
        {"type": "response.output_item.done", "item": 1},
        delta("output_text", 0, None), delta("output_text", 0, ""), delta("output_text", 0, {"x": 1}),
        added(0, type="message"), {"type": "response.output_text.done", "text": "a"},
        done(0, type="message", content={"text": "a"}),
        {"type": "response.created", "response": {"status": "x"}},
        {"type": "keepalive"}, {"type": "response.audio.delta", "delta": "QQ=="},
    ],
)  # fmt: skip
def test_events_without_content_are_passed_over(event: Json) -> None:
    (response,) = answers(event, OVER)
    assert response == ChatResponse((), finish_reason="stop", id="resp_1")


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {
                "input_tokens": 50,
                "input_tokens_details": {"cached_tokens": 32},
                "output_tokens": 90,
                "output_tokens_details": {"reasoning_tokens": 64},
                "total_tokens": 140,
            },
            ChatUsage(50, 90, 32, reasoning_tokens=64),
        ),
        ({"input_tokens": 5, "output_tokens": "7", "input_tokens_details": None}, ChatUsage(5, 7)),
        ({"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}, None),
        ({}, None),
        (None, None),
    ],
)
def test_usage_is_what_was_counted(usage: Any, expected: ChatUsage | None) -> None:
    end = {**OVER, "response": {"status": "completed", "usage": usage}}
    assert answers(end)[0].usage == expected


@pytest.mark.parametrize(
    ("event", "response", "reason"),
    [
        ("completed", {"status": "completed"}, "stop"),
        ("completed", {}, "stop"),
        ("completed", {"status": "in_progress"}, "stop"),
        (
            "completed",
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "length",
        ),
        ("incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ("incomplete", {"incomplete_details": {"reason": "steered"}}, "steered"),
        ("incomplete", {"incomplete_details": None}, "incomplete"),
        ("incomplete", {"incomplete_details": {"reason": "content_filter"}, "status": "completed"}, "stop"),
    ],
)
def test_the_reason_to_finish_is_that_of_chat_completions(event: str, response: Json, reason: str) -> None:
    assert answers({"type": f"response.{event}", "response": response})[0].finish_reason == reason


def test_an_answer_that_was_held_back_for_its_content_is_an_error_behind_what_came() -> None:
    decoder = ResponseDecoder("m")
    reason = {"incomplete_details": {"reason": "content_filter"}}
    for frame in frames([delta("output_text", 0, "a"), {"type": "response.incomplete", "response": reason}]):
        decoder.feed(frame)

    assert decoder.done
    with pytest.raises(ContentFilterError, match="m held the answer back: content_filter"):
        decoder.close()


def fails(**error: Any) -> Json:
    return {"type": "response.failed", "response": {"status": "failed", "error": error or None}}


@pytest.mark.parametrize(
    ("event", "error", "words"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow"}, RateLimitedError, "slow"),
        ({"type": "error", "error": {"message": "slow", "code": "slow_down"}}, OverloadedError, "slow"),
        ({"error": {"message": "down", "type": "server_error"}}, ModelResponseError, "down (server_error)"),
        ({"message": "down"}, ModelResponseError, "down"),
        (fails(code="context_length_exceeded", message="x"), ContextTooLongError, "x (context_length"),
        (fails(code="cyber_policy"), ContentFilterError, "cyber_policy"),
        (fails(), ModelResponseError, "failed, and not why"),
        ({"type": "response.failed"}, ModelResponseError, "failed, and not why"),
        ({"type": "response.cancelled", "response": {}}, ModelResponseError, "cancelled, and not why"),
        ({"type": "response.completed", "response": {"error": "down"}}, ModelResponseError, "down"),
    ],
)  # fmt: skip
def test_errors_are_seen_in_all_their_shapes(
    event: Json, error: type[ModelResponseError], words: str
) -> None:
    with pytest.raises(error) as caught:
        ResponseDecoder("m").feed(Frame(json.dumps(event)))

    assert type(caught.value) is error
    assert str(caught.value).startswith("m failed while it answered: ")
    assert words in str(caught.value)


def test_a_server_error_has_its_status() -> None:
    with pytest.raises(ModelResponseError) as caught:
        ResponseDecoder("m").feed(Frame(json.dumps(fails(code="server_error", message="x"))))

    assert (caught.value.status, caught.value.code) == (500, "server_error")


def test_an_event_error_needs_no_type() -> None:
    with pytest.raises(ModelResponseError, match="down"):
        ResponseDecoder("m").feed(Frame('{"detail": "down"}', "error"))


def test_what_is_no_json_is_an_error_unless_the_stream_was_cut_there() -> None:
    decoder = ResponseDecoder("m")
    with pytest.raises(BadModelOutputError, match=r"m sent an event that is no JSON.*oops"):
        decoder.feed(Frame('{"a": oops'))

    assert decoder.feed(Frame('{"a": "cu', complete=False)) is None
    with pytest.raises(IncompleteStreamError, match=r"ended without response\.completed: the answer is cut"):
        decoder.close()


def test_done_without_an_end_of_the_response_is_a_cut() -> None:
    decoder = ResponseDecoder("m")
    for frame in [*frames([delta("output_text", 0, "a")]), Frame("[DONE]")]:
        decoder.feed(frame)

    assert (decoder.done, decoder.whole) == (True, False)
    with pytest.raises(IncompleteStreamError):
        decoder.close()


WHOLE: Json = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "error": None,
    "output": [
        SECRET,
        {"id": "m1", "type": "message", "content": said("Let me look.")},
        {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    ],
    "usage": {"input_tokens": 3, "output_tokens": 1},
}


def test_an_answer_of_a_server_that_does_not_stream_is_understood() -> None:
    decode = decode_with(BodyReader(), ResponseDecoder("m"))
    (response,) = decode([json.dumps(WHOLE).encode()])

    assert [type(part).__name__ for part in response.content] == [
        "ThinkingBlock",
        "TextBlock",
        "ToolCallChunk",
    ]
    assert (response.finish_reason, response.id, response.usage) == ("tool_calls", "resp_1", ChatUsage(3, 1))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"status": "queued", "output": []}, IncompleteStreamError),
        ({"status": "failed", "error": {"message": "down"}}, ModelResponseError),
    ],
)
def test_a_whole_answer_that_is_none_is_an_error(change: Json, error: type[Exception]) -> None:
    decode = decode_with(BodyReader(), ResponseDecoder("m"))
    with pytest.raises(error):
        list(decode([json.dumps({**WHOLE, **change}).encode()]))
