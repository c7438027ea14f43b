"""The model to talk to without a network: it asks a tool about the weather, and says what it cannot do."""

from __future__ import annotations

import pytest

from agentscope_rx.cli._offline import offline_model
from agentscope_rx.message import (
    AssistantMessage,
    Msg,
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    UserMessage,
)
from agentscope_rx.model import ChatResponse, ToolCallChunk


def answer(*messages: Msg) -> tuple[str, str]:
    """The text of an answer, and the raw arguments of its tool call."""
    responses: list[ChatResponse] = []
    offline_model(0.0).stream(messages).subscribe(responses.append)
    parts = [part for response in responses for part in response.content]
    arguments = "".join(part.arguments for part in parts if isinstance(part, ToolCallChunk))
    return "".join(getattr(part, "text", "") for part in parts), arguments


@pytest.mark.parametrize(
    ("question", "city"),
    [
        ("weather", "Lisbon"),
        ("What is the WEATHER?", "Lisbon"),
        ("weather in Porto", "Porto"),
        ("How is the weather in New York?", "New York"),
        ("the weather for the Hague, please", "Hague"),
        ("Wie ist das weather in Köln", "Köln"),
    ],
)
def test_it_asks_the_tool_about_the_weather_in_the_city(question: str, city: str) -> None:
    assert answer(UserMessage(question)) == ("Let me look.", f'{{"city":"{city}"}}')


def test_it_says_what_the_tool_has_found() -> None:
    asked = (
        UserMessage("weather"),
        AssistantMessage("…"),
        ToolResultMessage("c1", "weather", "sunny in Lisbon"),
    )

    assert answer(*asked) == ("It is sunny in Lisbon.", "")


def test_it_makes_no_weather_of_a_call_that_did_not_run() -> None:
    denied = ToolResultBlock("c1", "weather", "Permission denied by user", state=ToolResultState.DENIED)

    assert answer(UserMessage("weather"), AssistantMessage("…"), ToolResultMessage(denied)) == (
        "Then I cannot tell.",
        "",
    )


def test_it_says_how_to_get_a_real_model() -> None:
    text, arguments = answer(UserMessage("Who are you?"))

    assert "--model PROVIDER:NAME" in text
    assert arguments == ""
