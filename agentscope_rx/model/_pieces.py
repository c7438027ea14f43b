"""What streams bring by the hundred thousand, made without the checks of their classes, in half the time.

The checks are for what users give. A decoder knows what it has; for many short pieces of text they would take
as long as all that it does itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from agentscope_rx._frozen import EMPTY
from agentscope_rx.message import TextBlock, ThinkingBlock
from agentscope_rx.model._response import ChatResponse, ResponsePart

__all__ = ["piece", "text_part", "thinking_part"]

_new: Final = object.__new__


def _slot(cls: type[Any], name: str) -> Callable[[object, object], None]:
    """What fills a slot of a value that is still being made."""
    return getattr(cls, name).__set__


_content, _usage, _finish_reason, _id, _metadata = (
    _slot(ChatResponse, name) for name in ("content", "usage", "finish_reason", "id", "metadata")
)
_text, _text_metadata = _slot(TextBlock, "text"), _slot(TextBlock, "metadata")
_thinking, _thinking_metadata = _slot(ThinkingBlock, "thinking"), _slot(ThinkingBlock, "metadata")


def piece(part: ResponsePart) -> ChatResponse:
    """Return `ChatResponse((part,))`."""
    response = _new(ChatResponse)
    _content(response, (part,))
    _usage(response, None)
    _finish_reason(response, "")
    _id(response, "")
    _metadata(response, EMPTY)
    return response


def text_part(text: str) -> TextBlock:
    """Return `TextBlock(text)`."""
    block = _new(TextBlock)
    _text(block, text)
    _text_metadata(block, None)
    return block


def thinking_part(thinking: str) -> ThinkingBlock:
    """Return `ThinkingBlock(thinking)`."""
    block = _new(ThinkingBlock)
    _thinking(block, thinking)
    _thinking_metadata(block, None)
    return block
