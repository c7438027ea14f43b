"""Gemini under the contract."""

from __future__ import annotations

import base64
from typing import Any

import aiohttp

from agentscope_rx.model import ChatModel, GeminiModel
from agentscope_rx.model.gemini._decode import ChunkDecoder
from tests.model.provider import CITY, KEY, Provider

__all__ = ["PROVIDER"]

MODEL = "gemini-2.5-flash"
SPELLED = {"mime_type": "mimeType", "parameters_json_schema": "parametersJsonSchema"}
"""Deep inside, the client writes fields as the protocol buffers name them; the API takes both."""


def make(url: str, model: str = MODEL, **settings: Any) -> ChatModel:
    return GeminiModel(model, api_key=KEY, base_url=url, **settings)


async def sdk(url: str) -> None:
    from google.genai import Client, types

    image = types.Blob(mime_type="image/png", data=base64.b64decode("QUJD"))
    call = types.FunctionCall(id="call_1", name="get_weather", args={"city": "Paris"})
    answer = types.FunctionResponse(id="call_1", name="get_weather", response={"output": "sunny"})
    tool = types.FunctionDeclaration(
        name="get_weather", description="Says the weather.", parameters_json_schema=CITY
    )
    mode = types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.AUTO)
    config = types.GenerateContentConfig(
        system_instruction=types.Content(parts=[types.Part(text="Be kind.")]),
        tools=[types.Tool(function_declarations=[tool])],
        tool_config=types.ToolConfig(function_calling_config=mode),
        temperature=0.5,
        max_output_tokens=100,
    )

    def content(role: str, *parts: types.Part) -> types.Content:
        return types.Content(role=role, parts=list(parts))

    host, _, version = url.rpartition("/")
    async with aiohttp.ClientSession() as session:  # its own is of a class that aiohttp warns about
        options = types.HttpOptions(base_url=host, api_version=version, aiohttp_client=session)
        client = Client(api_key=KEY, http_options=options).aio
        stream = await client.models.generate_content_stream(
            model=MODEL,
            contents=[
                content("user", types.Part(text="How is the weather here?"), types.Part(inline_data=image)),
                content("model", types.Part(text="Let me look."), types.Part(function_call=call)),
                content("user", types.Part(function_response=answer)),
                content("model", types.Part(text="It is sunny.")),
                content("user", types.Part(text="And tomorrow?")),
            ],
            config=config,
        )
        async for _ in stream:
            pass


def chunk(finish: str | None = None, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **more}


PROVIDER = Provider(
    name="gemini",
    model=MODEL,
    kind="gemini_sse",
    make=make,
    decoder=lambda params: ChunkDecoder("m"),
    finish=(chunk(None, {"text": "a"}), chunk("STOP")),
    path="/v1beta",
    thinker=MODEL,
    sdk=sdk,
    sdk_spells=SPELLED,
)
