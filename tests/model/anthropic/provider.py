"""Anthropic's Messages API under the contract."""

from __future__ import annotations

from typing import Any

from agentscope_rx.model import AnthropicModel, ChatModel
from agentscope_rx.model.anthropic._decode import MessageDecoder
from tests.model.anthropic.stream import finish, stop, text
from tests.model.provider import CITY, KEY, Provider

__all__ = ["PROVIDER"]

MODEL = "claude-sonnet-4-5"


def make(url: str, model: str = MODEL, **settings: Any) -> ChatModel:
    return AnthropicModel(model, api_key=KEY, base_url=url, **settings)


async def sdk(url: str) -> None:
    from anthropic import AsyncAnthropic

    image: Any = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    call: Any = {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {"city": "Paris"}}
    result: Any = {"type": "tool_result", "tool_use_id": "call_1", "content": "sunny"}
    async with AsyncAnthropic(api_key=KEY, base_url=url, max_retries=0) as client:
        stream: Any = await client.messages.create(
            model=MODEL,
            max_tokens=100,
            system="Be kind.",
            messages=[
                {"role": "user", "content": [
                    {"type": "text", "text": "How is the weather here?"},
                    {"type": "image", "source": image}]},
                {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, call]},
                {"role": "user", "content": [result]},
                {"role": "assistant", "content": "It is sunny."},
                {"role": "user", "content": "And tomorrow?"},
            ],
            tools=[{"name": "get_weather", "description": "Says the weather.", "input_schema": CITY}],
            tool_choice={"type": "auto"},
            stream=True,
            extra_body={"temperature": 0.5},
        )  # fmt: skip
        async for _ in stream:
            pass


PROVIDER = Provider(
    name="anthropic",
    model=MODEL,
    kind="anthropic_sse",
    make=make,
    decoder=lambda params: MessageDecoder("m"),
    finish=(text(0, "a"), stop(0), *finish()),
    path="",
    thinker=MODEL,
    sdk=sdk,
)
