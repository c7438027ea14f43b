"""Folding a list of middlewares around a core."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import AgentEvent
from agentscope_rx.middleware._base import MiddlewareBase, Phase, check_spelling, overrides, stream_of

if TYPE_CHECKING:
    from agentscope_rx.agent import Agent

__all__ = ["chain", "in_order", "system_prompt", "with_hook"]

InputT = TypeVar("InputT")


def in_order(middlewares: Iterable[MiddlewareBase]) -> tuple[MiddlewareBase, ...]:
    """Return the middlewares outermost first: larger `order` first, ties as they are given.

    Errors: `ConfigurationError` for a hook that is spelled wrong.
    """
    result = tuple(sorted(middlewares, key=lambda middleware: -middleware.order))
    for middleware in result:
        check_spelling(middleware)
    return result


def with_hook(middlewares: Iterable[MiddlewareBase], hook: str) -> tuple[MiddlewareBase, ...]:
    """Return those middlewares that have their own version of a hook."""
    return tuple(middleware for middleware in middlewares if overrides(middleware, hook))


def chain(
    middlewares: Iterable[MiddlewareBase],
    hook: str,
    agent: Agent,
    ctx: RuntimeContext,
    core: Phase[InputT],
) -> Phase[InputT]:
    """Wrap `core` in the hooks of `middlewares`, the first outermost.

    1. Each level is cold: a hook runs when the stream that it is to return is subscribed.
    2. An exception in a hook, raised at once, is a stream error.
    """

    def wrap(next: Phase[InputT], middleware: MiddlewareBase) -> Phase[InputT]:
        def phase(input: InputT) -> Observable[AgentEvent]:
            return rx.defer(
                lambda _: _events(middleware, hook, getattr(middleware, hook), agent, ctx, input, next)
            )

        return phase

    return reduce(wrap, reversed(tuple(middlewares)), core)


def system_prompt(
    middlewares: Iterable[MiddlewareBase], agent: Agent, ctx: RuntimeContext, prompt: str
) -> Observable[str]:
    """Pass the system prompt through the middlewares, outermost first; one item."""

    def through(prompts: Observable[str], middleware: MiddlewareBase) -> Observable[str]:
        return prompts.pipe(ops.flat_map(lambda text: _prompt(middleware, agent, ctx, text)))

    return reduce(through, middlewares, rx.of(prompt))


def _prompt(middleware: MiddlewareBase, agent: Agent, ctx: RuntimeContext, prompt: str) -> Observable[str]:
    wanted = "a string or an Observable of one"
    result: Any = middleware.on_system_prompt(agent, ctx, prompt)
    if isinstance(result, str):
        return rx.of(result)

    def a_string(last: Any) -> str:
        if isinstance(last, str):
            return last
        raise ConfigurationError(
            f"{type(middleware).__qualname__}.on_system_prompt gave {last!r}; return {wanted}"
        )

    prompts = stream_of(f"{type(middleware).__qualname__}.on_system_prompt", result, wanted)
    return prompts.pipe(ops.last_or_default(), ops.map(a_string))


def _events(
    middleware: MiddlewareBase, hook: str, method: Any, agent: Any, ctx: RuntimeContext, input: Any, next: Any
) -> Observable[AgentEvent]:
    wanted = "an Observable, as `return next(input)` does"
    return stream_of(f"{type(middleware).__qualname__}.{hook}", method(agent, ctx, input, next), wanted)
