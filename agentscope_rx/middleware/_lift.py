"""The function spelling of a middleware: operators on the stream of a phase."""

from __future__ import annotations

from functools import reduce
from inspect import getclosurevars
from typing import Any

import reactivex as rx
from reactivex import Observable

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import AgentEvent
from agentscope_rx.middleware._base import MiddlewareBase, Phase, stream_of
from agentscope_rx.typing import Operator

__all__ = ["on_acting", "on_agent", "on_model_call", "on_reasoning"]

EventOperator = Operator[AgentEvent, AgentEvent]


class _Lifted(MiddlewareBase):
    """A middleware made from functions on streams."""

    def __init__(self, hook: str, functions: tuple[EventOperator, ...]) -> None:
        if not functions:
            raise ConfigurationError(
                f"{hook}() got no function; give it operators, as {hook}(ops.tap(print))"
            )
        for function in functions:
            if not callable(function):  # pyright: ignore[reportUnnecessaryComparison] - callers may be untyped
                raise ConfigurationError(
                    f"{hook}() got {function!r}; give it functions from a stream to a stream"
                )
        self._hook = hook
        self._functions = functions

    def _through(self, input: Any, next: Phase[Any]) -> Observable[AgentEvent]:
        # Applied for each subscription: state born inside a function is that phase's own.
        return rx.defer(lambda _: reduce(self._applied, self._functions, next(input)))

    def _applied(self, events: Observable[AgentEvent], function: EventOperator) -> Observable[AgentEvent]:
        wanted = "the stream, as `return events.pipe(…)` does"
        where = f"{self._hook}({_name(function)})"
        try:
            result = function(events)
        except AttributeError as error:
            error.add_note(
                f"{where} is given a stream, not an event; for each event: {self._hook}(ops.tap(f))"
            )
            raise
        return stream_of(where, result, wanted)

    def __repr__(self) -> str:
        return f"{self._hook}({', '.join(map(_name, self._functions))})"


def _name(function: Any) -> str:
    """Name a function; what an operator has made by its operator: `ops.timeout(30)` is `timeout`."""
    *makers, name = getattr(function, "__qualname__", repr(function)).replace(".<locals>", "").split(".")
    if makers and name == "operator":
        return makers[-1]
    if makers[:1] == ["curry_flip"]:  # with this, RxPY makes its operators
        name = getattr(getclosurevars(function).nonlocals.get("fun"), "__name__", name)
    return name.strip("_")


class _OnAgent(_Lifted):
    def on_agent(self, agent: Any, ctx: Any, input: Any, next: Phase[Any]) -> Observable[AgentEvent]:
        return self._through(input, next)


class _OnReasoning(_Lifted):
    def on_reasoning(self, agent: Any, ctx: Any, input: Any, next: Phase[Any]) -> Observable[AgentEvent]:
        return self._through(input, next)


class _OnActing(_Lifted):
    def on_acting(self, agent: Any, ctx: Any, input: Any, next: Phase[Any]) -> Observable[AgentEvent]:
        return self._through(input, next)


class _OnModelCall(_Lifted):
    def on_model_call(self, agent: Any, ctx: Any, input: Any, next: Phase[Any]) -> Observable[AgentEvent]:
        return self._through(input, next)


def on_agent(*functions: EventOperator) -> MiddlewareBase:
    """Return a middleware that pipes each whole call through `functions`, in order.

    `on_agent(ops.tap(log))`, or as a decorator over one function from a stream to a stream. The functions are
    applied anew for each subscription, so state born inside one is that call's own; an operator made
    beforehand around a mutable seed or a subject (`ops.scan(f, [])`, `ops.replay()`) is shared by all
    sessions.
    """
    return _OnAgent("on_agent", functions)


def on_reasoning(*functions: EventOperator) -> MiddlewareBase:
    """Return a middleware that pipes each reasoning phase through `functions`; see `on_agent`."""
    return _OnReasoning("on_reasoning", functions)


def on_acting(*functions: EventOperator) -> MiddlewareBase:
    """Return a middleware that pipes each acting phase through `functions`; see `on_agent`."""
    return _OnActing("on_acting", functions)


def on_model_call(*functions: EventOperator) -> MiddlewareBase:
    """Return a middleware that pipes each model call through `functions`; see `on_agent`."""
    return _OnModelCall("on_model_call", functions)
