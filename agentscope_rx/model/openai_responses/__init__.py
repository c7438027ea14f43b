"""OpenAI's Responses API, and the servers that speak it."""

from agentscope_rx.model.openai_responses._model import OpenAIResponsesModel as OpenAIResponsesModel

__all__ = ["OpenAIResponsesModel"]
