"""What goes into a model call: checked where it is made."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import TextBlock
from agentscope_rx.model import ChatResponse, GenerateOptions, ToolCallChunk, ToolSchema


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"temperature": "hot"}, "GenerateOptions.temperature is 'hot'; give a number"),
        ({"temperature": True}, "GenerateOptions.temperature is True"),
        ({"top_p": float("nan")}, "GenerateOptions.top_p is nan"),
        ({"max_tokens": 1.5}, "GenerateOptions.max_tokens is 1.5; give a whole number"),
        ({"seed": False}, "GenerateOptions.seed is False"),
        ({"stop": [1]}, "1 is no str"),
        ({"tool_choice": 3}, "GenerateOptions.tool_choice is 3"),
        ({"extra_headers": {"X": 1}}, "extra_headers has something else than a text of one line at 'X'"),
        ({"extra_headers": {"X": "a\r\nY: b"}}, "extra_headers has something else"),
    ],
)
def test_wrong_options_are_refused_where_they_are_made(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        GenerateOptions(**options)


def test_a_lone_stop_is_one_text() -> None:
    assert GenerateOptions(stop="END").stop == ("END",)
    assert GenerateOptions(stop=["a", "b"]).stop == ("a", "b")  # type: ignore[arg-type]


def test_options_go_over_defaults_and_extras_key_by_key() -> None:
    defaults = GenerateOptions(temperature=0.1, seed=1, stop="a", extra_body={"x": 1, "y": 1})
    options = GenerateOptions(temperature=0.0, extra_body={"y": 2, "z": 2})

    assert options.over(defaults) == GenerateOptions(
        temperature=0.0, seed=1, stop="a", extra_body={"x": 1, "y": 2, "z": 2}
    )
    assert GenerateOptions().over(defaults) == defaults
    assert defaults.over(GenerateOptions()) == defaults


@pytest.mark.parametrize(
    "make", [lambda: ToolCallChunk(None), lambda: ToolCallChunk(id=3), lambda: ToolSchema(None)]
)
def test_text_that_is_none_is_refused(make: Any) -> None:
    with pytest.raises(ConfigurationError, match="give a str"):
        make()


def test_values_do_not_change_and_do_not_share() -> None:
    parameters = {"type": "object"}
    schema = ToolSchema("f", parameters=parameters)
    parameters["type"] = "array"
    content = [TextBlock("a")]
    response = ChatResponse(content)  # type: ignore[arg-type]
    content.clear()

    assert schema.parameters == {"type": "object"}
    assert response.content == (TextBlock("a"),)
    assert hash(schema) == hash(ToolSchema("f"))
