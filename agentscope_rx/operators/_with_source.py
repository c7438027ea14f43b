"""with_source: events marked as a subagent's."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from attrs import evolve
from reactivex import Observable, operators as ops

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import AgentEvent
from agentscope_rx.operators._arguments import check_path
from agentscope_rx.typing import Operator

__all__ = ["with_source"]

E = TypeVar("E", bound=AgentEvent)


@overload
def with_source(path: str, /) -> Operator[AgentEvent, AgentEvent]: ...
@overload
def with_source(event: E, path: str, /) -> E: ...
def with_source(*marked: Any) -> Any:
    """Mark the events of a stream as a subagent's: `with_source("main/researcher")`.

    1. Each event gets `path` as its `source`; all else, the id too, stays.
    2. An event that has a `source` comes from further down: its own is put behind the path. The `main` at
       the head of that is whose events are marked: `main/writer` becomes `main/researcher/writer`.
    3. `with_source(event, path)` returns one event so marked.

    Marble:
        -S-t-E-|              events of the top level
        -s-t-e-|              the same with `source`
    Shape:  Observable[AgentEvent] → Observable[AgentEvent], as many items.
    Errors: those of the source; raises `ConfigurationError` for an empty path.
    Source: Java's `AgentEvent.withSource`, which changes the event.
    """
    match marked:
        case (AgentEvent() as event, path):
            check_path("with_source", path)
            return _marked(event, path)
        case (path,):
            check_path("with_source", path)
        case _:
            raise ConfigurationError(
                f"with_source() was given {marked!r}; give a path, or an event and a path"
            )

    def mark(event: AgentEvent) -> AgentEvent:
        return _marked(event, path)

    def operator(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        return source.pipe(ops.map(mark))

    return operator


def _marked(event: E, path: str) -> E:
    below = (event.source or "").split("/")
    return evolve(event, source="/".join([path, *below[below[0] in ("main", "") :]]))
