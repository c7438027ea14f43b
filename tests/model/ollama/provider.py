"""Ollama under the contract."""

from __future__ import annotations

from typing import Any

from agentscope_rx.model import ChatModel, OllamaModel
from agentscope_rx.model.ollama._decode import LineDecoder
from tests.model.provider import CITY, KEY, Provider

__all__ = ["PROVIDER"]

MODEL = "qwen3"


def make(url: str, model: str = MODEL, **settings: Any) -> ChatModel:
    return OllamaModel(model, api_key=KEY, base_url=url, **settings)


async def sdk(url: str) -> None:
    from ollama import AsyncClient

    call = {"function": {"name": "get_weather", "arguments": {"city": "Paris"}}}
    tool = {"name": "get_weather", "description": "Says the weather.", "parameters": CITY}
    client = AsyncClient(url, headers={"Authorization": f"Bearer {KEY}"})
    async with client:
        stream = await client.chat(
            MODEL,
            [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": "How is the weather here?", "images": ["QUJD"]},
                {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
                {"role": "tool", "content": "sunny", "tool_name": "get_weather"},
                {"role": "assistant", "content": "It is sunny."},
                {"role": "user", "content": "And tomorrow?"},
            ],
            tools=[{"type": "function", "function": tool}],
            options={"temperature": 0.5, "num_predict": 100},
            stream=True,
        )
        async for _ in stream:
            pass


def line(content: str, **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "message": {"role": "assistant", "content": content}, "done": False, **more}


PROVIDER = Provider(
    name="ollama",
    model=MODEL,
    kind="ollama_ndjson",
    make=make,
    decoder=lambda params: LineDecoder("m"),
    finish=(line("a"), line("", done=True, done_reason="stop", prompt_eval_count=3, eval_count=1)),
    lines=True,
    path="",
    thinker="deepseek-reasoner",
    counts=False,
    sdk=sdk,
    sdk_lacks={
        "messages.*.tool_calls.*.id": "the client's types have no field for it; the server's have",
        "messages.*.tool_call_id": "the client's types have no field for it; the server's have",
    },
)
