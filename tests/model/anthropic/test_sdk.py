"""What the official SDK sends and reads, and we."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web
from reactivex import operators as ops

from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    DataBlock,
    Msg,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.model import AnthropicModel, GenerateOptions, ReplyIds, ToolSchema, to_events
from agentscope_rx.model.anthropic._request import build_request
from agentscope_rx.operators import to_msg
from tests.model.anthropic.stream import args, finish, sign, start, stop, text, think, tool
from tests.model.loopback import Handler, serving
from tests.model.provider import CITY, KEY

MODEL = "claude-opus-4-8"
MARK: dict[str, Any] = {"type": "ephemeral"}
CACHED: dict[str, Any] = {"metadata": {"_cache_control": True}}
DONE = '{"type":"message_stop"}'


def answers(*chunks: Any) -> Handler:
    """Answer with events that have their names, as the API does."""
    data = [chunk if isinstance(chunk, str) else json.dumps(chunk) for chunk in chunks]
    body = "".join(f"event: {json.loads(item)['type']}\ndata: {item}\n\n" for item in data)

    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(text=body, content_type="text/event-stream")

    return handler


async def sdk(url: str, **request: Any) -> Any:
    """What the SDK makes of the answer."""
    from anthropic import AsyncAnthropic

    async with (
        AsyncAnthropic(api_key=KEY, base_url=url, max_retries=0) as client,
        client.messages.stream(**request) as stream,
    ):
        return await stream.get_final_message()


START: dict[str, Any] = {
    "type": "message_start",
    "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}  # fmt: skip


@pytest.mark.asyncio
async def test_all_that_a_conversation_may_hold_is_sent_as_the_sdk_sends_it() -> None:
    png, pdf = Base64Source("image/png", "QUJD"), Base64Source("application/pdf", "QUJD")
    failed = ToolResultBlock("b", "now", "no clock", state=ToolResultState.ERROR)
    conversation = (
        SystemMessage("Be kind.", **CACHED),
        UserMessage([TextBlock("See"), DataBlock(pdf, name="a.pdf")]),
        AssistantMessage(
            "me",
            [
                ThinkingBlock("hm", {"signature": "s"}), ThinkingBlock("", {"redacted_thinking": "r"}),
                TextBlock("Let me look."), ToolUseBlock("a", "get_weather", {"city": "Paris"}),
                ToolUseBlock("b", "now"),
                ToolResultBlock("a", "get_weather", [TextBlock("sunny"), DataBlock(png)],
                                state=ToolResultState.SUCCESS), failed,
            ],
        ),
        UserMessage("And tomorrow?", **CACHED),
    )  # fmt: skip
    options = GenerateOptions(
        max_tokens=9000,
        reasoning_effort="high",
        stop=("END",),
        tool_choice="required",
        parallel_tool_calls=False,
        response_format=CITY,
        extra_body={"metadata": {"user_id": "u"}, "service_tier": "auto"},
        extra_headers={"anthropic-beta": "b"},
    )
    tools = (ToolSchema("get_weather", "Says the weather.", CITY, strict=True), ToolSchema("now"))
    image: Any = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    document: Any = {"type": "base64", "media_type": "application/pdf", "data": "QUJD"}

    async with serving(answers(START, DONE)) as server:
        model = AnthropicModel(MODEL, api_key=KEY, base_url=server.url, native_structured_output=True)
        await model.stream(conversation, tools, options).pipe(ops.to_list())
        await sdk(
            server.url.removesuffix("/v1"),
            model=MODEL,
            max_tokens=9000,
            system=[{"type": "text", "text": "Be kind.", "cache_control": MARK}],
            messages=[
                {"role": "user", "content": [
                    {"type": "text", "text": "See"},
                    {"type": "document", "source": document, "title": "a.pdf"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "redacted_thinking", "data": "r"},
                    {"type": "text", "text": "Let me look."},
                    {"type": "tool_use", "id": "a", "name": "get_weather", "input": {"city": "Paris"}},
                    {"type": "tool_use", "id": "b", "name": "now", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": [
                        {"type": "text", "text": "sunny"}, {"type": "image", "source": image}]},
                    {"type": "tool_result", "tool_use_id": "b", "content": "no clock", "is_error": True},
                    {"type": "text", "text": "And tomorrow?", "cache_control": MARK}]},
            ],
            tools=[
                {"name": "get_weather", "description": "Says the weather.", "strict": True,
                 "input_schema": {**CITY, "additionalProperties": False}},
                {"name": "now", "input_schema": {"type": "object", "properties": {}}},
            ],
            tool_choice={"type": "any", "disable_parallel_tool_use": True},
            stop_sequences=["END"],
            thinking={"type": "adaptive", "display": "summarized"},
            output_config={
                "effort": "high",
                "format": {"type": "json_schema", "schema": {**CITY, "additionalProperties": False}},
            },
            metadata={"user_id": "u"},
            service_tier="auto",
            extra_headers={"anthropic-beta": "b"},
        )  # fmt: skip

    (ours, theirs), (our_body, their_body) = server.requests, server.bodies
    assert our_body == their_body
    for name in ("Authorization", "anthropic-beta", "Content-Type"):
        assert ours.headers[name] == theirs.headers[name]


@pytest.mark.asyncio
async def test_a_class_is_asked_for_by_the_schema_that_the_sdk_makes() -> None:
    from pydantic import BaseModel

    class City(BaseModel):
        name: str
        people: int
        mayor: str | None

    async with serving(answers(START, DONE)) as server:
        await sdk(server.url.removesuffix("/v1"), model=MODEL, max_tokens=9, messages=[], output_format=City)
    wanted = GenerateOptions(max_tokens=9, response_format=City.model_json_schema())

    assert build_request(MODEL, [], [], wanted) == server.bodies[0]


FOUND: dict[str, Any] = {"title": "t", "url": "u", "encrypted_content": "e", "page_age": None}
USAGE = {
    "input_tokens": 3, "output_tokens": 40, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 7,
    "output_tokens_details": {"thinking_tokens": 9},
}  # fmt: skip
STREAM = (
    START,
    start(0, "thinking", thinking="", signature=""),
    think(0, "first "),
    start(1, "redacted_thinking", data="r"),
    stop(1),
    start(2, "text", text=""),
    {"type": "ping"},
    text(2, "Let me "),
    think(0, "this"),
    sign(0, "s"),
    stop(0),
    start(3, "server_tool_use", id="srvtoolu_1", name="web_search", input={}),
    args(3, '{"query":'),
    text(2, "look."),
    stop(2),
    args(3, '"x"}'),
    stop(3),
    start(4, "web_search_tool_result", tool_use_id="srvtoolu_1",
          content=[{"type": "web_search_result", **FOUND}]),
    stop(4),
    tool(5, "toolu_1", caller={"type": "direct"}),
    tool(6, "toolu_2"),
    args(6, '{"b"'),
    args(5, '{"a": [1, '),
    args(6, ": 2}"),
    stop(6),
    args(5, "2]}"),
    stop(5),
    *finish("tool_use", usage=USAGE),
)  # fmt: skip


@pytest.mark.asyncio
async def test_what_the_api_says_goes_back_as_the_sdk_gives_it_back() -> None:
    async with serving(answers(*STREAM)) as server:
        model = AnthropicModel(MODEL, api_key=KEY, base_url=server.url)
        answer: Msg = await model.stream([UserMessage("hi")]).pipe(
            to_events(reply_id="r", model_name=MODEL, ids=ReplyIds()), to_msg()
        )
        theirs = await sdk(server.url.removesuffix("/v1"), model=MODEL, max_tokens=9, messages=[])

    results = [ToolResultBlock.text("ok", id=id, name="f") for id in ("toolu_1", "toolu_2")]
    back = build_request(
        MODEL, [UserMessage("hi"), AssistantMessage("me", [*answer.content, *results])], [], GenerateOptions()
    )
    assert back["messages"][1]["content"] == [
        block.model_dump(mode="json", exclude_unset=True) for block in theirs.content
    ]
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.cached_tokens) == (15, 5)
    assert (answer.usage.output_tokens, answer.usage.reasoning_tokens) == (40, 9)
    assert theirs.usage.output_tokens == 40
