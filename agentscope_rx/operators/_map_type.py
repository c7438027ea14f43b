"""map_type: the events of one class through a function, all others in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from reactivex import Observable, abc

from agentscope_rx.errors import NotAnEventError
from agentscope_rx.event import AgentEvent
from agentscope_rx.operators._arguments import check_class, check_function
from agentscope_rx.typing import Operator

__all__ = ["map_type"]

E = TypeVar("E", bound=AgentEvent)


def map_type(cls: type[E], f: Callable[[E], AgentEvent | None]) -> Operator[AgentEvent, AgentEvent]:
    """Send the events of one class through a function, and pass all others in place.

    1. `f` returns the event to go on with, as `attrs.evolve(event, delta="…")`, or None to leave it out.
    2. Leave out deltas only: without its Start or End the rest of a block is no block any more.

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
        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            emit = observer.on_next

            def on_next(event: AgentEvent) -> None:
                if isinstance(event, cls):
                    try:
                        mapped = f(event)
                    except Exception as error:
                        observer.on_error(error)
                        return
                    if isinstance(mapped, AgentEvent):
                        emit(mapped)
                    elif mapped is not None:
                        observer.on_error(_no_event(mapped))
                else:
                    emit(event)

            return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

        return Observable(subscribe)

    return operator


def _no_event(mapped: object) -> NotAnEventError:
    return NotAnEventError(
        f"map_type()'s function returned {mapped!r}; return an event, or None to leave it out"
    )
