"""The model over a real socket: what it sends and where to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web
from reactivex import operators as ops

from agentscope_rx.agent import ReActAgent
from agentscope_rx.errors import ConfigurationError, ModelHTTPError, ModelResponseError
from agentscope_rx.message import AssistantMessage, TextBlock, ThinkingBlock, ToolUseBlock, UserMessage
from agentscope_rx.model import (
    ChatResponse,
    GenerateOptions,
    OllamaModel,
    ToolSchema,
    resolve_model,
    supports_native_structured_output,
)
from agentscope_rx.tool import tool
from tests.model.loopback import Handler, serving, status


def lines(*items: Any, kind: str = "application/x-ndjson") -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        for item in items:
            await response.write(f"{json.dumps(item)}\n".encode())
        await response.write_eof()
        return response

    return handler


def line(content: str, **more: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": content}, "done": False, **more}


END = line("", done=True, done_reason="stop", prompt_eval_count=3, eval_count=2)
HELLO = (line("Hel"), line("lo"), END)


async def ask(model: OllamaModel, **more: Any) -> list[ChatResponse]:
    return await model.stream([UserMessage("hi")], **more).pipe(ops.to_list())


def text_of(responses: list[ChatResponse]) -> str:
    return "".join(part.text for item in responses for part in item.content if isinstance(part, TextBlock))


@pytest.mark.asyncio
async def test_the_request_carries_what_the_model_and_the_call_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "the key")
    options = GenerateOptions(temperature=0.1, extra_headers={"X-A": "1"})
    async with serving(lines(*HELLO)) as server:
        root = server.url.removesuffix("/v1")
        model = OllamaModel(
            "qwen3", base_url=root, options=options, num_ctx=4096, think=True, keep_alive="1h"
        )
        answer = await ask(model, tools=[ToolSchema("add", "Adds.")], options=GenerateOptions(max_tokens=9))

    assert text_of(answer) == "Hello"
    assert answer[-1].finish_reason == "stop"
    usage = answer[-1].usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (3, 2)
    request, body = server.requests[0], server.bodies[0]
    assert (request.method, request.path_qs) == ("POST", "/api/chat")
    assert request.headers["Authorization"] == "Bearer the key"
    assert request.headers["Accept"] == "application/x-ndjson"
    assert request.headers["X-A"] == "1"
    assert (body["model"], body["stream"], body["think"], body["keep_alive"]) == ("qwen3", True, True, "1h")
    assert body["options"] == {"temperature": 0.1, "num_predict": 9, "num_ctx": 4096}
    assert body["tools"][0]["function"]["name"] == "add"


SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


@pytest.mark.asyncio
async def test_options_and_thinking_are_what_the_official_client_sends() -> None:
    from ollama import AsyncClient

    options = GenerateOptions(
        temperature=0.5, top_p=0.9, top_k=3, max_tokens=9, frequency_penalty=0.1, presence_penalty=0.2,
        seed=7, stop=("END",), response_format=SCHEMA, extra_body={"options": {"min_p": 0.1}},
    )  # fmt: skip
    said = AssistantMessage("me", [ThinkingBlock("hm"), TextBlock("hello")])
    async with serving(lines(*HELLO)) as server:
        model = OllamaModel("qwen3", base_url=server.url, num_ctx=4096, think="low", keep_alive="1h")
        await model.stream([UserMessage("hi"), said, UserMessage("so?")], (), options)
        async with AsyncClient(server.url) as client:
            answer = await client.chat(
                "qwen3",
                [
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "content": "hello", "thinking": "hm"},
                    {"role": "user", "content": "so?"},
                ],
                options={
                    "temperature": 0.5, "top_p": 0.9, "top_k": 3, "num_predict": 9, "frequency_penalty": 0.1,
                    "presence_penalty": 0.2, "seed": 7, "stop": ["END"], "num_ctx": 4096, "min_p": 0.1,
                },
                format=SCHEMA,
                think="low",
                keep_alive="1h",
                stream=True,
            )  # fmt: skip
            async for _ in answer:
                pass

    ours, theirs = server.bodies
    assert ours == {key: value for key, value in theirs.items() if key != "tools"}
    assert theirs["tools"] == []  # which is none


@tool
def weather(city: str) -> str:
    """Says the weather in a city."""
    return f"windy in {city}"


def call(city: str) -> dict[str, Any]:
    return {"function": {"name": "weather", "arguments": {"city": city}}}


ASKING = (
    {"message": {"role": "assistant", "content": "", "thinking": "Two "}, "done": False},
    {"message": {"role": "assistant", "content": "", "thinking": "cities."}, "done": False},
    line("Let me look."),
    {"message": {"role": "assistant", "content": "", "tool_calls": [call("Oslo"), call("Rome")]}},
    END,
)


@pytest.mark.asyncio
async def test_an_agent_thinks_runs_its_tools_and_answers() -> None:
    async def converse(request: web.Request) -> web.StreamResponse:
        asked = (await request.json())["messages"][-1]["role"] == "user"
        return await lines(*(ASKING if asked else (line("Both are windy."), END)))(request)

    async with serving(converse) as server:
        agent = ReActAgent("me", model=OllamaModel("m", base_url=server.url), toolkit=[weather])
        reply = await agent.reply("How is the weather?")

    assert [block.type for block in reply.content] == [
        "thinking", "text", "tool_use", "tool_use", "tool_result", "tool_result", "text",
    ]  # fmt: skip
    oslo, rome = reply.get_content_blocks(ToolUseBlock)
    assert oslo.id != rome.id
    assert reply.text_content.endswith("Both are windy.")
    assert server.bodies[1]["messages"][1:] == [
        {"role": "assistant", "content": "Let me look.", "thinking": "Two cities.",
         "tool_calls": [
             {"id": oslo.id, "function": {"name": "weather", "arguments": {"city": "Oslo"}}},
             {"id": rome.id, "function": {"name": "weather", "arguments": {"city": "Rome"}}}]},
        {"role": "tool", "content": "windy in Oslo", "tool_name": "weather", "tool_call_id": oslo.id},
        {"role": "tool", "content": "windy in Rome", "tool_name": "weather", "tool_call_id": rome.id},
    ]  # fmt: skip


@pytest.mark.asyncio
async def test_an_agent_without_tools_can_have_the_answer_held_to_a_schema() -> None:
    async with serving(lines(line('{"x": '), line("3}"), END)) as server:
        model = OllamaModel("m", base_url=server.url, native_structured_output=True)
        reply = await ReActAgent("me", model=model).reply("x?", output=SCHEMA)

    assert reply.structured_output == {"x": 3}
    (sent,) = server.bodies
    assert sent["format"]["properties"] == SCHEMA["properties"]
    assert "tools" not in sent


@pytest.mark.asyncio
@pytest.mark.parametrize("path", ["", "/", "/api", "/proxy", "/proxy/api/"])
async def test_the_address_may_name_the_api_or_not(path: str) -> None:
    async with serving(lines(*HELLO)) as server:
        await ask(OllamaModel("m", base_url=server.url.removesuffix("/v1") + path))

    assert server.requests[0].path == ("/proxy/api/chat" if "proxy" in path else "/api/chat")
    assert "Authorization" not in server.requests[0].headers


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", ["application/x-ndjson", "text/plain", "application/octet-stream"])
async def test_lines_are_read_whatever_the_server_calls_them(kind: str) -> None:
    async with serving(lines(*HELLO, kind=kind)) as server:
        assert text_of(await ask(OllamaModel("m", base_url=server.url))) == "Hello"


@pytest.mark.asyncio
async def test_an_answer_that_is_no_stream_is_read_too() -> None:
    whole = line("Hello", done=True, done_reason="stop")
    async with serving(lines(whole, kind="application/json")) as server:
        assert text_of(await ask(OllamaModel("m", base_url=server.url))) == "Hello"


@pytest.mark.asyncio
async def test_an_error_is_known_by_its_status_or_by_its_line() -> None:
    async with serving(status(404, '{"error": "model \'m\' not found"}')) as server:
        with pytest.raises(ModelHTTPError, match="404 Not Found: model 'm' not found; check base_url"):
            await ask(OllamaModel("m", base_url=server.url))

    async with serving(lines(line("a"), {"error": "the runner has stopped"})) as server:
        with pytest.raises(ModelResponseError, match="the runner has stopped"):
            await ask(OllamaModel("m", base_url=server.url))


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("http://0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("[::]:8080", "http://127.0.0.1:8080"),
        ("gpu", "http://gpu:11434"),
        (" gpu:8080/ ", "http://gpu:8080"),
        ("gpu/ollama", "http://gpu:11434/ollama"),
        ("[fe80::1]", "http://[fe80::1]:11434"),
        ("[fe80::1]:8080", "http://[fe80::1]:8080"),
        ("http://gpu", "http://gpu"),
        ("https://ollama.com", "https://ollama.com"),
        ("https://ollama.com:8443/x/", "https://ollama.com:8443/x"),
    ],
)
def test_the_server_is_named_as_ollama_names_it(host: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert OllamaModel("m").base_url == url

    monkeypatch.setenv("OLLAMA_HOST", "elsewhere")
    if host:
        assert OllamaModel("m", base_url=host).base_url == url


@pytest.mark.parametrize("host", ["gpu:99999", "gpu:x", "user:pw@gpu", "gpu?a=1", "ftp://gpu", "http://"])
def test_what_is_no_address_is_refused(host: str) -> None:
    with pytest.raises(ConfigurationError, match="base_url") as caught:
        OllamaModel("m", base_url=host)

    assert "pw@" not in str(caught.value)


def test_it_is_found_by_its_name_and_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)
    model = resolve_model("ollama:llama3.2")

    assert isinstance(model, OllamaModel)
    assert (model.model_name, model.base_url) == ("llama3.2", "http://127.0.0.1:11434")
    assert repr(model) == "OllamaModel('llama3.2', base_url='http://127.0.0.1:11434')"
    assert not supports_native_structured_output(model)
    assert supports_native_structured_output(OllamaModel("m", native_structured_output=True))
