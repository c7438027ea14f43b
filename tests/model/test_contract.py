"""What holds for every provider: recorded streams, a server that others wrote, and what is sent.

A provider comes in with its row in `tests/model/providers.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import web
from click.testing import CliRunner
from reactivex import operators as ops

from agentscope_rx.agent import ReActAgent
from agentscope_rx.cli import main
from agentscope_rx.errors import (
    IncompleteStreamError,
    ModelConnectionError,
    ModelError,
    ModelHTTPError,
    OverloadedError,
    RateLimitedError,
)
from agentscope_rx.event import AgentEvent, AgentStartEvent
from agentscope_rx.message import (
    AssistantMessage,
    AudioBlock,
    Base64Source,
    DataBlock,
    HintBlock,
    ImageBlock,
    Msg,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    ToolUseBlock,
    URLSource,
    UserMessage,
    VideoBlock,
)
from agentscope_rx.model import ChatModel, GenerateOptions, ReplyIds, ToolSchema, to_events
from agentscope_rx.model._providers import PROVIDERS as TABLE
from agentscope_rx.operators import to_msg
from agentscope_rx.tool import tool
from tests.aimock import AIMock, calls, journal, says
from tests.model.loopback import Handler, serving, status
from tests.model.openai import provider as openai
from tests.model.provider import CITY, KEY, Provider
from tests.model.provider_cases import FILES, cases, check, check_events, chunks_of, decode_with
from tests.model.providers import PROVIDERS

RECORDED = [
    pytest.param(provider, case, id=case["id"])
    for provider in PROVIDERS if provider.kind for case in cases(provider.kind)
]  # fmt: skip
SIMULATED = [provider for provider in PROVIDERS if provider.path is not None]
THINKING = [provider for provider in SIMULATED if provider.thinker]
WITH_SDK = [provider for provider in PROVIDERS if provider.sdk is not None]

every_provider = pytest.mark.parametrize("provider", PROVIDERS, ids=str)
simulated = pytest.mark.parametrize("provider", SIMULATED, ids=str)


def test_every_provider_of_the_package_is_in_the_contract() -> None:
    made = {type(provider.make("http://127.0.0.1:1")).__name__ for provider in PROVIDERS}

    assert {row.name for row in TABLE.values()} == made
    assert {provider.name for provider in PROVIDERS} <= TABLE.keys()


def test_no_recorded_stream_of_a_provider_is_left_out() -> None:
    kinds = {json.loads(file.read_text(encoding="utf-8"))["kind"] for file in FILES}
    ours = {kind for kind in kinds if kind.partition("_")[0] in TABLE}

    assert {provider.kind for provider in PROVIDERS if provider.kind} == ours


@pytest.mark.parametrize("size", [None, 1, 2, 3, 7, 64, 4096])
@pytest.mark.parametrize(("provider", "case"), RECORDED)
def test_recorded_streams_mean_what_they_say_wherever_they_are_cut(
    provider: Provider, case: dict[str, Any], size: int | None
) -> None:
    decoder = provider.decoder(case.get("params", {}))

    check(case, decode_with(provider.reader(), decoder), chunks_of(case, size))


@pytest.mark.parametrize(("provider", "case"), RECORDED)
@pytest.mark.asyncio
async def test_recorded_streams_mean_the_same_when_they_come_over_a_socket(
    provider: Provider, case: dict[str, Any]
) -> None:
    events: list[AgentEvent] = [AgentStartEvent("s", "r", "m")]
    errors: list[Exception] = []
    async with serving(recorded(provider, chunks_of(case))) as server:
        answer = provider.make(server.url, **case.get("params", {})).stream([], [], GenerateOptions())
        answer = answer.pipe(to_events(reply_id="r", model_name="m", ids=ReplyIds()))
        with suppress(ModelError):
            await answer.pipe(ops.do_action(events.append, errors.append), ops.to_list())

    check_events(case, events, errors)


def recorded(provider: Provider, chunks: list[bytes]) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        kind = "application/x-ndjson" if provider.lines else "text/event-stream"
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        await response.write_eof()
        return response

    return handler


# A server that others wrote


def at(url: str, provider: Provider) -> str:
    """The provider's API on the simulator, whose address ends in /v1."""
    return url.removesuffix("/v1") + (provider.path or "")


