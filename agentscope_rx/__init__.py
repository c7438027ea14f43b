"""AgentScope's messages and events for Python, on ReactiveX: an agent call is its event stream.

Layers, each importing only those before it:
identity, errors, typing < message < permission, state < event < wire < operators < interop
< context, log, middleware, model, output, store, tool < agent < testing, serve, cli

Here are the names that a first program needs; the rest is in the namespaces, named as Java's packages:
`event`, `message`, `middleware`, `model`, `tool`, `permission`, `state`, `agent`, and `log`, `operators`,
`output`, `store`, `wire`, `testing`, `interop.asyncio`.

They are imported when they are first asked for: whoever needs only `event` and `wire` does not import agents,
and `import agentscope_rx` alone costs next to nothing, where all of it costs twice attrs and reactivex.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
        SystemMessage as SystemMessage,
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
    "SystemMessage",
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

_HOMES = ("errors", "message", "event", "interop.asyncio", "middleware", "tool", "agent")
_NAMESPACES = {
    "agent",
    "errors",
    "event",
    "identity",
    "interop",
    "log",
    "message",
    "middleware",
    "model",
    "operators",
    "output",
    "permission",
    "state",
    "store",
    "testing",
    "typing",
    "wire",
}


if not TYPE_CHECKING:  # to a type checker, a module with this function has every name

    def __getattr__(name: str) -> object:
        if name in __all__:
            for part in _HOMES:
                module = import_module(f"{__name__}.{part}")
                if name in module.__all__:
                    return globals().setdefault(name, getattr(module, name))
        if name in _NAMESPACES:
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    dunder = (name for name in globals() if name.startswith("__"))
    return sorted({*dunder, *__all__, *_NAMESPACES})


class _TopLevel(ModuleType):
    """Keeps `tool`, the decorator, from becoming the subpackage of that name once that is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _TopLevel
