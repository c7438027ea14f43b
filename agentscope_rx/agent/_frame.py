"""The frame of a call, outside `on_agent`: one AgentStart first, one AgentEnd last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reactivex import Observable, abc

from agentscope_rx.agent._mending import Report
from agentscope_rx.event import AgentEndEvent, AgentEvent, AgentStartEvent, RequestStopEvent
from agentscope_rx.typing import Operator

__all__ = ["frame"]

_STOP_IT: Final = "emit it in on_reasoning, on_model_call or on_acting, or call agent.request_stop(ctx)"


def frame(
    start: Callable[[], AgentStartEvent],
    end: Callable[[Exception | None], AgentEndEvent],
    report: Report,
    stops: Callable[[], bool],
) -> Operator[AgentEvent, AgentEvent]:
    """Keep AgentStart first and AgentEnd last, each once, whatever `on_agent` does.

    1. A missing AgentStart is made before the first event; a second one is swallowed.
    2. AgentEnd is held back until the source ends, so that a retry shows one call; of several, the last
       counts. A missing one is made.
    3. A RequestStop that the call has not heard of, as `stops` says, is reported: out here it stops nothing.

    Errors: those of the source, after AgentEnd; the report's, if warnings are errors.
    """

    def operator(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            started = False
            held: AgentEndEvent | None = None

            def begin() -> None:
                nonlocal started
                started = True
                report("AgentStartEvent was missing", "let it pass first")
                observer.on_next(start())

            def on_next(event: AgentEvent) -> None:
                nonlocal started, held
                if type(event) is AgentEndEvent and not event.source:
                    held = event
                    return
                if type(event) is AgentStartEvent and not event.source:
                    if not started:
                        started = True
                        observer.on_next(event)
                    return
                if not started:
                    begin()
                if type(event) is RequestStopEvent and not event.source and not stops():
                    report("RequestStopEvent stopped nothing", _STOP_IT)
                observer.on_next(event)

            def finish(error: Exception | None) -> None:
                if not started:
                    begin()
                if held is None:
                    report("AgentEndEvent was missing", "let it pass last")
                error = error or report.refused
                if held is None or (error is not None) != (held.error is not None):
                    observer.on_next(end(error))
                else:
                    observer.on_next(held)
                if error is None:
                    observer.on_completed()
                else:
                    observer.on_error(error)

            return source.subscribe(on_next, finish, lambda: finish(None), scheduler=scheduler)

        return Observable(subscribe)

    return operator
