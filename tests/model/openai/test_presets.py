"""Servers that speak OpenAI's chat completions."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from reactivex import operators as ops

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import AgentStartEvent
from agentscope_rx.message import AssistantMessage, ThinkingBlock, ToolResultBlock, ToolUseBlock, UserMessage
from agentscope_rx.model import GenerateOptions, OpenAIChatModel, ReplyIds, ToolSchema, to_events
from agentscope_rx.model.openai._presets import PRESETS
from agentscope_rx.operators import to_msg
from tests.model.loopback import events, serving

FINISH = {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for preset in PRESETS.values():
        for name in preset.defaults.keys + preset.defaults.urls:
            monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("provider", PRESETS)
def test_a_provider_has_an_address_and_its_own_key(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = PRESETS[provider].defaults
    if provider != "openai":
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another")  # never for another server
        monkeypatch.setenv("OPENAI_BASE_URL", "http://another/v1")
    if defaults.needs_key:
        with pytest.raises(
            ConfigurationError, match=rf"no key for {defaults.base_url}; set {defaults.keys[0]}"
        ):
            OpenAIChatModel("m", provider=provider)

    monkeypatch.setenv(defaults.keys[0], "sk-own")
    assert OpenAIChatModel("m", provider=provider).base_url == defaults.base_url
    monkeypatch.setenv(defaults.urls[0], "http://mine/v1")
    assert OpenAIChatModel("m", provider=provider).base_url == "http://mine/v1"


def test_an_unknown_provider_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ConfigurationError, match=r"provider='acme' is none of openai, deepseek, .*base_url="):
        OpenAIChatModel("m", provider="acme")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({"provider": "deepseek"}, "reasoning_content"),
        ({"provider": "openrouter"}, "reasoning"),
        ({"provider": "vllm"}, None),
        ({}, None),
        ({"provider": "deepseek", "reasoning_key": ""}, None),
        ({"reasoning_key": "thoughts"}, "thoughts"),
    ],
)
async def test_thinking_goes_back_to_whom_is_known_to_want_it(arguments: Any, key: str | None) -> None:
    reply = AssistantMessage(
        "me", [ThinkingBlock("hm"), ToolUseBlock("a", "f"), ToolResultBlock.text("1", id="a")]
    )
    async with serving(events(FINISH)) as server:
        await OpenAIChatModel("m", base_url=server.url, **arguments).stream([reply])

    sent = server.bodies[0]["messages"][0]
    assert sent.keys() - {"role", "content", "tool_calls"} == ({key} if key else set())
    assert key is None or sent[key] == "hm"


@pytest.mark.asyncio
async def test_only_openais_own_limit_has_the_new_name() -> None:
    async with serving(events(FINISH)) as server:
        model = OpenAIChatModel("m", base_url=server.url, options=GenerateOptions(max_tokens=3))
        await model.stream([])

    assert server.bodies[0]["max_tokens"] == 3


@pytest.mark.asyncio
@pytest.mark.parametrize(("provider", "marks"), [("openrouter", True), ("dashscope", True), ("vllm", False)])
async def test_marks_for_a_cache_go_to_whom_is_known_to_want_them(provider: str, marks: bool) -> None:
    options = GenerateOptions(cache_control=True)
    async with serving(events(FINISH)) as server:
        await OpenAIChatModel("m", provider=provider, base_url=server.url, options=options).stream(
            [UserMessage("hi")]
        )

    (message,) = server.bodies[0]["messages"]
    assert ("cache_control" in message["content"][-1]) == marks


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({"provider": "openrouter"}, "reasoning_details"),
        ({"provider": "openrouter", "reasoning_key": "thoughts"}, "thoughts"),
        ({"provider": "vllm"}, None),
    ],
)
async def test_reasoning_in_pieces_goes_back_to_whom_it_came_from(arguments: Any, key: str | None) -> None:
    piece = {"type": "reasoning.text", "text": "hm", "signature": "s", "index": 0}
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}
    first = {"choices": [{"delta": {"reasoning": "hm", "reasoning_details": [piece]}}]}
    second = {"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    async with serving(events(first, second)) as server:
        model = OpenAIChatModel("m", api_key="k", base_url=server.url, **arguments)
        stream = model.stream([], [ToolSchema("f")]).pipe(
            to_events(reply_id="r", model_name="m", ids=ReplyIds()),
            ops.start_with(AgentStartEvent("s", "r", "m")),
            to_msg(),
        )
        said = await stream
        await model.stream(
            [evolve(said, content=[*said.content, ToolResultBlock.text("ok", id="c", name="f")])]
        )

    message = server.bodies[1]["messages"][0]
    wanted = {} if key is None else {key: [piece] if key == "reasoning_details" else "hm"}
    assert {name: message[name] for name in message.keys() - {"role", "content", "tool_calls"}} == wanted
