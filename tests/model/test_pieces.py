"""Values that are made without the checks of their classes."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import fields

from agentscope_rx.message import TextBlock, ThinkingBlock
from agentscope_rx.model import ChatResponse
from agentscope_rx.model._pieces import piece, text_part, thinking_part


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (text_part("a"), TextBlock("a")),
        (thinking_part("a"), ThinkingBlock("a")),
        (piece(TextBlock("a")), ChatResponse((TextBlock("a"),))),
    ],
)
def test_what_is_made_is_what_its_class_makes(made: Any, expected: Any) -> None:
    assert type(made) is type(expected)
    assert made == expected
    assert repr(made) == repr(expected)
    for attribute in fields(type(expected)):
        assert type(getattr(made, attribute.name)) is type(getattr(expected, attribute.name))
