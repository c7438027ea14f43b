"""Helpers of messages narrow to the class asked for; constructors take every spelling. Checked, never run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict, assert_type

from agentscope_rx.message import (
    AssistantMessage,
    ChatUsage,
    ContentBlock,
    DataBlock,
    Msg,
    TextBlock,
    ToolResultMessage,
    ToolUseBlock,
    URLSource,
    UserMessage,
)


@dataclass
class City:
    """A class for structured output."""

    name: str


class Point(TypedDict):
    """Another way to say what it is."""

    x: int


TEXT, DATA = TextBlock("hi"), DataBlock(URLSource("https://example.com/a.png"))

SPELLINGS: list[Msg] = [
    UserMessage("hi"),
    UserMessage("user", "hi"),
    UserMessage("user", TEXT, DATA),
    UserMessage(TEXT, DATA),
    UserMessage([TEXT, DATA]),
    UserMessage(content=[TEXT], name="user"),
    AssistantMessage("hi", usage=ChatUsage(1, 2)),
    ToolResultMessage("call-1", "search", "found"),
]


def check(message: AssistantMessage) -> None:
    assert_type(message.get_content_blocks(ToolUseBlock), list[ToolUseBlock])
    assert_type(message.get_first_content_block(TextBlock), TextBlock | None)
    assert_type(message.get_first_content_block(), ContentBlock | None)
    assert_type(message.has_content_blocks(DataBlock), bool)
    assert_type(message.text_content, str)
    assert_type(message.content, tuple[ContentBlock, ...])
    assert_type(message.usage, ChatUsage | None)
    assert_type(message.get_structured_data(City), City)
    assert_type(message.get_structured_data(Point), Point)
    assert_type(message.get_structured_data(list[City]), list[City])
    assert_type(UserMessage("hi"), UserMessage)
