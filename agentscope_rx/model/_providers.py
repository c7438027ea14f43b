"""The providers that ship with this package, by the name that stands before the colon of a model's id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple

from agentscope_rx.model._base import ChatModel

__all__ = ["BARE", "PROVIDERS", "ProviderRow"]


class ProviderRow(NamedTuple):
    """A provider's class, imported when it is first used; `settings` are those of its constructor."""

    module: str
    name: str
    settings: Mapping[str, Any] = {}

    def load(self) -> Callable[..., ChatModel]:
        """Import the class."""
        return getattr(import_module(self.module), self.name)


def _openai(provider: str) -> ProviderRow:
    return ProviderRow("agentscope_rx.model.openai", "OpenAIChatModel", {"provider": provider})


PROVIDERS: Final[Mapping[str, ProviderRow]] = {
    "anthropic": ProviderRow("agentscope_rx.model.anthropic", "AnthropicModel"),
    "dashscope": ProviderRow("agentscope_rx.model.dashscope", "DashScopeModel"),
    "deepseek": _openai("deepseek"),
    "gemini": ProviderRow("agentscope_rx.model.gemini", "GeminiModel"),
    "glm": _openai("glm"),
    "kimi": _openai("kimi"),
    "llama.cpp": _openai("llama.cpp"),
    "lmstudio": _openai("lmstudio"),
    "moonshot": _openai("moonshot"),
    "ollama": ProviderRow("agentscope_rx.model.ollama", "OllamaModel"),
    "openai": _openai("openai"),
    "openai-responses": ProviderRow("agentscope_rx.model.openai_responses", "OpenAIResponsesModel"),
    "openrouter": _openai("openrouter"),
    "vllm": _openai("vllm"),
    "zai": _openai("zai"),
    "zhipu": _openai("zhipu"),
}

BARE: Final[Mapping[str, str]] = {"qwen": "dashscope"}
"""How names begin that need no provider before them, as `qwen-plus`, and whose they are."""
