"""What streams bring by the hundred thousand, made without the checks of their classes, in half the time.

The checks are for what users give. A decoder knows what it has; for many short pieces of text they would take
as long as all that it does itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from agentscope_rx._frozen import EMPTY
from agentscope_rx.message import ChatUsage, TextBlock, ThinkingBlock
from agentscope_rx.model._chunks import as_int
from agentscope_rx.model._response import ChatResponse, ResponsePart

__all__ = ["piece", "pieces", "text_part", "thinking_part", "usage_of"]

_new: Final = object.__new__


def _slot(cls: type[Any], name: str) -> Callable[[object, object], None]:
    """What fills a slot of a value that is still being made."""
    return getattr(cls, name).__set__


_content, _usage, _finish_reason, _id, _metadata = (
    _slot(ChatResponse, name) for name in ("content", "usage", "finish_reason", "id", "metadata")
)
_text, _text_metadata = _slot(TextBlock, "text"), _slot(TextBlock, "metadata")
_thinking, _thinking_metadata = _slot(ThinkingBlock, "thinking"), _slot(ThinkingBlock, "metadata")
_input, _output, _cached, _time, _reasoning = (
    _slot(ChatUsage, name)
    for name in ("input_tokens", "output_tokens", "cached_tokens", "time", "reasoning_tokens")
)


def piece(part: ResponsePart) -> ChatResponse:
    """Return `ChatResponse((part,))`."""
    response = _new(ChatResponse)
    _content(response, (part,))
    _usage(response, None)
    _finish_reason(response, "")
    _id(response, "")
    _metadata(response, EMPTY)
    return response


def pieces(
    parts: Sequence[ResponsePart], usage: ChatUsage | None, finish_reason: str, id: str
) -> ChatResponse:
    """Return `ChatResponse(parts, usage, finish_reason, id)`."""
    response = _new(ChatResponse)
    _content(response, tuple(parts))
    _usage(response, usage)
    _finish_reason(response, finish_reason)
    _id(response, id)
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


def usage_of(sent: Any, received: Any, cached: Any = None, reasoning: Any = None) -> ChatUsage | None:
    """Return what was counted so far, each count as `as_int` has it; None where nothing was."""
    input_tokens, output_tokens = as_int(sent) or 0, as_int(received) or 0
    if not input_tokens and not output_tokens:
        return None
    usage = _new(ChatUsage)
    _input(usage, input_tokens)
    _output(usage, output_tokens)
    _cached(usage, (as_int(cached) or 0) if cached else 0)
    _time(usage, 0.0)
    _reasoning(usage, (as_int(reasoning) or 0) if reasoning else 0)
    return usage
