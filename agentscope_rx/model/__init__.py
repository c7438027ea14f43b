"""Chat models: what goes into a model call, what comes out of it, and how that becomes events."""

from typing import TYPE_CHECKING, Any

from agentscope_rx.model._backoff import backoff as backoff, can_pass as can_pass
from agentscope_rx.model._base import (
    ChatModel as ChatModel,
    supports_native_structured_output as supports_native_structured_output,
)
from agentscope_rx.model._ids import ReplyIds as ReplyIds
from agentscope_rx.model._resolve import resolve_model as resolve_model
from agentscope_rx.model._response import (
    ChatResponse as ChatResponse,
    GenerateOptions as GenerateOptions,
    ResponsePart as ResponsePart,
    ToolCallChunk as ToolCallChunk,
    ToolSchema as ToolSchema,
)
from agentscope_rx.model._to_events import to_events as to_events

if TYPE_CHECKING:
    from agentscope_rx.model.openai import OpenAIChatModel as OpenAIChatModel

__all__ = [
    "ChatModel",
    "ChatResponse",
    "GenerateOptions",
    "OpenAIChatModel",
    "ReplyIds",
    "ResponsePart",
    "ToolCallChunk",
    "ToolSchema",
    "backoff",
    "can_pass",
    "resolve_model",
    "supports_native_structured_output",
    "to_events",
]


def __getattr__(name: str) -> Any:
    """Import a provider when it is first used: aiohttp costs more than all the rest."""
    if name == "OpenAIChatModel":
        from agentscope_rx.model.openai import OpenAIChatModel

        return OpenAIChatModel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
