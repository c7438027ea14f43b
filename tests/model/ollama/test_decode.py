"""Lines of Ollama, beyond the recorded ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentscope_rx._frames import Frame, NDJSONReader
from agentscope_rx.errors import (
    BadModelOutputError,
    ContextTooLongError,
    IncompleteStreamError,
    ModelResponseError,
    OverloadedError,
)
from agentscope_rx.message import Base64Source, ChatUsage, DataBlock, TextBlock, ThinkingBlock, ToolUseBlock
from agentscope_rx.model import ChatResponse
from agentscope_rx.model.ollama._decode import LineDecoder
from tests.model.provider_cases import check, decode_with


def line(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "message": {"role": "assistant", **message}, "done": False, **more}


END = line({"content": ""}, done=True, done_reason="stop")


def call(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


def calls(*items: dict[str, Any]) -> dict[str, Any]:
    return line({"content": "", "tool_calls": list(items)})


def named(id: str, name: str, **input: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "input": input}


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            [calls(call("f", {"a": 1}), call("f", {"a": 1})), calls(call("g", {}))],
            [named("*", "f", a=1), named("*", "f", a=1), named("*", "g")],
            id="the same call twice is two calls",
        ),
        pytest.param(
            [calls(call("f", {"a": 1}, id="c1")),
             calls(call("f", {"a": 1}, id="c1"), call("f", {"a": 2}, id="c2"))],
            [named("c1", "f", a=1), named("c2", "f", a=2)],
            id="a call that is repeated under its id is one",
        ),
        pytest.param(
            [calls(call("f", '{"a": "é"}'), call("g", None), {"function": {"name": "h"}})],
            [named("*", "f", a="é"), named("*", "g"), named("*", "h")],
            id="arguments as text, null, or missing",
        ),
        pytest.param(
            [calls({"function": {"index": 0, "name": "f", "arguments": {"b": {"c": [None, 1.5, "x"]}}}})],
            [named("*", "f", b={"c": [None, 1.5, "x"]})],
            id="an index inside the function",
        ),
        pytest.param(
            [calls(call("f", '{"a": "cu'))],
            [named("*", "f") | {"input_error": True, "raw": '{"a": "cu'}],
            id="arguments that are no JSON never run",
        ),
        pytest.param([calls(call("", {"a": 1}), None, {"function": None})], [], id="calls of nothing"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_calls_come_whole(lines: list[dict[str, Any]], expected: list[Any], size: int) -> None:
    data = "".join(f"{json.dumps(item)}\n" for item in [*lines, END]).encode()
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    nothing = {"text": "", "thinking": "", "usage": None, "error": None}

    check(
        {"expected": nothing | {"tool_calls": expected, "finish_reason": "stop"}},
        decode_with(NDJSONReader(), LineDecoder("m")),
        chunks,
    )


def fed(item: Any) -> ChatResponse | None:
    return LineDecoder("m").feed(Frame(json.dumps(item)))


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ({"content": "a"}, [TextBlock("a")]),
        ({"content": "b", "thinking": "a"}, [ThinkingBlock("a"), TextBlock("b")]),
        ({"content": "", "reasoning_content": "a"}, [ThinkingBlock("a")]),
        ({"tool_calls": [call("f", {"b": 1, "a": 2}, id="c")], "content": "a"},
         [TextBlock("a"), ToolUseBlock("c", "f", content='{"b":1,"a":2}')]),
    ],
)  # fmt: skip
def test_messages_are_understood(message: dict[str, Any], parts: list[Any]) -> None:
    response = fed(line(message))

    assert response is not None
    assert list(response.content) == parts


def test_images_that_the_model_made_are_data() -> None:
    response = fed(line({"content": "", "images": ["QUJD", "", None]}))

    assert response is not None
    (block,) = response.content
    assert isinstance(block, DataBlock)
    assert block.source == Base64Source("image/png", "QUJD")


@pytest.mark.parametrize("item", [
    {}, {"message": None}, {"message": {"content": None, "thinking": "", "tool_calls": None, "images": None}},
    {"message": "x"}, {"message": {"content": 3, "tool_calls": {}}}, {"error": ""}, {"error": None}, [], None,
    {"done": "yes"}, {"done": False, "done_reason": "stop"},
])  # fmt: skip
def test_lines_without_content_are_passed_over(item: Any) -> None:
    assert fed(item) is None


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"prompt_eval_count": 5, "eval_count": 7}, ChatUsage(5, 7)),
        ({"prompt_eval_count": 5, "prompt_eval_cached_count": 3, "eval_count": 7}, ChatUsage(5, 7, 3)),
        ({"eval_count": 7}, ChatUsage(0, 7)),
        ({"prompt_eval_count": "5", "eval_count": None}, ChatUsage(5, 0)),
        ({"prompt_eval_count": 0, "eval_count": 0}, None),
        ({}, None),
    ],
)
def test_usage_is_what_was_counted(counts: dict[str, Any], usage: ChatUsage | None) -> None:
    response = fed({**END, **counts})

    assert response == ChatResponse((), usage, "stop")


@pytest.mark.parametrize(
    ("item", "error", "words"),
    [
        ({"error": "model runner has stopped"}, ModelResponseError,
         "m failed while it answered: model runner has stopped"),
        ({"error": "busy", "status": 503}, OverloadedError, "busy (503)"),
        ({"error": "too many", "status": 429}, ModelResponseError, "too many (429)"),
        ({"error": {"message": "down", "code": 500}}, ModelResponseError, "down (500)"),
        ({"error": "prompt too long; exceeded max context length by 4 tokens"}, ContextTooLongError,
         "too long"),
        ({"message": {"content": "a"}, "done": True, "error": "late"}, ModelResponseError, "late"),
    ],
)  # fmt: skip
def test_an_error_line_is_an_error(item: Any, error: type[ModelResponseError], words: str) -> None:
    with pytest.raises(error) as caught:
        fed(item)

    assert words in str(caught.value)


def test_what_is_no_json_is_an_error_unless_the_stream_was_cut_there() -> None:
    decoder = LineDecoder("m")
    with pytest.raises(BadModelOutputError, match=r"m sent an event that is no JSON.*oops"):
        decoder.feed(Frame('{"a": oops'))

    assert decoder.feed(Frame('{"a": "cu', complete=False)) is None
    with pytest.raises(IncompleteStreamError, match="the answer is cut"):
        decoder.close()


def test_done_makes_an_answer_whole_with_what_stands_in_its_line() -> None:
    decoder = LineDecoder("m")
    last = line({"content": "a"}, done=True)
    assert (decoder.whole, decoder.done) == (False, False)

    assert decoder.feed(Frame(json.dumps(last), complete=False)) == ChatResponse([TextBlock("a")])
    assert (decoder.whole, decoder.done) == (True, True)
    decoder.close()
