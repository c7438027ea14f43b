"""AgentScope's messages and events for Python, on ReactiveX: an agent call is its event stream.

Layers, each importing only those before it:
identity, errors, typing < message < permission, state < event < wire < operators < interop
< context, middleware, model, tool < agent < testing, serve, cli

Here are the names that a first program needs; the rest is in the namespaces, named as Java's packages:
`event`, `message`, `middleware`, `model`, `tool`, `permission`, `state`, `agent`, and `operators`, `wire`,
`testing`, `interop.asyncio`.
"""

from agentscope_rx.agent import ReActAgent as ReActAgent, RuntimeContext as RuntimeContext
from agentscope_rx.errors import AgentScopeError as AgentScopeError
from agentscope_rx.event import (
    AgentEndEvent as AgentEndEvent,
    AgentEvent as AgentEvent,
    AgentStartEvent as AgentStartEvent,
    TextBlockDeltaEvent as TextBlockDeltaEvent,
    ToolCallStartEvent as ToolCallStartEvent,
    ToolResultEndEvent as ToolResultEndEvent,
)
from agentscope_rx.interop.asyncio import to_async_iterable as to_async_iterable
from agentscope_rx.message import (
    AssistantMessage as AssistantMessage,
    Msg as Msg,
    UserMessage as UserMessage,
)
from agentscope_rx.middleware import (
    MiddlewareBase as MiddlewareBase,
    on_acting as on_acting,
    on_agent as on_agent,
    on_model_call as on_model_call,
    on_reasoning as on_reasoning,
)
from agentscope_rx.tool import Toolkit as Toolkit, tool as tool

__all__ = [
    "AgentEndEvent",
    "AgentEvent",
    "AgentScopeError",
    "AgentStartEvent",
    "AssistantMessage",
    "MiddlewareBase",
    "Msg",
    "ReActAgent",
    "RuntimeContext",
    "TextBlockDeltaEvent",
    "ToolCallStartEvent",
    "ToolResultEndEvent",
    "Toolkit",
    "UserMessage",
    "on_acting",
    "on_agent",
    "on_model_call",
    "on_reasoning",
    "to_async_iterable",
    "tool",
]
