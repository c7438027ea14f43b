"""The model over a real socket: where it asks, in which version, and what failures are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web
from reactivex import operators as ops

from agentscope_rx.agent import ReActAgent
from agentscope_rx.errors import (
    ConfigurationError,
    ContentFilterError,
    ContextTooLongError,
    ModelHTTPError,
    ModelResponseError,
    OverloadedError,
    RateLimitedError,
)
from agentscope_rx.event import ModelCallEndEvent, ModelCallStartEvent
from agentscope_rx.message import TextBlock, ThinkingBlock, UserMessage
from agentscope_rx.model import (
    AnthropicModel,
    ChatResponse,
    GenerateOptions,
    ModelRegistry,
    can_pass,
    supports_native_structured_output,
)
from agentscope_rx.tool import tool
from tests.aimock import AIMock, calls, journal, says
from tests.model.anthropic.stream import args, finish, start, stop, text, tool as call
from tests.model.loopback import events, serving, status

KEY = "sk-ant-very-secret-0123456789"
MODEL = "claude-sonnet-4-5"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def model_at(url: str, **more: Any) -> AnthropicModel:
    return AnthropicModel(MODEL, api_key=KEY, base_url=url, **more)


async def ask(model: AnthropicModel, **options: Any) -> list[ChatResponse]:
    return await model.stream([UserMessage("hi")], options=GenerateOptions(**options)).pipe(ops.to_list())


async def asked(**options: Any) -> web.Request:
    async with serving(events(*finish())) as server:
        await ask(model_at(server.url), **options)
    return server.requests[0]


# Where it asks


def test_the_key_and_the_address_are_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"no key for https://api.anthropic.com; set ANTHROPIC_API_KEY or ANTHROPIC_AUTH",
    ):
        AnthropicModel(MODEL)

    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    model = ModelRegistry.resolve(f"anthropic:{MODEL}")
    assert isinstance(model, AnthropicModel)
    assert (model.model_name, model.base_url) == (MODEL, "https://api.anthropic.com")
    assert repr(model) == f"AnthropicModel('{MODEL}', base_url='https://api.anthropic.com')"

    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/proxy/")
    assert AnthropicModel(MODEL).base_url == "http://127.0.0.1:1/proxy"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("base", "path"),
    [("", "/v1/messages"), ("/v1", "/v1/messages"), ("/anthropic", "/anthropic/v1/messages")],
)
async def test_the_address_may_have_its_version_in_it_or_not(base: str, path: str) -> None:
    async with serving(events(*finish())) as server:
        await ask(model_at(server.url.removesuffix("/v1") + base))

    request = server.requests[0]
    assert (request.method, request.path) == ("POST", path)
    assert request.headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.asyncio
async def test_a_server_of_ones_own_needs_no_key() -> None:
    async with serving(events(*finish())) as server:
        await ask(AnthropicModel("local", base_url=server.url))

    assert "Authorization" not in server.requests[0].headers


@pytest.mark.asyncio
async def test_other_servers_are_asked_in_the_version_that_all_know() -> None:
    assert (await asked()).headers["anthropic-version"] == "2023-06-01"
    other = {"Anthropic-Version": "2099-01-01"}
    assert (await asked(extra_headers=other)).headers.getall("anthropic-version") == ["2099-01-01"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("options", "version"),
    [
        ({}, "2026-10-21"),
        ({"temperature": 0.0}, "2023-06-01"),
        ({"top_p": 0.5}, "2023-06-01"),
        ({"extra_body": {"top_k": 3}}, "2023-06-01"),
        ({"temperature": 0.0, "extra_body": {"temperature": None}}, "2026-10-21"),
    ],
)
async def test_the_older_version_is_asked_for_only_for_what_the_newer_one_has_lost(
    options: dict[str, Any], version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentscope_rx.model._provider import Server

    monkeypatch.setattr(Server, "is_own", property(lambda _: True))

    assert (await asked(**options)).headers["anthropic-version"] == version


# Structured output


@pytest.mark.parametrize(
    ("settings", "native"),
    [
        ({"model": "claude-sonnet-4-5"}, True),
        ({"model": "claude-opus-5"}, True),
        ({"model": "claude-opus-4-1"}, False),
        ({"model": "claude-opus-5", "base_url": "http://127.0.0.1:1"}, False),
        ({"model": "m", "base_url": "http://127.0.0.1:1", "native_structured_output": True}, True),
        ({"model": "claude-opus-5", "native_structured_output": False}, False),
    ],
)
def test_structured_output_is_native_where_it_is_known_to_be(settings: dict[str, Any], native: bool) -> None:
    assert supports_native_structured_output(AnthropicModel(api_key=KEY, **settings)) is native


def test_whether_output_is_native_is_a_yes_or_a_no() -> None:
    wrong: Any = "yes"
    with pytest.raises(
        ConfigurationError, match=r"^native_structured_output is 'yes'; give True, False or None"
    ):
        AnthropicModel(MODEL, api_key=KEY, native_structured_output=wrong)


@pytest.mark.asyncio
@pytest.mark.parametrize("native", [True, False])
async def test_an_agent_gets_structured_output_by_the_schema_or_by_a_tool(native: bool) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    answer = [start(0, "text"), text(0, '{"city": "Oslo"}'), stop(0), *finish()]
    if not native:
        given = [call(0, "t", "generate_response"), args(0, '{"response": {"city": "Oslo"}}'), stop(0)]
        answer = [*given, *finish("tool_use")]
    async with serving(events(*answer)) as server:
        model = model_at(server.url, native_structured_output=native)
        reply = await ReActAgent("a", model=model).reply("Where?", output=schema)

    assert reply.metadata["_structured_output"] == {"city": "Oslo"}
    sent = server.bodies[0]
    assert ("output_config" in sent, "tools" in sent) == (native, not native)


# Failures


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("code", "type", "message", "error", "passes"),
    [
        (400, "invalid_request_error", "max_tokens: Field required", ModelHTTPError, False),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens", ContextTooLongError, False),
        (401, "authentication_error", "invalid x-api-key", ModelHTTPError, False),
        (402, "billing_error", "Your credit balance is too low", ModelHTTPError, False),
        (403, "permission_error", "not allowed", ModelHTTPError, False),
        (404, "not_found_error", "model: claude-x", ModelHTTPError, False),
        (413, "request_too_large", "Request exceeds the maximum size", ContextTooLongError, False),
        (429, "rate_limit_error", "This request would exceed your rate limit", RateLimitedError, True),
        (500, "api_error", "Internal server error", ModelHTTPError, True),
        (504, "timeout_error", "Request timed out", ModelHTTPError, True),
        (529, "overloaded_error", "Overloaded", OverloadedError, True),
    ],
)  # fmt: skip
async def test_errors_by_status_are_what_they_say(
    code: int, type: str, message: str, error: type[ModelHTTPError], passes: bool
) -> None:
    body = {"type": "error", "error": {"type": type, "message": message}, "request_id": "req_1"}
    async with serving(status(code, json.dumps(body), retry_after="7")) as server:
        with pytest.raises(ModelHTTPError) as caught:
            await ask(model_at(server.url))

    failure = caught.value
    assert failure.__class__ is error
    assert (failure.status, failure.type, failure.request_id) == (code, type, "req_1")
    assert failure.retry_after == 7.0
    assert message in str(failure)
    assert can_pass(failure) is passes


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("last", "error"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, OverloadedError),
        ({"type": "message_delta", "delta": {"stop_reason": "refusal"}}, ContentFilterError),
    ],
)
async def test_an_answer_that_fails_in_the_middle_keeps_what_came(
    last: dict[str, Any], error: type[ModelResponseError]
) -> None:
    seen: list[ChatResponse] = []
    async with serving(events(start(0, "text"), text(0, "Half"), last)) as server:
        with pytest.raises(ModelResponseError) as caught:
            await model_at(server.url).stream([UserMessage("hi")]).pipe(ops.do_action(seen.append))

    assert type(caught.value) is error
    assert seen[0].content == (TextBlock("Half"),)


# An agent that thinks, against a server that others wrote


@tool
def weather(city: str) -> str:
    """Says the weather in a city."""
    return f"windy in {city}"


@pytest.mark.asyncio
async def test_an_agent_gives_its_signed_thoughts_back_with_the_results(aimock: AIMock) -> None:
    url = aimock(
        says("weather", None, calls("weather", city="Oslo"), after_tools=False, reasoning="I must look."),
        says("weather", "It is windy.", after_tools=True, reasoning="That was easy."),
    )
    options = GenerateOptions(thinking_budget=2048, cache_control=True)
    agent = ReActAgent("a", "Be kind.", model=model_at(url, options=options), toolkit=[weather])
    events = await agent.call("How is the weather?").pipe(ops.to_list())
    reply = await agent.reply("And the weather now?")

    names = [event.model_name for event in events if isinstance(event, ModelCallStartEvent)]
    assert names == [MODEL, MODEL]
    reasons = [event.metadata["finishReason"] for event in events if isinstance(event, ModelCallEndEvent)]
    assert reasons == ["tool_use", "end_turn"]
    thoughts = reply.get_content_blocks(ThinkingBlock)
    assert [block.thinking for block in thoughts] == ["I must look.", "That was easy."]
    # The simulator refuses a round of thinking whose thoughts, or their signatures, are not given back.
    assert [entry["response"]["status"] for entry in journal(url)] == [200] * 4
