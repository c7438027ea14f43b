"""The model over a real socket, and beside the official SDK."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web
from reactivex import operators as ops

from agentscope_rx.agent import ReActAgent
from agentscope_rx.errors import ConfigurationError, ContextTooLongError, ModelHTTPError, RateLimitedError
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    DataBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
    UserMessage,
)
from agentscope_rx.model import GeminiModel, GenerateOptions, ModelRegistry, ToolSchema
from agentscope_rx.store import JsonFileAgentStateStore
from agentscope_rx.tool import tool
from tests.aimock import AIMock
from tests.model.gemini.provider import SPELLED, chunk
from tests.model.loopback import Handler, events, serving, status
from tests.model.test_contract import respelled

KEY = "key-0123456789"
SCHEMA = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
HELLO = (chunk(None, {"text": "Hel"}), chunk("STOP", {"text": "lo"}))


def model_at(url: str, model: str = "gemini-2.5-flash", **more: Any) -> GeminiModel:
    return GeminiModel(model, api_key=KEY, base_url=url, **more)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("base", "model", "path"),
    [
        ("", "gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"),
        ("/v1beta", "gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"),
        ("/v1", "models/gemini-x", "/v1/models/gemini-x:streamGenerateContent?alt=sse"),
        ("/gate/v1alpha", "tunedModels/a b", "/gate/v1alpha/tunedModels/a%20b:streamGenerateContent?alt=sse"),
        ("/gate", "gemini-x", "/gate/v1beta/models/gemini-x:streamGenerateContent?alt=sse"),
    ],
)
@pytest.mark.asyncio
async def test_the_model_and_the_version_are_in_the_path(base: str, model: str, path: str) -> None:
    async with serving(events(*HELLO)) as server:
        url = server.url.removesuffix("/v1") + base
        await model_at(url, model).stream([UserMessage("hi")]).pipe(ops.to_list())

    (request,) = server.requests
    assert request.raw_path == path
    assert request.headers["x-goog-api-key"] == KEY
    assert KEY not in request.raw_path


def test_the_key_and_the_server_are_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="set GEMINI_API_KEY or GOOGLE_API_KEY"):
        GeminiModel("gemini-2.5-flash")
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    model = ModelRegistry.resolve("gemini:gemini-2.5-flash")
    assert isinstance(model, GeminiModel)
    assert repr(model) == (
        "GeminiModel('gemini-2.5-flash', base_url='https://generativelanguage.googleapis.com/v1beta')"
    )
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
    assert GeminiModel("gemini-2.5-flash").base_url == "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("model", "given", "native"),
    [
        ("gemini-2.5-flash", None, False),
        ("gemini-3-pro", None, True),
        ("gemini-2.5-flash", True, True),
        ("gemini-3-pro", False, False),
    ],
)
def test_newer_models_hold_their_answers_to_a_schema_beside_tools(
    model: str, given: bool | None, native: bool
) -> None:
    made = model_at("http://127.0.0.1:1", model, native_structured_output=given)

    assert made.supports_native_structured_output is native
    with pytest.raises(ConfigurationError, match="give True, False or None"):
        model_at("http://127.0.0.1:1", native_structured_output=1)


@pytest.mark.parametrize(
    ("code", "error", "kind"),
    [
        (429, {"code": 429, "message": "Quota.", "status": "RESOURCE_EXHAUSTED"}, RateLimitedError),
        (400, {"code": 400, "message": "The input token count (9) exceeds the maximum (8).",
               "status": "INVALID_ARGUMENT"}, ContextTooLongError),
        (404, {"code": 404, "message": "models/x is not found.", "status": "NOT_FOUND"}, ModelHTTPError),
    ],
)  # fmt: skip
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.asyncio
async def test_an_error_status_is_what_its_body_says(
    code: int, error: dict[str, Any], kind: type[ModelHTTPError], listed: bool
) -> None:
    body: Any = {"error": error}
    async with serving(status(code, json.dumps([body] if listed else body))) as server:
        with pytest.raises(kind) as caught:
            await model_at(server.url).stream([UserMessage("hi")]).pipe(ops.to_list())

    assert type(caught.value) is kind
    assert caught.value.type == error["status"]
    assert error["message"].rstrip(".") in str(caught.value)


@pytest.mark.asyncio
async def test_a_rate_limit_says_in_its_body_how_long_it_lasts() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]
    body = {"error": {"code": 429, "message": "Quota.", "status": "RESOURCE_EXHAUSTED", "details": details}}
    async with serving(status(429, json.dumps(body))) as server:
        with pytest.raises(RateLimitedError, match="Quota; try again after 34 s") as caught:
            await model_at(server.url).stream([UserMessage("hi")]).pipe(ops.to_list())

    assert caught.value.retry_after == 34.0


def in_turn(*answers: list[dict[str, Any]]) -> Handler:
    """Answer each request with the next list of parts, a chunk for each."""
    waiting = iter(answers)

    async def handler(request: web.Request) -> web.StreamResponse:
        chunks = [chunk(None, part) for part in next(waiting)]
        return await events(*chunks, chunk("STOP"))(request)

    return handler


@tool
def weather(city: str) -> str:
    """Says the weather in a city."""
    return f"windy in {city}"


@pytest.mark.asyncio
async def test_an_agent_gives_back_what_was_signed_also_from_a_file(tmp_path: Path) -> None:
    thought = {"text": "I must ask.", "thought": True}
    first = {
        "functionCall": {"id": "fc1", "name": "weather", "args": {"city": "Oslo"}},
        "thoughtSignature": "a",
    }
    second = {"functionCall": {"id": "fc2", "name": "weather", "args": {"city": "Rome"}}}
    said = [{"text": "Both are "}, {"text": "windy."}, {"text": "", "thoughtSignature": "b"}]
    store = JsonFileAgentStateStore(tmp_path)
    async with serving(in_turn([thought, first, first, second], said, [{"text": "Yes."}])) as server:
        model = model_at(server.url, "gemini-3-pro-preview")
        for question in ("How is the weather?", "Sure?"):
            agent = ReActAgent("assistant", model=model, toolkit=[weather], state_store=store)
            reply = await agent.reply(question)

    assert reply.text_content == "Yes."
    asked = {"role": "user", "parts": [{"text": "How is the weather?"}]}
    came = [
        {"functionResponse": {"id": id, "name": "weather", "response": {"output": f"windy in {city}"}}}
        for id, city in (("fc1", "Oslo"), ("fc2", "Rome"))
    ]
    round = [asked, {"role": "model", "parts": [thought, first, second]}, {"role": "user", "parts": came}]
    assert server.bodies[1]["contents"] == round
    assert server.bodies[2]["contents"] == [
        *round,
        {"role": "model", "parts": [{"text": "Both are windy."}, {"text": "", "thoughtSignature": "b"}]},
        {"role": "user", "parts": [{"text": "Sure?"}]},
    ]


@pytest.mark.parametrize("model", ["gemini-3-pro-preview", "gemini-2.5-flash"])
@pytest.mark.asyncio
async def test_an_answer_is_held_to_a_schema_beside_tools_or_given_by_a_tool(model: str) -> None:
    native = model.startswith("gemini-3")
    call = {"functionCall": {"name": "generate_response", "args": {"sure": True}}}
    answers = [[{"text": '{"sure": true}'}]] if native else [[call], [{"text": "Done."}]]
    async with serving(in_turn(*answers)) as server:
        agent = ReActAgent("assistant", model=model_at(server.url, model), toolkit=[weather])
        reply = await agent.reply("Sure?", output=SCHEMA)

    assert reply.structured_output == {"sure": True}
    config = server.bodies[0].get("generationConfig", {})
    assert config.get("responseJsonSchema") == ({**SCHEMA, "title": "response"} if native else None)
    declared = [each["name"] for each in server.bodies[0]["tools"][0]["functionDeclarations"]]
    assert ("generate_response" in declared) is not native


@pytest.mark.asyncio
async def test_what_the_simulator_says_aloud_is_a_data_block(aimock: AIMock) -> None:
    sound = {"b64Json": "QUJD", "contentType": "audio/wav"}
    url = aimock({"match": {"userMessage": "sing"}, "response": {"audio": sound, "content": "La."}})
    model = model_at(url.replace("/v1", "/v1beta"))
    responses = await model.stream([UserMessage("sing")]).pipe(ops.to_list())

    data, text = (part for response in responses for part in response.content)
    assert isinstance(data, DataBlock)
    assert data.source == Base64Source("audio/wav", "QUJD")
    assert text == TextBlock("La.")


ANSWER = ToolResultBlock(
    "fc1",
    "look",
    [TextBlock("here"), DataBlock(Base64Source("image/png", "QUJD"))],
    state=ToolResultState.SUCCESS,
)
CONVERSATION = (
    UserMessage(
        content=[TextBlock("What is in it?"), DataBlock(URLSource("https://x/y.pdf", "application/pdf"))]
    ),
    AssistantMessage(
        "me",
        [
            ThinkingBlock("hm"),
            TextBlock("Let me look.", {"thoughtSignature": "dHh0", "covers": 0}),
            ToolUseBlock("fc1", "look", {}, metadata={"thoughtSignature": "c2ln"}),
            ANSWER,
            TextBlock("A cat."),
        ],
    ),
    UserMessage("Sure?"),
)
OPTIONS = GenerateOptions(
    top_p=0.5, top_k=3, seed=7, stop="END", reasoning_effort="low", tool_choice="look",
    response_format=SCHEMA,
    extra_body={"safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]},
)  # fmt: skip


async def sdk(url: str, model: str) -> None:
    from google.genai import Client, types

    def content(role: str, *parts: types.Part) -> types.Content:
        return types.Content(role=role, parts=list(parts))

    image = types.FunctionResponseBlob(mime_type="image/png", data=base64.b64decode("QUJD"))
    answer = types.FunctionResponse(
        id="fc1", name="look", response={"output": "here\n[image/png]"},
        parts=[types.FunctionResponsePart(inline_data=image)],
    )  # fmt: skip
    call = types.FunctionCall(id="fc1", name="look", args={})
    file = types.FileData(file_uri="https://x/y.pdf", mime_type="application/pdf")
    calling = types.FunctionCallingConfig(
        mode=types.FunctionCallingConfigMode.ANY, allowed_function_names=["look"]
    )
    tool = types.FunctionDeclaration(name="look", description="Looks.")
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[tool])],
        tool_config=types.ToolConfig(function_calling_config=calling),
        top_p=0.5, top_k=3, seed=7, stop_sequences=["END"],
        thinking_config=types.ThinkingConfig(thinking_level=types.ThinkingLevel.LOW, include_thoughts=True),
        response_mime_type="application/json", response_json_schema=SCHEMA,
        safety_settings=[types.SafetySetting(
            category=types.HarmCategory.HARM_CATEGORY_HARASSMENT,
            threshold=types.HarmBlockThreshold.BLOCK_NONE,
        )],
    )  # fmt: skip
    async with ClientSession() as session:
        options = types.HttpOptions(base_url=url, api_version="v1beta", aiohttp_client=session)
        stream = await Client(api_key=KEY, http_options=options).aio.models.generate_content_stream(
            model=model,
            contents=[
                content("user", types.Part(text="What is in it?"), types.Part(file_data=file)),
                content(
                    "model", types.Part(text="hm", thought=True), types.Part(text="Let me look."),
                    types.Part(text="", thought_signature=b"txt"),
                    types.Part(function_call=call, thought_signature=b"sig"),
                ),
                content("user", types.Part(function_response=answer)),
                content("model", types.Part(text="A cat.")),
                content("user", types.Part(text="Sure?")),
            ],
            config=config,
        )  # fmt: skip
        async for _ in stream:
            pass


@pytest.mark.asyncio
async def test_signatures_media_thinking_and_a_schema_are_sent_as_the_official_sdk_sends_them() -> None:
    model = "gemini-3-pro-preview"
    async with serving(events(*HELLO)) as server:
        url = server.url.removesuffix("/v1")
        ours = model_at(f"{url}/v1beta", model)
        await ours.stream(CONVERSATION, [ToolSchema("look", "Looks.")], OPTIONS).pipe(ops.to_list())
        await sdk(url, model)

    our_body, their_body = server.bodies
    spelled = SPELLED | {
        "file_uri": "fileUri", "thinking_level": "thinkingLevel", "include_thoughts": "includeThoughts",
        "inline_data": "inlineData",
    }  # fmt: skip
    assert our_body == respelled(their_body, spelled)
