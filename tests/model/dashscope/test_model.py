"""The model over a real socket: what it sends and where to, and an agent with it."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest
from aiohttp import web
from reactivex import operators as ops

from agentscope_rx.agent import ReActAgent
from agentscope_rx.errors import (
    BadModelOutputError,
    ConfigurationError,
    ContentFilterError,
    ModelHTTPError,
    RateLimitedError,
)
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    ChatUsage,
    DataBlock,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    URLSource,
    UserMessage,
)
from agentscope_rx.model import (
    ChatResponse,
    DashScopeModel,
    GenerateOptions,
    OpenAIChatModel,
    ToolSchema,
    resolve_model,
    supports_native_structured_output,
)
from agentscope_rx.model._history import CACHE_CONTROL
from agentscope_rx.tool import tool
from tests.model.loopback import Handler, Server, events, serving, status

KEY = "sk-very-secret-0123456789"
TEXT = "/api/v1/services/aigc/text-generation/generation"
MULTIMODAL = "/api/v1/services/aigc/multimodal-generation/generation"


def frames(*bodies: Any) -> Handler:
    """Answer with frames as the server writes them."""
    return raw(*(f"id:{n}\nevent:result\n:HTTP_STATUS/200\ndata:{json.dumps(body)}\n\n"
                 for n, body in enumerate(bodies)))  # fmt: skip


def raw(*texts: str) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream;charset=UTF-8"})
        await response.prepare(request)
        for text in texts:
            await response.write(text.encode())
        await response.write_eof()
        return response

    return handler


def body(message: dict[str, Any], finish: str = "null", **more: Any) -> dict[str, Any]:
    return {"output": {"choices": [{"message": message, "finish_reason": finish}]}, "request_id": "r", **more}


USAGE = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
HELLO = (body({"content": "Hel"}), body({"content": "lo"}), body({"content": ""}, "stop", usage=USAGE))


def root(server: Server) -> str:
    return server.url.removesuffix("/v1")


def model_at(server: Server, model: str = "qwen-plus", **more: Any) -> DashScopeModel:
    return DashScopeModel(model, api_key=KEY, base_url=root(server), **more)


async def ask(model: DashScopeModel, *parts: Any, **more: Any) -> list[ChatResponse]:
    return await model.stream([UserMessage(TextBlock("hi"), *parts)], **more).pipe(ops.to_list())


def text_of(responses: list[ChatResponse]) -> str:
    return "".join(part.text for item in responses for part in item.content if isinstance(part, TextBlock))


@pytest.mark.asyncio
async def test_the_request_carries_what_the_model_and_the_call_say() -> None:
    options = GenerateOptions(temperature=0.1, extra_headers={"X-DashScope-WorkSpace": "w"})
    async with serving(frames(*HELLO)) as server:
        model = model_at(server, options=options, enable_thinking=True, enable_search=True)
        answer = await ask(
            model,
            tools=[ToolSchema("add", "Adds.")],
            options=GenerateOptions(max_tokens=9, tool_choice="add", extra_query={"v": "3"}),
        )

    assert text_of(answer) == "Hello"
    assert (answer[-1].finish_reason, answer[-1].id) == ("stop", "r")
    usage = answer[-1].usage
    assert usage == ChatUsage(5, 2, time=0.0 if usage is None else usage.time)
    request, sent = server.requests[0], server.bodies[0]
    assert (request.method, request.path_qs) == ("POST", f"{TEXT}?v=3")
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["X-DashScope-SSE"] == "enable"
    assert request.headers["Accept"] == "text/event-stream"
    assert request.headers["X-DashScope-WorkSpace"] == "w"
    assert sent["input"] == {"messages": [{"role": "user", "content": "hi"}]}
    parameters = sent["parameters"]
    assert (parameters.pop("tools")[0]["function"]["name"], sent["model"]) == ("add", "qwen-plus")
    assert parameters == {
        "result_format": "message", "incremental_output": True, "temperature": 0.1, "max_tokens": 9,
        "enable_thinking": True, "enable_search": True, "tool_choice": "auto",
    }  # fmt: skip


@pytest.mark.asyncio
async def test_options_and_thinking_are_what_the_official_client_sends() -> None:
    from dashscope import AsyncClient

    wanted = {"type": "json_object"}
    options = GenerateOptions(
        temperature=0.5, top_p=0.9, top_k=3, max_tokens=9, presence_penalty=0.2, seed=7, stop=("END",),
        thinking_budget=5, parallel_tool_calls=True, tool_choice="auto", response_format=wanted,
        extra_body={"parameters": {"repetition_penalty": 1.1}},
    )  # fmt: skip
    said = AssistantMessage(
        "me", [ThinkingBlock("hm", {"signature": "s", "reasoning_signature": "s"}), TextBlock("hello")]
    )
    asked = [
        SystemMessage("be kind", metadata={CACHE_CONTROL: True}),
        UserMessage("hi"),
        said,
        UserMessage("so?"),
    ]
    system = {"type": "text", "text": "be kind", "cache_control": {"type": "ephemeral"}}
    function = {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {}}}
    async with serving(frames(*HELLO)) as server:
        await model_at(server, enable_search=True).stream(asked, [ToolSchema("add", "Adds.")], options)
        async with AsyncClient(api_key=KEY, base_url=f"{root(server)}/api/v1", protocol="native") as client:
            answer = await client.chat.completions.create(
                model="qwen-plus",
                messages=[
                    {"role": "system", "content": [system]},
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "content": "hello", "reasoning_content": "hm",
                     "reasoning_signature": "s"},
                    {"role": "user", "content": "so?"},
                ],
                tools=[{"type": "function", "function": function}],
                temperature=0.5, top_p=0.9, top_k=3, max_tokens=9, presence_penalty=0.2, seed=7, stop=["END"],
                enable_thinking=True, thinking_budget=5, parallel_tool_calls=True, tool_choice="auto",
                response_format=wanted, repetition_penalty=1.1, enable_search=True, stream=True,
            )  # fmt: skip
            async for _ in answer:
                pass

    ours, theirs = server.bodies
    assert ours == theirs
    assert [request.path for request in server.requests] == [TEXT, TEXT]
    assert [request.headers["X-DashScope-SSE"] for request in server.requests] == ["enable", "enable"]


IMAGE = DataBlock(Base64Source("image/png", "QUJD"))


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("model", "endpoint", "parts", "path"),
    [
        ("qwen-plus", "auto", (), TEXT),
        ("qwen-plus", "auto", (IMAGE,), MULTIMODAL),
        ("qwen-plus", "text", (IMAGE,), TEXT),
        ("qwen-plus", "multimodal", (), MULTIMODAL),
        ("qwen3-vl-plus", "auto", (), MULTIMODAL),
        ("qwen3-vl-plus", "text", (), TEXT),
    ],
)
async def test_the_endpoint_is_that_of_the_model_and_of_what_it_is_to_see(
    model: str, endpoint: str, parts: tuple[Any, ...], path: str
) -> None:
    async with serving(frames(*HELLO)) as server:
        await ask(model_at(server, model, endpoint=endpoint), *parts)

    assert server.requests[0].path == path
    (message,) = server.bodies[0]["input"]["messages"]
    assert isinstance(message["content"], list) == (path == MULTIMODAL)
    assert "X-DashScope-OssResourceResolve" not in server.requests[0].headers


@pytest.mark.asyncio
async def test_files_that_were_uploaded_are_to_be_looked_up() -> None:
    async with serving(frames(*HELLO)) as server:
        await ask(model_at(server), DataBlock(URLSource("oss://bucket/a.png")))

    assert server.requests[0].headers["X-DashScope-OssResourceResolve"] == "enable"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("path", "sent"),
    [("", TEXT), ("/", TEXT), ("/api/v1", TEXT), ("/proxy", TEXT.replace("/api/v1", "/proxy"))],
)  # fmt: skip
async def test_the_address_may_name_the_version_or_not(path: str, sent: str) -> None:
    async with serving(frames(*HELLO)) as server:
        await ask(DashScopeModel("m", base_url=root(server) + path))

    assert server.requests[0].path == sent
    assert "Authorization" not in server.requests[0].headers


SO_FAR = (body({"content": "I"}), body({"content": "I am"}), body({"content": "I am Q"}, "stop"))


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "more",
    [
        {"incremental_output": False},
        {"options": GenerateOptions(extra_body={"parameters": {"incremental_output": False}})},
    ],
)
async def test_frames_that_bring_all_so_far_are_asked_for_and_said_once(more: dict[str, Any]) -> None:
    async with serving(frames(*SO_FAR)) as server:
        model = model_at(server, **more)
        assert text_of(await ask(model)) == text_of(await ask(model)) == "I am Q"

    assert [sent["parameters"]["incremental_output"] for sent in server.bodies] == [False, False]


@pytest.mark.asyncio
async def test_what_frames_bring_is_not_guessed_from_them() -> None:
    async with serving(frames(*SO_FAR)) as server:
        assert text_of(await ask(model_at(server))) == "II amI am Q"

    async with serving(frames(*HELLO)) as server:
        with pytest.raises(BadModelOutputError, match="incremental_output=True"):
            await ask(model_at(server, incremental_output=False))


@pytest.mark.asyncio
async def test_errors_are_known_by_their_code_as_a_status_and_inside_a_stream() -> None:
    said = {"code": "Throttling.RateQuota", "message": "slow down", "request_id": "req-1"}
    async with serving(status(429, json.dumps(said))) as server:
        with pytest.raises(RateLimitedError, match=r"429 .*slow down; ask less often \(request req-1\)"):
            await ask(model_at(server))

    error = '{"code": "DataInspectionFailed", "message": "bad words", "request_id": "r"}'
    ending = f"id:2\nevent:error\n:HTTP_STATUS/400\ndata:{error}\n\n"
    async with serving(raw(f"data:{json.dumps(body({'content': 'par'}))}\n\n", ending)) as server:
        with pytest.raises(ContentFilterError, match="bad words") as caught:
            await ask(model_at(server))
    assert (caught.value.status, caught.value.code) == (400, "DataInspectionFailed")


@pytest.mark.asyncio
async def test_a_model_at_the_wrong_endpoint_says_what_to_do() -> None:
    said = {"code": "InvalidParameter", "message": "url error, please check url!", "request_id": "r"}
    async with serving(status(400, json.dumps(said))) as server:
        with pytest.raises(
            ModelHTTPError, match=r"url error, .*; if another endpoint .*'multimodal'"
        ) as caught:
            await ask(model_at(server))

    assert (caught.value.status, caught.value.code) == (400, "InvalidParameter")


# OpenAI's protocol

CHUNKS = (
    {"choices": [{"delta": {"reasoning_content": "hm"}}]},
    {"choices": [{"delta": {"content": "Hello"}, "finish_reason": "stop"}]},
    "[DONE]",
)


@pytest.mark.asyncio
@pytest.mark.parametrize("more", [{"compatible": True}, {}])
async def test_the_compatible_mode_has_the_same_options(more: dict[str, Any]) -> None:
    async with serving(events(*CHUNKS)) as server:
        model = DashScopeModel(
            "qwen-plus",
            api_key=KEY,
            base_url=f"{root(server)}/compatible-mode/v1",
            options=GenerateOptions(temperature=0.1, extra_body={"enable_search": False}),
            enable_thinking=True,
            enable_search=True,
            **more,
        )
        answer = await ask(
            model,
            tools=[ToolSchema("add")],
            options=GenerateOptions(max_tokens=9, tool_choice="required", thinking_budget=5),
        )

    assert text_of(answer) == "Hello"
    request, sent = server.requests[0], server.bodies[0]
    assert request.path == "/compatible-mode/v1/chat/completions"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert sent.pop("tools")[0]["function"]["name"] == "add"
    assert sent == {
        "model": "qwen-plus", "messages": [{"role": "user", "content": "hi"}], "stream": True,
        "stream_options": {"include_usage": True}, "temperature": 0.1, "max_tokens": 9,
        "enable_thinking": True, "thinking_budget": 5, "enable_search": False, "tool_choice": "auto",
    }  # fmt: skip


@pytest.mark.asyncio
async def test_the_compatible_mode_can_force_a_model_that_does_not_think() -> None:
    async with serving(events(*CHUNKS)) as server:
        model = model_at(server, compatible=True, options=GenerateOptions(tool_choice="required"))
        await ask(model, tools=[ToolSchema("add")], options=GenerateOptions(reasoning_effort="none"))

    sent = server.bodies[0]
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "add"}}
    assert sent["enable_thinking"] is False
    assert "reasoning_effort" not in sent
    assert "enable_search" not in sent


# Names and addresses


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DASHSCOPE_API_KEY", "DASHSCOPE_HTTP_BASE_URL", "DASHSCOPE_COMPATIBLE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_the_key_and_the_servers_are_those_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="DASHSCOPE_API_KEY"):
        DashScopeModel("qwen-plus")
    with pytest.raises(ConfigurationError, match="DASHSCOPE_API_KEY"):
        DashScopeModel("qwen-plus", compatible=True)

    monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
    assert DashScopeModel("m").base_url == "https://dashscope.aliyuncs.com/api/v1"
    compatible = DashScopeModel("m", compatible=True)
    assert compatible.base_url == "https://dashscope.aliyuncs.com/compatible-mode/v1"
    assert OpenAIChatModel("m", provider="dashscope").base_url == compatible.base_url

    monkeypatch.setenv("DASHSCOPE_HTTP_BASE_URL", "https://native.invalid")
    monkeypatch.setenv("DASHSCOPE_COMPATIBLE_BASE_URL", "https://compatible.invalid")
    assert DashScopeModel("m").base_url == "https://native.invalid"
    assert DashScopeModel("m", compatible=True).base_url == "https://compatible.invalid"


@pytest.mark.parametrize("name", ["dashscope:qwen-plus", "qwen-plus"])
def test_it_is_found_by_its_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
    model = resolve_model(name)

    assert isinstance(model, DashScopeModel)
    assert model.model_name == "qwen-plus"
    assert repr(model) == "DashScopeModel('qwen-plus', base_url='https://dashscope.aliyuncs.com/api/v1')"
    assert not supports_native_structured_output(model)
    assert supports_native_structured_output(DashScopeModel("m", native_structured_output=True))


def test_an_endpoint_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="endpoint='vision' is none"):
        DashScopeModel("m", api_key=KEY, endpoint="vision")


# A whole agent


@tool
def weather(city: str) -> str:
    """Says the weather in a city."""
    return f"windy in {city}"


def call(arguments: str, id: str = "", name: str = "", index: int = 0) -> dict[str, Any]:
    return {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


ASKING = (
    body({"role": "assistant", "content": "", "reasoning_content": "Two "}),
    body({"content": "", "reasoning_content": "cities."}),
    body({"content": "Let me look."}),
    body({"content": "", "tool_calls": [call("", "c1", "weather")]}),
    body({"content": "", "tool_calls": [call('{"city": "Os')]}),
    body({"content": "", "tool_calls": [call('lo"}'), call('{"city":', "c2", "weather", 1)]}),
    body({"content": "", "tool_calls": [call(' "Rome"}', index=1)]}, usage=USAGE),
    body({"content": ""}, "tool_calls", usage=USAGE),
)
ANSWERING = (body({"content": "Both are "}), body({"content": "windy."}, "stop", usage=USAGE))


async def converse(request: web.Request) -> web.StreamResponse:
    """Ask for the weather; answer when it is there."""
    messages = (await request.json())["input"]["messages"]
    said = ASKING if messages[-1]["role"] == "user" else ANSWERING
    return await frames(*said)(request)


@pytest.mark.asyncio
async def test_an_agent_runs_its_tools_and_answers() -> None:
    async with serving(converse) as server:
        agent = ReActAgent("assistant", "Be kind.", model=model_at(server), toolkit=[weather])
        reply = await agent.reply("How is the weather?")

    assert [block.type for block in reply.content] == [
        "thinking", "text", "tool_use", "tool_use", "tool_result", "tool_result", "text",
    ]  # fmt: skip
    results = reply.get_content_blocks(ToolResultBlock)
    assert [result.text_content for result in results] == ["windy in Oslo", "windy in Rome"]
    assert reply.text_content.endswith("Both are windy.")
    assert server.bodies[1]["input"]["messages"][2:] == [
        {"role": "assistant", "content": "Let me look.", "reasoning_content": "Two cities.",
         "tool_calls": [
             {"id": "c1", "type": "function",
              "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}},
             {"id": "c2", "type": "function",
              "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}]},
        {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": "windy in Oslo"},
        {"role": "tool", "tool_call_id": "c2", "name": "weather", "content": "windy in Rome"},
    ]  # fmt: skip


@pytest.mark.asyncio
async def test_what_the_command_line_prints_replays_to_the_message_of_the_run() -> None:
    async with serving(converse) as server:
        where = ["--model", "dashscope:qwen-plus", "--base-url", root(server)]
        chatted = await run("chat", *where, "--once", "How is the weather?", "--events")
        replayed = await run("replay", "-", given=chatted)

    happened = [json.loads(line) for line in chatted.splitlines()]
    reported = next(event["result"] for event in happened if event["type"] == "AGENT_RESULT")
    assert json.loads(replayed) == reported
    assert "Both are windy." in replayed.decode()


async def run(*arguments: str, given: bytes = b"") -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "agentscope_rx", *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, _ = await asyncio.wait_for(process.communicate(given), 60)
    assert process.returncode == 0
    return output
