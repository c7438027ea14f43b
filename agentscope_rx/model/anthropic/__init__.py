"""Anthropic's Messages API, and the servers that speak it."""

from agentscope_rx.model.anthropic._model import AnthropicModel as AnthropicModel

__all__ = ["AnthropicModel"]
