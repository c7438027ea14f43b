"""Chat models: what goes into a model call, what comes out of it, and how that becomes events."""

from agentscope_rx.model._base import ChatModel as ChatModel
from agentscope_rx.model._ids import ReplyIds as ReplyIds
from agentscope_rx.model._response import (
    ChatResponse as ChatResponse,
    GenerateOptions as GenerateOptions,
    ResponsePart as ResponsePart,
    ToolCallChunk as ToolCallChunk,
    ToolSchema as ToolSchema,
)
from agentscope_rx.model._to_events import to_events as to_events

__all__ = [
    "ChatModel",
    "ChatResponse",
    "GenerateOptions",
    "ReplyIds",
    "ResponsePart",
    "ToolCallChunk",
    "ToolSchema",
    "to_events",
]
