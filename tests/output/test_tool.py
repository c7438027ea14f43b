from __future__ import annotations

from typing import Any, TypedDict

import pytest

from agentscope_rx.event import ToolResultEndEvent, ToolResultTextDeltaEvent
from agentscope_rx.interop.asyncio import to_async_iterable
from agentscope_rx.message import ToolResultState, ToolUseBlock
from agentscope_rx.output import GENERATE_RESPONSE, OutputSpec, generate_response
from agentscope_rx.tool import Toolkit, run_tool


class Point(TypedDict):
    x: int
    y: int


POINT = generate_response(OutputSpec.of(Point))


async def run(arguments: dict[str, Any], content: str | None = None) -> tuple[str, ToolResultEndEvent]:
    call = ToolUseBlock("c", GENERATE_RESPONSE, arguments, content)
    events = [event async for event in to_async_iterable(run_tool(call, Toolkit(POINT), reply_id="r"))]
    texts = [event.delta for event in events if isinstance(event, ToolResultTextDeltaEvent)]
    end = events[-1]
    assert isinstance(end, ToolResultEndEvent)
    return "".join(texts), end


@pytest.mark.asyncio
async def test_the_result_holds_the_value() -> None:
    text, end = await run({"response": {"x": 1, "y": "2"}})

    assert (text, end.state) == ("Successfully generated response.", ToolResultState.SUCCESS)
    assert end.metadata == {"_structured_output": {"x": 1, "y": 2}}


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"response": {"x": 1}}, "Error: the response does not fit: $.y: is missing. Correct it, and call"),
        ({}, "Error: the response does not fit: $: is missing; give it as 'response'. Correct it"),
    ],
)
async def test_what_does_not_fit_is_a_result_that_names_the_path(arguments: Any, words: str) -> None:
    text, end = await run(arguments)

    assert text.startswith(words)
    assert (end.state, end.metadata) == (ToolResultState.ERROR, {})


def test_the_model_sees_one_argument_of_the_schema() -> None:
    assert POINT.schema.name == "generate_response"
    assert POINT.schema.parameters["properties"].keys() == {"response"}
    assert POINT.schema.parameters["properties"]["response"]["required"] == ["x", "y"]


def test_it_changes_nothing_so_that_nobody_is_asked() -> None:
    assert POINT.read_only
