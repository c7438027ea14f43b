"""by_source: the events of one subagent."""

from __future__ import annotations

from attrs import evolve
from reactivex import Observable, operators as ops

from agentscope_rx.event import AgentEvent
from agentscope_rx.operators._arguments import check_path
from agentscope_rx.typing import Operator

__all__ = ["by_source"]


def by_source(path: str) -> Operator[AgentEvent, AgentEvent]:
    """Keep the events of one subagent, and take its path off, so that they fold as if it were alone.

    1. Only events whose `source` is `path` are kept; those of its own subagents have longer paths.
    2. They go on without a `source`; all else, the id too, stays.

    Marble:
        -s-t-T-t-|            t = an event of the subagent, T = the same of the top level
        ---t---t-|            by_source("main/researcher")
    Shape:  Observable[AgentEvent] → Observable[AgentEvent], at most as many items.
    Errors: those of the source; raises `ConfigurationError` for an empty path.
    """
    check_path("by_source", path)

    def is_its(event: AgentEvent) -> bool:
        return event.source == path

    def operator(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        return source.pipe(ops.filter(is_its), ops.map(_without_source))

    return operator


def _without_source(event: AgentEvent) -> AgentEvent:
    return evolve(event, source=None)