async def ask(model: ChatModel, *messages: Msg) -> Msg:
    stream = model.stream(messages, [ToolSchema("get_weather"), ToolSchema("now")], GenerateOptions())
    return await stream.pipe(to_events(reply_id="r", model_name=model.model_name, ids=ReplyIds()), to_msg())


@simulated
@pytest.mark.asyncio
async def test_text_two_calls_side_by_side_and_the_answer_from_their_results(
    provider: Provider, aimock: AIMock
) -> None:
    url = aimock(
        says(
            "weather",
            "Let me look.",
            calls("get_weather", city="Paris"),
            calls("now"),
            after_tools=False,
            usage={"prompt_tokens": 11, "completion_tokens": 7},
        ),
        says("weather", "It is sunny in Paris, and this text is long enough for chunks.", after_tools=True),
    )
    model = provider.make(at(url, provider))

    first = await ask(model, UserMessage("the weather?"))
    text, weather, now = first.content
    assert isinstance(text, TextBlock)
    assert isinstance(weather, ToolUseBlock)
    assert isinstance(now, ToolUseBlock)
    assert text.text == "Let me look."
    assert (weather.name, weather.input, weather.input_error) == ("get_weather", {"city": "Paris"}, False)
    assert (now.name, now.input, now.input_error) == ("now", {}, False)
    assert len({weather.id, now.id, ""}) == 3
    assert (first.usage is not None and first.usage.output_tokens > 0) == provider.counts

    results = [ToolResultBlock.text("ok", id=call.id, name=call.name) for call in (weather, now)]
    answer = await ask(model, UserMessage("the weather?"), AssistantMessage("me", [*first.content, *results]))
    assert answer.text_content == "It is sunny in Paris, and this text is long enough for chunks."
    assert [block.type for block in answer.content] == ["text"]


@pytest.mark.parametrize("provider", THINKING, ids=str)
@pytest.mark.asyncio
async def test_reasoning_is_a_block_of_its_own(provider: Provider, aimock: AIMock) -> None:
    url = aimock(says("think", "Done.", reasoning="Let me see, what was it"))
    answer = await ask(provider.make(at(url, provider), model=provider.thinker), UserMessage("think"))

    thinking, text = answer.content
    assert isinstance(thinking, ThinkingBlock)
    assert thinking.thinking == "Let me see, what was it"
    assert isinstance(text, TextBlock)
    assert text.text == "Done."


@simulated
@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("code", "error"), [(503, OverloadedError), (429, RateLimitedError), (400, ModelHTTPError)]
)
async def test_an_error_status_carries_the_message_and_the_request(
    provider: Provider, code: int, error: type[ModelHTTPError], aimock: AIMock
) -> None:
    url = aimock(says("fail", error={"message": "cannot now", "type": "some_error"}, status=code))

    with pytest.raises(error, match=rf"answered {code} .*cannot now") as caught:
        await ask(provider.make(at(url, provider)), UserMessage("fail"))
    assert type(caught.value) is error
    assert caught.value.status == code
    assert "cannot now" in caught.value.body


@simulated
@pytest.mark.asyncio
async def test_a_question_that_the_simulator_does_not_know_is_an_error(
    provider: Provider, aimock: AIMock
) -> None:
    with pytest.raises(ModelHTTPError):
        await ask(
            provider.make(at(aimock(says("weather", "sunny")), provider)), UserMessage("something else")
        )


@simulated
@pytest.mark.asyncio
async def test_an_answer_that_breaks_off_is_an_error_with_what_had_come(
    provider: Provider, aimock: AIMock
) -> None:
    text = "This is going to be cut off somewhere in the middle of the second sentence."
    url = aimock(says("cut", text, chunkSize=5, truncateAfterChunks=8, latency=5))

    with pytest.raises((ModelConnectionError, IncompleteStreamError)) as caught:
        await ask(provider.make(at(url, provider)), UserMessage("cut"))
    part = caught.value.partial.text_content
    assert text.startswith(part)
    assert 0 < len(part) < len(text)


@tool
def weather(city: str) -> str:
    """Says the weather in a city."""
    return f"windy in {city}"


