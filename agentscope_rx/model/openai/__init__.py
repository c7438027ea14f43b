"""OpenAI's chat completions, and the many servers that speak them."""

from agentscope_rx.model.openai._model import OpenAIChatModel as OpenAIChatModel

__all__ = ["OpenAIChatModel"]
