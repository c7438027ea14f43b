"""OpenAI's Responses API under the contract."""

from __future__ import annotations

from typing import Any

from agentscope_rx.model import ChatModel, OpenAIResponsesModel
from agentscope_rx.model.openai_responses._decode import ResponseDecoder
from tests.model.provider import CITY, KEY, Provider

__all__ = ["PROVIDER"]

MODEL = "gpt-4o"


def make(url: str, model: str = MODEL, **settings: Any) -> ChatModel:
    return OpenAIResponsesModel(model, api_key=KEY, base_url=url, **settings)


async def sdk(url: str) -> None:
    from openai import AsyncOpenAI

    call: Any = {"type": "function_call", "call_id": "call_1", "name": "get_weather"}
    call["arguments"] = '{"city":"Paris"}'
    tool: Any = {"type": "function", "name": "get_weather", "description": "Says the weather."}
    tool |= {"parameters": CITY, "strict": False}
    async with AsyncOpenAI(api_key=KEY, base_url=url, max_retries=0) as client:
        stream: Any = await client.responses.create(
            model=MODEL,
            input=[
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": [
                    {"type": "input_text", "text": "How is the weather here?"},
                    {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,QUJD"}]},
                {"role": "assistant", "content": "Let me look."},
                call,
                {"type": "function_call_output", "call_id": "call_1", "output": "sunny"},
                {"role": "assistant", "content": "It is sunny."},
                {"role": "user", "content": "And tomorrow?"},
            ],
            tools=[tool],
            tool_choice="auto",
            temperature=0.5,
            max_output_tokens=100,
            store=False,
            stream=True,
        )  # fmt: skip
        async for _ in stream:
            pass


PROVIDER = Provider(
    name="openai-responses",
    model=MODEL,
    kind="openai_responses_sse",
    make=make,
    decoder=lambda params: ResponseDecoder("m"),
    finish=(
        {
            "type": "response.output_text.delta",
            "item_id": "m",
            "output_index": 0,
            "content_index": 0,
            "delta": "a",
        },
        {"type": "response.completed", "response": {"id": "r", "status": "completed"}},
    ),
    thinker="gpt-5",
    sdk=sdk,
)