ROUND = (
    says(
        "weather",
        "Let me look.",
        calls("weather", city="Oslo"),
        calls("weather", city="Rome"),
        after_tools=False,
    ),
    says("weather", "Both are windy.", after_tools=True),
)


@simulated
@pytest.mark.asyncio
async def test_an_agent_runs_its_tools_and_answers(provider: Provider, aimock: AIMock) -> None:
    model = provider.make(at(aimock(*ROUND), provider))
    agent = ReActAgent("assistant", "Be kind.", model=model, toolkit=[weather])
    reply = await agent.reply("How is the weather?")

    assert [block.type for block in reply.content] == [
        "text", "tool_use", "tool_use", "tool_result", "tool_result", "text",
    ]  # fmt: skip
    results = reply.get_content_blocks(ToolResultBlock)
    assert [result.text_content for result in results] == ["windy in Oslo", "windy in Rome"]
    assert reply.text_content.endswith("Both are windy.")


@simulated
def test_what_the_command_line_prints_replays_to_the_message_of_the_run(
    provider: Provider, aimock: AIMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DASHSCOPE_API_KEY"):
        monkeypatch.setenv(name, KEY)
    where = ["--model", f"{provider.name}:{provider.model}", "--base-url", at(aimock(*ROUND), provider)]
    chatted = CliRunner().invoke(main, ["chat", *where, "--once", "weather", "--events"])
    replayed = CliRunner().invoke(main, ["replay", "-"], input=chatted.stdout.encode())

    assert chatted.exit_code == 0, chatted.output
    events = [json.loads(line) for line in chatted.stdout.splitlines()]
    reported = next(event["result"] for event in events if event["type"] == "AGENT_RESULT")
    assert json.loads(replayed.stdout) == reported
    assert "Both are windy." in replayed.stdout


# What is sent

CONVERSATION = (
    SystemMessage("Be kind."),
    UserMessage(TextBlock("How is the weather here?"), DataBlock(Base64Source("image/png", "QUJD"))),
    AssistantMessage(
        "me",
        [
            TextBlock("Let me look."),
            ToolUseBlock("call_1", "get_weather", {"city": "Paris"}),
            ToolResultBlock.text("sunny", id="call_1", name="get_weather"),
            TextBlock("It is sunny."),
        ],
    ),
    UserMessage("And tomorrow?"),
)
TOOLS = (ToolSchema("get_weather", "Says the weather.", CITY),)
OPTIONS = GenerateOptions(temperature=0.5, max_tokens=100, tool_choice="auto")


async def converse(provider: Provider, url: str) -> None:
    await provider.make(url).stream(CONVERSATION, TOOLS, OPTIONS).pipe(ops.to_list())


@pytest.mark.parametrize("provider", WITH_SDK, ids=str)
@pytest.mark.asyncio
async def test_what_is_sent_is_what_the_official_sdk_sends(provider: Provider) -> None:
    async with serving(whole(provider)) as server:
        url = at(server.url, provider)
        await converse(provider, url)
        assert provider.sdk is not None
        await provider.sdk(url)

    (ours, theirs), (our_body, their_body) = server.requests, server.bodies
    for place in provider.sdk_lacks:
        assert cut(our_body, *place.split("."))
    assert our_body == respelled(their_body, provider.sdk_spells)
    assert (ours.method, ours.path_qs) == (theirs.method, theirs.path_qs)
    assert credentials(ours) == credentials(theirs) != {}


def respelled(value: Any, ours: Mapping[str, str]) -> Any:
    """Write keys as we do."""
    if isinstance(value, list):
        return [respelled(each, ours) for each in value]
    if isinstance(value, dict):
        return {ours.get(key, key): respelled(each, ours) for key, each in value.items()}
    return value


def cut(value: Any, key: str, *keys: str) -> int:
    """Take what stands at a place out of a body; return how often it was there."""
    if isinstance(value, list):
        return sum(cut(each, *keys) for each in value)
    if not keys or key not in value:
        return value.pop(key, None) is not None
    return cut(value[key], *keys)


def credentials(request: web.Request) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers.items() if KEY in value}


