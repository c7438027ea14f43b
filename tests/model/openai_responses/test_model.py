"""The model over a real socket: what it sends, and what it makes of answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web
from reactivex import operators as ops

from agentscope_rx.agent import ReActAgent
from agentscope_rx.errors import ConfigurationError, RateLimitedError
from agentscope_rx.message import AssistantMessage, TextBlock, ThinkingBlock, UserMessage
from agentscope_rx.model import (
    ChatModel,
    ModelRegistry,
    OpenAIResponsesModel,
    supports_native_structured_output,
)
from agentscope_rx.tool import tool
from tests.model.loopback import Handler, events, serving, status

KEY = "sk-very-secret-0123456789"
SECRET: dict[str, Any] = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}


def item(index: int, **more: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": more}


def message(text: str, **more: Any) -> dict[str, Any]:
    return {"id": "m", "type": "message", "content": [{"type": "output_text", "text": text}], **more}


OVER = {"type": "response.completed", "response": {"id": "resp_1", "status": "completed"}}
ANSWER = (item(0, **message("It is windy.", phase="final_answer")), OVER)
LOOK = (
    item(0, **SECRET),
    item(1, **message("Let me look.", phase="commentary")),
    item(2, id="fc", type="function_call", call_id="c", name="weather", arguments='{"city":"Oslo"}'),
    OVER,
)


def one_after_the_other(*handlers: Handler) -> Handler:
    waiting = list(handlers)

    async def handler(request: web.Request) -> web.StreamResponse:
        return await waiting.pop(0)(request)

    return handler


@tool
def weather(city: str) -> str:
    """Says the weather in a city."""
    return f"windy in {city}"


@pytest.mark.asyncio
async def test_an_agent_gives_back_what_the_model_needs_to_go_on() -> None:
    async with serving(one_after_the_other(events(*LOOK), events(*ANSWER))) as server:
        model = OpenAIResponsesModel("gpt-5", api_key=KEY, base_url=server.url, reasoning_summary="auto")
        reply = await ReActAgent("friend", model=model, toolkit=[weather]).reply("How is the weather?")

    first, second = server.bodies
    assert isinstance(model, ChatModel)
    assert reply.text_content.endswith("It is windy.")
    assert server.requests[0].path_qs == "/v1/responses"
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert first["input"] == [{"role": "user", "content": "How is the weather?"}]
    assert (first["store"], first["include"]) == (False, ["reasoning.encrypted_content"])
    assert first["reasoning"] == {"summary": "auto"}
    assert second["input"][1:] == [
        SECRET,
        {"role": "assistant", "content": "Let me look.", "phase": "commentary"},
        {"type": "function_call", "call_id": "c", "name": "weather", "arguments": '{"city":"Oslo"}'},
        {"type": "function_call_output", "call_id": "c", "output": "windy in Oslo"},
    ]


@dataclass
class City:
    name: str


@pytest.mark.asyncio
async def test_an_answer_that_is_held_to_a_schema_is_data() -> None:
    async with serving(events(item(0, **message('{"name":"Oslo"}')), OVER)) as server:
        model = OpenAIResponsesModel("gpt-5", api_key=KEY, base_url=server.url, native_structured_output=True)
        reply = await ReActAgent("friend", model=model, toolkit=[weather]).reply("Which city?", output=City)

    (body,) = server.bodies
    assert reply.get_structured_data(City) == City("Oslo")
    assert (body["text"]["format"]["type"], body["text"]["format"]["strict"]) == ("json_schema", True)
    assert [tool["name"] for tool in body["tools"]] == ["weather"]


@pytest.mark.asyncio
async def test_another_server_gets_none_of_the_reasoning() -> None:
    async with serving(events(*LOOK)) as here, serving(events(*ANSWER)) as there:
        first = OpenAIResponsesModel("gpt-5", api_key=KEY, base_url=here.url)
        second = OpenAIResponsesModel("gpt-5", api_key=KEY, base_url=there.url)
        responses = await first.stream([UserMessage("hi")]).pipe(ops.to_list())
        thoughts = [part for each in responses for part in each.content if isinstance(part, ThinkingBlock)]
        said = UserMessage("hi"), AssistantMessage("me", [*thoughts, TextBlock("Let me look.")])
        await second.stream(said).pipe(ops.to_list())
        await first.stream(said).pipe(ops.to_list())

    assert [entry.get("type") for entry in there.bodies[0]["input"]] == [None, None]
    assert [entry.get("type") for entry in here.bodies[1]["input"]] == [None, "reasoning", None]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("model", "settings", "include"),
    [
        ("gpt-4o", {}, None),
        ("gpt-4o", {"encrypted_reasoning": True}, ["reasoning.encrypted_content"]),
        ("o3", {}, ["reasoning.encrypted_content"]),
        ("o3", {"encrypted_reasoning": False, "store": True}, None),
    ],
)
async def test_only_models_that_reason_are_asked_for_their_reasoning(
    model: str, settings: Any, include: Any
) -> None:
    async with serving(events(*ANSWER)) as server:
        await OpenAIResponsesModel(model, api_key=KEY, base_url=server.url, **settings).stream([])

    assert server.bodies[0].get("include") == include
    assert server.bodies[0]["store"] == settings.get("store", False)


@pytest.mark.asyncio
async def test_a_status_is_an_error_of_its_class() -> None:
    body = '{"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}'
    async with serving(status(429, body, Retry_After="3")) as server:
        with pytest.raises(RateLimitedError, match="slow down") as caught:
            await OpenAIResponsesModel("gpt-5", api_key=KEY, base_url=server.url).stream([])

    assert caught.value.retry_after == 3


def test_only_openais_own_server_is_known_to_hold_answers_to_a_schema() -> None:
    own = OpenAIResponsesModel("gpt-5", api_key=KEY)
    other = OpenAIResponsesModel("gpt-5", base_url="http://127.0.0.1:1/v1")
    told = OpenAIResponsesModel("gpt-5", base_url="http://127.0.0.1:1/v1", native_structured_output=True)

    assert list(map(supports_native_structured_output, (own, other, told))) == [True, False, True]


def test_its_key_and_its_address_are_those_of_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(
        ConfigurationError, match=r"no key for https://api\.openai\.com/v1; set OPENAI_API_KEY"
    ):
        OpenAIResponsesModel("gpt-5")

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = ModelRegistry.resolve("openai-responses:gpt-5")
    assert repr(model) == "OpenAIResponsesModel('gpt-5', base_url='https://api.openai.com/v1')"


@pytest.mark.parametrize("name", ["encrypted_reasoning", "native_structured_output"])
def test_a_choice_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is 'yes'; give True, False or None"):
        OpenAIResponsesModel("gpt-5", api_key=KEY, **{name: "yes"})  # type: ignore[arg-type]
