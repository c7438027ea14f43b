"""Agents: what reasons and acts, and streams what it does."""

from agentscope_rx.agent._agent import Agent as Agent, ReActAgent as ReActAgent
from agentscope_rx.agent._input import (
    CallInput as CallInput,
    ConfirmResults as ConfirmResults,
    ExternalResults as ExternalResults,
)
from agentscope_rx.agent._spawn import SubagentDeclaration as SubagentDeclaration
from agentscope_rx.agent._subagent import agent_tool as agent_tool
from agentscope_rx.context import RuntimeContext as RuntimeContext

__all__ = [
    "Agent",
    "CallInput",
    "ConfirmResults",
    "ExternalResults",
    "ReActAgent",
    "RuntimeContext",
    "SubagentDeclaration",
    "agent_tool",
]
