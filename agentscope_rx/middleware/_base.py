"""The class spelling of a middleware."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from reactivex import Observable

from agentscope_rx.context import RuntimeContext
from agentscope_rx.event import AgentEvent
from agentscope_rx.middleware._inputs import ActingInput, AgentInput, ModelCallInput, ReasoningInput

if TYPE_CHECKING:
    from agentscope_rx.agent import Agent

__all__ = ["MiddlewareBase", "Phase"]

InputT = TypeVar("InputT")

Phase: TypeAlias = Callable[[InputT], Observable[AgentEvent]]
"""What a hook calls as `next`: a cold stream of events from an input; may be called again."""


class MiddlewareBase:
    """Override the hooks that you need; each gets `next`, the rest of the chain, and returns a stream.

    Order: the list of the agent, first is outermost. `order` exists for ports from Java: larger is further
    out, ties keep the order of the list.

    1. What an inner hook (`on_reasoning`, `on_acting`, `on_model_call`) drops, changes or adds is what the
       subscriber sees, what is stored, and what the message becomes.
    2. `on_agent` is the outermost view: it changes what the subscriber and `reply()` get, not what is stored.
    3. `return next(input)` passes on; without `next` the phase is replaced; a stream from `next` may be
       subscribed again (a retry).
    4. State belongs inside the hook (a local variable, a closure): one object serves all sessions.

    Errors: an exception in a hook is a stream error, raised at once or later.
    """

    order: int = 1

    def on_agent(
        self, agent: Agent, ctx: RuntimeContext, input: AgentInput, next: Phase[AgentInput]
    ) -> Observable[AgentEvent]:
        """Wrap a whole call, from AgentStart to AgentEnd."""
        return next(input)

    def on_reasoning(
        self, agent: Agent, ctx: RuntimeContext, input: ReasoningInput, next: Phase[ReasoningInput]
    ) -> Observable[AgentEvent]:
        """Wrap a reasoning phase: the model call and whatever the hooks around it do."""
        return next(input)

    def on_acting(
        self, agent: Agent, ctx: RuntimeContext, input: ActingInput, next: Phase[ActingInput]
    ) -> Observable[AgentEvent]:
        """Wrap an acting phase: all tool calls of one reasoning phase."""
        return next(input)

    def on_model_call(
        self, agent: Agent, ctx: RuntimeContext, input: ModelCallInput, next: Phase[ModelCallInput]
    ) -> Observable[AgentEvent]:
        """Wrap one model call, from ModelCallStart to ModelCallEnd."""
        return next(input)

    def on_system_prompt(self, agent: Agent, ctx: RuntimeContext, prompt: str) -> str | Observable[str]:
        """Return the system prompt of the next reasoning phase, or a stream whose last item it is."""
        return prompt


def overrides(middleware: MiddlewareBase, hook: str) -> bool:
    """Return whether a middleware has its own version of a hook."""
    method: Any = getattr(type(middleware), hook)
    return method is not getattr(MiddlewareBase, hook)