@pytest.mark.parametrize("provider", [p for p in WITH_SDK if p in SIMULATED], ids=str)
@pytest.mark.asyncio
async def test_the_simulator_understands_it_as_it_understands_the_official_sdk(
    provider: Provider, aimock: AIMock
) -> None:
    url = at(aimock(says("tomorrow", "Rain.")), provider)
    await converse(provider, url)
    assert provider.sdk is not None
    await provider.sdk(url)

    ours, theirs = journal(url)
    assert ours["body"] == theirs["body"]
    assert (ours["path"], ours["response"]["status"]) == (theirs["path"], 200)


PNG, WAV, MP4 = (Base64Source(kind, "QUJD") for kind in ("image/png", "audio/wav", "video/mp4"))
PDF, ZIP = Base64Source("application/pdf", "QUJD"), Base64Source("application/zip", "QUJD")
MEDIA = [
    pytest.param(block, words, id=f"{type(block.source).__name__} {words[0]}")
    for block, words in (
        (DataBlock(PNG), ["image/png"]),
        (DataBlock(WAV), ["wav"]),
        (DataBlock(MP4), ["video/mp4", "data:video"]),
        (DataBlock(PDF, name="a.pdf"), ["application/pdf"]),
        (DataBlock(ZIP), ["application/zip"]),
        (DataBlock(URLSource("http://x/y.png")), ["http://x/y.png"]),
        (DataBlock(URLSource("http://x/y.wav")), ["http://x/y.wav"]),
        (DataBlock(URLSource("http://x/y.mp4")), ["http://x/y.mp4"]),
        (DataBlock(URLSource("http://x/y.pdf")), ["http://x/y.pdf"]),
        (ImageBlock(URLSource("http://x/z.png")), ["http://x/z.png"]),
        (AudioBlock(URLSource("http://x/z.wav")), ["http://x/z.wav"]),
        (VideoBlock(URLSource("http://x/z.mp4")), ["http://x/z.mp4"]),
    )
]  # fmt: skip


async def sent(provider: Provider, *messages: Msg, options: GenerateOptions | None = None) -> str:
    """The body of a request, as text."""
    async with serving(whole(provider)) as server:
        await provider.make(at(server.url, provider)).stream(messages, TOOLS, options).pipe(ops.to_list())
    return json.dumps(server.bodies[0])


@every_provider
@pytest.mark.asyncio
@pytest.mark.parametrize(("block", "words"), MEDIA)
async def test_media_are_sent_or_mentioned_whoever_has_them(
    provider: Provider, block: DataBlock, words: list[str]
) -> None:
    call = ToolUseBlock("call_1", "get_weather", {"city": "Paris"})
    result = ToolResultBlock(
        "call_1", "get_weather", (TextBlock("see"), block), state=ToolResultState.SUCCESS
    )

    for messages in (
        (UserMessage(TextBlock("see"), block),),
        (UserMessage("hi"), AssistantMessage("me", [call, result])),
        (UserMessage("hi"), AssistantMessage("me", [TextBlock("see"), block]), UserMessage("so?")),
    ):
        body = await sent(provider, *messages)
        assert any(word in body for word in words) or (
            isinstance(block.source, Base64Source) and '"QUJD"' in body
        )
        assert "see" in body


@every_provider
@pytest.mark.asyncio
async def test_every_kind_of_block_in_every_role_is_sent_and_what_dangles_is_not(provider: Provider) -> None:
    body = await sent(
        provider,
        SystemMessage("first words"),
        UserMessage(TextBlock("of the user"), name="Ann"),
        AssistantMessage(
            "me",
            [
                ThinkingBlock("of another model", {"signature": "of another"}), TextBlock("a remark"),
                ToolUseBlock("call_1", "get_weather", {"city": "Paris"}),
                ToolUseBlock("call_2", "get_weather"),
                ToolResultBlock.text("of the tool", id="call_1", name="get_weather"),
                ToolResultBlock.text("of nothing", id="call_9", name="get_weather"),
                HintBlock(hint="a hint"), TextBlock("an answer"),
            ],
        ),
        UserMessage("once more"),
        AssistantMessage("me", [ToolUseBlock("call_3", "get_weather", {"city": "Rome"})]),
        ToolResultMessage("tool", ToolResultBlock("call_3", "get_weather", state=ToolResultState.DENIED)),
        UserMessage("and now?"),
    )  # fmt: skip

    said = ("of the user", "a remark", "Paris", "of the tool", "a hint", "an answer", "once more", "Rome")
    places = {words: body.find(words) for words in (*said, "denied", "and now?")}
    assert [words for words in ("first words", "Ann", *places) if words not in body] == []
    assert re.findall("call_2|call_9|of nothing", body) == []
    assert list(places.values()) == sorted(places.values())


