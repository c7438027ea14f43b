"""map_type: the events of one class through a function, all others in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from reactivex import Observable, abc

from agentscope_rx.errors import NotAnEventError
from agentscope_rx.event import AgentEvent
from agentscope_rx.operators._arguments import check_class, check_function
from agentscope_rx.operators._attach import attach
from agentscope_rx.typing import Operator

__all__ = ["map_type"]

E = TypeVar("E", bound=AgentEvent)

Stage: TypeAlias = tuple[type[AgentEvent], Callable[[Any], AgentEvent | None]]


def map_type(cls: type[E], f: Callable[[E], AgentEvent | None]) -> Operator[AgentEvent, AgentEvent]:
    """Send the events of one class through a function, and pass all others in place.

    1. `f` returns the event to go on with, as `attrs.evolve(event, delta="…")`, or None to leave it out.
    2. Leave out deltas only: without its Start or End the rest of a block is no block any more.
    3. Several in a row are one stage: an event that none of them wants costs the same behind twenty as behind
       one.

    Marble:
        -S-t-t-E-|            S = AgentStart, t = a text delta, E = AgentEnd
        -S-T-T-E-|            map_type(TextBlockDeltaEvent, upper)
    Shape:  Observable[AgentEvent] → Observable[AgentEvent], at most as many items.
    Errors: those of the source; what `f` raises; `NotAnEventError` if it returns anything else. Raises
        `ConfigurationError` for what is no class or no function.
    """
    check_class("map_type", cls)
    check_function("map_type", f)

    def operator(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        if isinstance(source, _Mapped):
            return _Mapped(source.origin, (*source.stages, (cls, f)))
        return _Mapped(source, ((cls, f),))

    return operator


class _Mapped(Observable[AgentEvent]):
    """A source behind stages: for each a class, and what happens to the events of that class."""

    def __init__(self, origin: Observable[AgentEvent], stages: tuple[Stage, ...]) -> None:
        super().__init__(self._through_stages)
        self.origin = origin
        self.stages = stages

    def _through_stages(
        self, observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        stages = self.stages
        emit = observer.on_next
        wanted: dict[type[AgentEvent], bool] = {}

        def on_next(event: AgentEvent) -> None:
            cls = type(event)
            if cls not in wanted:
                wanted[cls] = any(issubclass(cls, stage) for stage, _ in stages)
            if not wanted[cls]:
                emit(event)
                return
            try:
                mapped = _mapped(stages, event)
            except Exception as error:
                observer.on_error(error)
                return
            if mapped is not None:
                emit(mapped)

        return attach(self.origin, on_next, observer.on_error, observer.on_completed, scheduler)


def _mapped(stages: tuple[Stage, ...], event: AgentEvent) -> AgentEvent | None:
    for cls, f in stages:
        if isinstance(event, cls):
            mapped = f(event)
            if mapped is None:
                return None
            if not isinstance(mapped, AgentEvent):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
                raise NotAnEventError(
                    f"map_type()'s function returned {mapped!r}; return an event, or None to leave it out"
                )
            event = mapped
    return event
