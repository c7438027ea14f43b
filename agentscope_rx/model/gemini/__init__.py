"""Google's Gemini, by its own API."""

from agentscope_rx.model.gemini._model import GeminiModel as GeminiModel

__all__ = ["GeminiModel"]