WANTED_BACK: dict[str, tuple[ThinkingBlock, dict[str, Any]]] = {
    "anthropic": (ThinkingBlock("hm", {"signature": "secret"}), {"caller": {"type": "secret"}}),
    "dashscope": (ThinkingBlock("hm", {"signature": "secret", "reasoning_signature": "secret"}), {}),
    "gemini": (
        ThinkingBlock("hm", {"signature": "secret", "thoughtSignature": "secret", "covers": 2}),
        {"thoughtSignature": "secret"},
    ),
    "openai": (ThinkingBlock("hm"), {"extra_content": {"google": "secret"}}),
    "openai-responses": (
        ThinkingBlock("hm", {"reasoning_item": {"encrypted_content": "secret"}, "server": "elsewhere"}),
        {},
    ),
    "openrouter": (ThinkingBlock("hm", {"reasoning_details": [{"data": "secret"}]}), {}),
}
"""How the thinking and the call of an answer are kept, by the provider that wants them back."""


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("provider", "owner"),
    [
        pytest.param(provider, owner, id=f"{provider} {owner}")
        for provider in PROVIDERS for owner in WANTED_BACK
        # A server that speaks OpenAI's chat completions may stand before any provider.
        if owner != provider.name and not (owner == "openai" and provider.decoder is openai.PROVIDER.decoder)
    ],
)  # fmt: skip
async def test_what_a_provider_wants_back_goes_to_nobody_else(provider: Provider, owner: str) -> None:
    thinking, metadata = WANTED_BACK[owner]
    call = ToolUseBlock("call_1", "get_weather", {"city": "Paris"}, metadata=metadata)
    result = ToolResultBlock.text("sunny", id="call_1", name="get_weather")
    body = await sent(provider, UserMessage("hi"), AssistantMessage("me", [thinking, call, result]))

    assert "secret" not in body
    assert "sunny" in body


# What every model does with its server


def whole(provider: Provider, *, leave_out: int = 0, more: str = "") -> Handler:
    """Answer with the provider's frames; the last ones may be missing."""
    kind = "application/x-ndjson" if provider.lines else "text/event-stream"
    frames = provider.finish[: len(provider.finish) - leave_out]
    texts = [item if isinstance(item, str) else json.dumps(item) for item in frames]
    body = "".join(f"{text}\n" if provider.lines else f"data: {text}\n\n" for text in texts) + more

    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(text=body, content_type=kind)

    return handler


async def text_of(model: ChatModel) -> str:
    return (await ask(model, UserMessage("hi"))).text_content


@every_provider
@pytest.mark.asyncio
async def test_an_answer_is_read_and_its_connection_used_again(provider: Provider) -> None:
    async with serving(whole(provider)) as server:
        model = provider.make(server.url)
        assert [await text_of(model) for _ in range(3)] == ["a", "a", "a"]

    assert isinstance(model, ChatModel)
    assert server.connections == 1


@every_provider
@pytest.mark.asyncio
async def test_an_answer_without_its_end_is_an_error_and_keeps_what_came(provider: Provider) -> None:
    async with serving(whole(provider, leave_out=len(provider.finish) - 1)) as server:
        with pytest.raises(IncompleteStreamError, match=f"{provider.model} at http") as caught:
            await text_of(provider.make(server.url))

    assert caught.value.partial.text_content == "a"


@every_provider
@pytest.mark.asyncio
async def test_secrets_are_in_no_error_and_no_repr(provider: Provider) -> None:
    async with serving(status(401, json.dumps({"error": {"message": f"bad key {KEY}"}}))) as server:
        model = provider.make(server.url)
        with pytest.raises(ModelError) as caught:
            await text_of(model)

    assert "bad key ***" in str(caught.value)
    assert KEY not in repr(model) + repr(caught.value) + str(vars(caught.value))
