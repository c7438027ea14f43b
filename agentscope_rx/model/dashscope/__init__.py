"""Alibaba's Qwen and the other models of DashScope, in its own protocol or in OpenAI's."""

from agentscope_rx.model.dashscope._model import DashScopeModel as DashScopeModel

__all__ = ["DashScopeModel"]
