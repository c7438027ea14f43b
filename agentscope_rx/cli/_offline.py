"""Something to talk to without a network: a script that knows about the weather, and uses a tool for it."""

from __future__ import annotations

import re
from typing import Final

from agentscope_rx.message import ToolResultState, ToolUseBlock
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call
from agentscope_rx.tool import tool

__all__ = ["offline_model", "weather"]

_SKIES: Final = ("sunny", "cloudy", "rainy", "windy", "foggy")
_PLACE: Final = re.compile(r"\b(?:in|for|at|of) (?:the )?([^\W\d_][\w' -]*)", re.IGNORECASE)


@tool
def weather(city: str) -> str:
    """Tell the weather in a city.

    Args:
        city: the city's name.
    """
    number = sum(map(ord, city))
    return f"{_SKIES[number % len(_SKIES)]}, {10 + number % 20} °C in {city}"


def offline_model(delay: float) -> ScriptedModel:
    """Return a model that answers from a script, a word every `delay` seconds."""
    return ScriptedModel(_answer, name="offline", delay=delay)


def _answer(asked: ScriptedCall) -> str | tuple[str, ToolUseBlock]:
    if asked.results:
        if any(result.state is not ToolResultState.SUCCESS for result in asked.results):
            return "Then I cannot tell."
        return f"It is {' '.join(result.text_content for result in asked.results)}."
    if "weather" in asked.text.lower():
        place = _PLACE.search(asked.text)
        return "Let me look.", tool_call("weather", city=place[1].strip() if place else "Lisbon")
    return (
        "I am a script, and all that I know about is the weather. "
        "Ask me how it is in your city, or start me with --model PROVIDER:NAME."
    )
