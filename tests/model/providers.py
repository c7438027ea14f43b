"""All providers that the contract is tested for."""

from __future__ import annotations

from tests.model.anthropic import provider as anthropic
from tests.model.dashscope import provider as dashscope
from tests.model.gemini import provider as gemini
from tests.model.ollama import provider as ollama
from tests.model.openai import provider as openai
from tests.model.openai_responses import provider as openai_responses
from tests.model.provider import Provider

__all__ = ["PROVIDERS"]

PROVIDERS: tuple[Provider, ...] = (
    anthropic.PROVIDER,
    dashscope.PROVIDER,
    dashscope.COMPATIBLE,
    gemini.PROVIDER,
    ollama.PROVIDER,
    openai.PROVIDER,
    openai_responses.PROVIDER,
)  # fmt: skip
