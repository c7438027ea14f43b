"""The class spelling of a middleware."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from inspect import iscoroutine
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from reactivex import Observable

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import AgentEvent
from agentscope_rx.middleware._inputs import ActingInput, AgentInput, ModelCallInput, ReasoningInput

if TYPE_CHECKING:
    from agentscope_rx.agent import Agent

__all__ = ["MiddlewareBase", "Phase"]

InputT = TypeVar("InputT")

Phase: TypeAlias = Callable[[InputT], Observable[AgentEvent]]
"""What a hook calls as `next`: a cold stream of events from an input; may be called again."""


HOOKS: Final = ("on_agent", "on_reasoning", "on_acting", "on_model_call", "on_system_prompt")


class MiddlewareBase:
    """Override the hooks that you need; each gets `next`, the rest of the chain, and returns a stream.

    Order: the list of the agent, first is outermost. `order` exists for ports from Java: larger is further
    out, ties keep the order of the list.

    1. What an inner hook (`on_reasoning`, `on_acting`, `on_model_call`) drops, changes or adds is what the
       subscriber sees, what is stored, and what the message becomes.
    2. `on_agent` is the outermost view: it changes what the subscriber and `reply()` get, not what is stored.
    3. `return next(input)` passes on; without `next` the phase is replaced; a stream from `next` may be
       subscribed again (a retry).
    4. State belongs inside the hook (a local variable, a closure): one object serves all sessions. Of a whole
       call, it is in `on_agent`.
    5. A `RequestStopEvent` of an inner hook stops the call; `on_agent` has `agent.request_stop(ctx)`.

    Errors: an exception in a hook is a stream error, raised at once or later.
    """

    order: int = 1

    def __repr__(self) -> str:
        """Name the hooks that a class of the user's has: one that is spelled wrong is not among them."""
        hooks = ", ".join(hook for hook in HOOKS if overrides(self, hook))
        return f"<{type(self).__qualname__}: {hooks or 'no hook'}>"

    def on_agent(
        self, agent: Agent, ctx: RuntimeContext, input: AgentInput, next: Phase[AgentInput]
    ) -> Observable[AgentEvent]:
        """Wrap a whole call, from AgentStart to AgentEnd.

        Subscribing to `next` again goes on with the same reply; one at a time, as `ops.retry` does.
        """
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


def stream_of(where: str, result: Any, wanted: str) -> Observable[Any]:
    """Return the stream that a hook or a function has returned.

    Errors: `ConfigurationError` if it is none, with the place and what was wanted.
    """
    if isinstance(result, Observable):
        return result  # pyright: ignore[reportUnknownVariableType] - checked for its class only
    if iscoroutine(result):
        result.close()
        raise ConfigurationError(
            f"{where} is an async function; return {wanted}, "
            "or wrap the coroutine with interop.asyncio.from_coroutine"
        )
    raise ConfigurationError(f"{where} returned {result!r}; return {wanted}")


def check_spelling(middleware: MiddlewareBase) -> None:
    """Refuse a hook that nobody would call: `onReasoning`, `on_resoning`.

    Errors: `ConfigurationError`, with the hook that is meant.
    """
    hooks = {hook.replace("_", ""): hook for hook in HOOKS}
    for name in vars(type(middleware)):
        meant = get_close_matches(name.replace("_", "").lower(), hooks, 1, cutoff=0.9)
        if meant and name not in HOOKS:
            raise ConfigurationError(
                f"{type(middleware).__qualname__}.{name} is no hook, so nothing would call it; "
                f"is it {hooks[meant[0]]}?"
            )


def overrides(middleware: MiddlewareBase, hook: str) -> bool:
    """Return whether a middleware has its own version of a hook."""
    method: Any = getattr(type(middleware), hook)
    return method is not getattr(MiddlewareBase, hook)
