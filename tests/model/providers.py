"""All providers that the contract is tested for."""

from __future__ import annotations

from tests.model.openai import provider as openai
from tests.model.provider import Provider

__all__ = ["PROVIDERS"]

PROVIDERS: tuple[Provider, ...] = (
    openai.PROVIDER,
)  # fmt: skip
