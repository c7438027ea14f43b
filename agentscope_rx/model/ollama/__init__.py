"""Models that an Ollama server runs."""

from agentscope_rx.model.ollama._model import OllamaModel as OllamaModel

__all__ = ["OllamaModel"]
