"""Agents: what reasons and acts, and streams what it does."""

from agentscope_rx.agent._agent import Agent as Agent, ReActAgent as ReActAgent
from agentscope_rx.agent._input import CallInput as CallInput
from agentscope_rx.context import RuntimeContext as RuntimeContext

__all__ = ["Agent", "CallInput", "ReActAgent", "RuntimeContext"]
