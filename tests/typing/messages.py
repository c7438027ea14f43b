"""Helpers of messages narrow to the class asked for; constructors take every spelling. Checked, never run."""

from __future__ import annotations

from typing import assert_type

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
    assert_type(UserMessage("hi"), UserMessage)
