"""OpenAI's chat completions under the contract."""

from __future__ import annotations

from typing import Any

from agentscope_rx.model import ChatModel, OpenAIChatModel
from agentscope_rx.model.openai._decode import ChunkDecoder
from tests.model.provider import CITY, KEY, Provider

__all__ = ["PROVIDER"]

MODEL = "gpt-4o"


def make(url: str, model: str = MODEL, **settings: Any) -> ChatModel:
    return OpenAIChatModel(model, api_key=KEY, base_url=url, **settings)


async def sdk(url: str) -> None:
    from openai import AsyncOpenAI

    call: Any = {"id": "call_1", "type": "function"}
    call["function"] = {"name": "get_weather", "arguments": '{"city":"Paris"}'}
    tool: Any = {"name": "get_weather", "description": "Says the weather.", "parameters": CITY}
    async with AsyncOpenAI(api_key=KEY, base_url=url, max_retries=0) as client:
        stream: Any = await client.chat.completions.create(
            model=MODEL,
            messages=[
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": [
                    {"type": "text", "text": "How is the weather here?"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}]},
                {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
                {"role": "assistant", "content": "It is sunny."},
                {"role": "user", "content": "And tomorrow?"},
            ],
            tools=[{"type": "function", "function": tool}],
            tool_choice="auto",
            temperature=0.5,
            max_tokens=100,
            stream=True,
            stream_options={"include_usage": True},
        )  # fmt: skip
        async for _ in stream:
            pass


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


PROVIDER = Provider(
    name="openai",
    model=MODEL,
    kind="openai_sse",
    make=make,
    decoder=lambda params: ChunkDecoder("m"),
    finish=(chunk(content="a"), chunk("stop"), "[DONE]"),
    thinker="deepseek-reasoner",
    sdk=sdk,
)
