"""Chat models: what goes into a model call, what comes out of it, and how that becomes events.

How to add a provider, as `model/openai/` has it:

1. `model/NAME/_request.py`: `build_request(model, messages, tools, options) -> dict`, pure. `history` gives
   turns in which every call has its result behind it; write each turn in the provider's words.
2. `model/NAME/_decode.py`: a `Decoder` (see `_provider`) with `done`, `whole`, `feed`, `close`, pure.
   `object_in(frame, name)` reads a frame's JSON; `as_object`, `as_list`, `as_str`, `as_int` take what may be
   anything. `raise failed(name, error)` for an error object; in `close`, `held_back(name, reason)` for an
   answer cut for its content, `IncompleteStreamError` for one that is cut. Parts are deltas, usage is that of
   the whole call so far, and what the provider wants back is a part's `metadata`.
3. `model/NAME/_model.py`: `Defaults` (server, variables), and a class that owns a `Server`; its `stream`
   returns `self._server.stream(ask, Decoder, options)`, where `ask(key, options)` makes the `Ask`: path,
   body, headers. `model/NAME/__init__.py` exports the class.
4. A row in `_providers.PROVIDERS`; below, the class under `TYPE_CHECKING` and in `__all__`.
5. `tests/model/NAME/provider.py` with a `Provider`, and its line in `tests/model/providers.py`: the recorded
   streams, the contract, and the comparison with the official SDK then run for it. Its own habits are tested
   beside it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentscope_rx.model._backoff import backoff as backoff, can_pass as can_pass
from agentscope_rx.model._base import (
    ChatModel as ChatModel,
    supports_native_structured_output as supports_native_structured_output,
)
from agentscope_rx.model._ids import ReplyIds as ReplyIds
from agentscope_rx.model._providers import PROVIDERS as _PROVIDERS
from agentscope_rx.model._registry import ModelRegistry as ModelRegistry, resolve_model as resolve_model
from agentscope_rx.model._response import (
    ChatResponse as ChatResponse,
    GenerateOptions as GenerateOptions,
    ResponsePart as ResponsePart,
    ToolCallChunk as ToolCallChunk,
    ToolSchema as ToolSchema,
)
from agentscope_rx.model._to_events import to_events as to_events

if TYPE_CHECKING:
    from agentscope_rx.model.anthropic import AnthropicModel as AnthropicModel
    from agentscope_rx.model.dashscope import DashScopeModel as DashScopeModel
    from agentscope_rx.model.gemini import GeminiModel as GeminiModel
    from agentscope_rx.model.ollama import OllamaModel as OllamaModel
    from agentscope_rx.model.openai import OpenAIChatModel as OpenAIChatModel
    from agentscope_rx.model.openai_responses import OpenAIResponsesModel as OpenAIResponsesModel

__all__ = [
    "AnthropicModel",
    "ChatModel",
    "ChatResponse",
    "DashScopeModel",
    "GeminiModel",
    "GenerateOptions",
    "ModelRegistry",
    "OllamaModel",
    "OpenAIChatModel",
    "OpenAIResponsesModel",
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


_MODULES = {row.name: row.module for row in _PROVIDERS.values()}


def __getattr__(name: str) -> Any:
    """Import a provider when it is first used: aiohttp costs more than all the rest."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
