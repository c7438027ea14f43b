"""DashScope under the contract: its own protocol, and OpenAI's."""

from __future__ import annotations

from typing import Any

from agentscope_rx.model import ChatModel, DashScopeModel
from agentscope_rx.model.dashscope._decode import FrameDecoder
from tests.model.openai import provider as openai
from tests.model.provider import CITY, KEY, Provider

__all__ = ["COMPATIBLE", "PROVIDER"]

MODEL = "qwen-plus"


def make(url: str, model: str = MODEL, **settings: Any) -> ChatModel:
    return DashScopeModel(model, api_key=KEY, base_url=url, **settings)


async def converse(url: str, protocol: str) -> None:
    from dashscope import AsyncClient

    call: Any = {"id": "call_1", "type": "function"}
    call["function"] = {"name": "get_weather", "arguments": '{"city":"Paris"}'}
    tool: Any = {"name": "get_weather", "description": "Says the weather.", "parameters": CITY}
    native = protocol == "native"
    text = (lambda text: [{"text": text}]) if native else str
    result = {"role": "tool", "tool_call_id": "call_1", "content": text("sunny")}
    async with AsyncClient(api_key=KEY, base_url=url, protocol=protocol, max_retries=0) as client:
        stream: Any = await client.chat.completions.create(
            model=MODEL,
            messages=[
                {"role": "system", "content": text("Be kind.")},
                {"role": "user", "content": [
                    {"type": "text", "text": "How is the weather here?"},
                    {"type": "image", "url": "data:image/png;base64,QUJD"}]},
                {"role": "assistant", "content": text("Let me look."), "tool_calls": [call]},
                {**result, "name": "get_weather"} if native else result,
                {"role": "assistant", "content": text("It is sunny.")},
                {"role": "user", "content": text("And tomorrow?")},
            ],
            tools=[{"type": "function", "function": tool}],
            tool_choice="auto",
            temperature=0.5,
            max_tokens=100,
            stream=True,
        )  # fmt: skip
        async for _ in stream:
            pass


async def sdk(url: str) -> None:
    await converse(f"{url}/api/v1", "native")


async def compatible_sdk(url: str) -> None:
    await converse(url, "openai")


def frame(finish: str, content: str, **more: Any) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": finish}
    return {"output": {"choices": [choice]}, "request_id": "r", **more}


PROVIDER = Provider(
    name="dashscope",
    model=MODEL,
    kind="dashscope_sse",
    make=make,
    decoder=lambda params: FrameDecoder("m", incremental=params.get("incremental_output", True)),
    finish=(frame("null", "a"), frame("stop", "", usage={"input_tokens": 3, "output_tokens": 1})),
    path=None,
    sdk=sdk,
)

COMPATIBLE = Provider(
    name="dashscope",
    model=MODEL,
    kind="",
    make=lambda url, **settings: make(url, compatible=True, **settings),
    decoder=openai.PROVIDER.decoder,
    finish=openai.PROVIDER.finish,
    path="/compatible-mode/v1",
    thinker="deepseek-reasoner",
    sdk=compatible_sdk,
)
