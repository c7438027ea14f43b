"""The model against a server that others wrote."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx.errors import ModelConnectionError, ModelHTTPError
from agentscope_rx.message import (
    AssistantMessage,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.model import OpenAIChatModel, ReplyIds, ToolSchema, to_events
from agentscope_rx.operators import to_msg
from tests.aimock import AIMock, calls, says


async def ask(url: str, *messages: Msg, model: str = "gpt-4o") -> Msg:
    stream = OpenAIChatModel(model, base_url=url).stream(
        messages, [ToolSchema("get_weather"), ToolSchema("now")]
    )
    return await stream.pipe(to_events(reply_id="r", model_name=model, ids=ReplyIds()), to_msg())


def kinds(msg: Msg) -> list[Any]:
    return [
        getattr(block, "text", None) or getattr(block, "thinking", None) or block for block in msg.content
    ]


@pytest.mark.asyncio
async def test_text_two_calls_side_by_side_and_the_answer_from_their_results(aimock: AIMock) -> None:
    url = aimock(
        says(
            "weather",
            "Let me look.",
            calls("get_weather", "call_1", city="Paris"),
            calls("now"),
            after_tools=False,
        ),
        says("weather", "It is sunny in Paris, and this text is long enough for chunks.", after_tools=True),
    )

    first = await ask(url, UserMessage("the weather?"))
    text, weather, now = first.content
    assert isinstance(text, TextBlock)
    assert isinstance(weather, ToolUseBlock)
    assert isinstance(now, ToolUseBlock)
    assert text.text == "Let me look."
    assert (weather.id, weather.name, weather.input) == ("call_1", "get_weather", {"city": "Paris"})
    assert (now.name, now.input, now.input_error) == ("now", {}, False)
    assert first.usage is not None
    assert first.usage.output_tokens > 0

    results = [ToolResultBlock.text("ok", id=call.id, name=call.name) for call in (weather, now)]
    answer = await ask(url, UserMessage("the weather?"), AssistantMessage("me", [*first.content, *results]))
    assert kinds(answer) == ["It is sunny in Paris, and this text is long enough for chunks."]


@pytest.mark.asyncio
async def test_reasoning_is_a_block_of_its_own(aimock: AIMock) -> None:
    url = aimock(says("think", "Done.", reasoning="Let me see, what was it"))
    answer = await ask(url, UserMessage("think"), model="deepseek-reasoner")

    assert [type(block) for block in answer.content] == [ThinkingBlock, TextBlock]
    assert kinds(answer) == ["Let me see, what was it", "Done."]


@pytest.mark.asyncio
async def test_an_error_status_carries_the_message_and_the_request(aimock: AIMock) -> None:
    url = aimock(says("fail", error={"message": "overloaded", "type": "server_error"}, status=503))

    with pytest.raises(
        ModelHTTPError, match=r"answered 503 Service Unavailable: overloaded; try again"
    ) as caught:
        await ask(url, UserMessage("fail"))
    assert caught.value.status == 503
    assert caught.value.request_id


@pytest.mark.asyncio
async def test_a_question_that_the_simulator_does_not_know_is_an_error(aimock: AIMock) -> None:
    with pytest.raises(ModelHTTPError):
        await ask(aimock(says("weather", "sunny")), UserMessage("something else"))


@pytest.mark.asyncio
async def test_an_answer_that_breaks_off_is_an_error_with_what_had_come(aimock: AIMock) -> None:
    url = aimock(
        says("cut", "This is going to be cut off somewhere in the middle", truncateAfterChunks=3, latency=5)
    )

    with pytest.raises(ModelConnectionError) as caught:
        await ask(url, UserMessage("cut"))
    assert "This is going" in caught.value.partial.text_content
