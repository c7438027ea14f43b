"""Models by name, as a command line or a configuration file spells them."""

from __future__ import annotations

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model._base import ChatModel

__all__ = ["resolve_model"]


def resolve_model(model_id: str, *, base_url: str | None = None) -> ChatModel:
    """Return the model of an id: `resolve_model("openai:gpt-4o")`.

    Args:
        model_id: the provider, a colon, and the model's name.
        base_url: where the model is served, if not at its provider.

    Errors: `ConfigurationError` for a provider that is not known, and for what the provider's class refuses.
    Source: Java `ModelRegistry.resolve`.
    """
    provider, _, name = model_id.partition(":")
    if provider != "openai" or not name:
        raise ConfigurationError(f"{model_id!r} is no model; give openai:NAME, as 'openai:gpt-4o'")
    from agentscope_rx.model.openai import OpenAIChatModel

    return OpenAIChatModel(name, base_url=base_url)
