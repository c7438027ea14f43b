"""One run of a tool call, for all who subscribe to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from reactivex import Observable, abc
from reactivex.disposable import Disposable, SerialDisposable

from agentscope_rx.event import AgentEvent

__all__ = ["Flight"]


class Flight:
    """The events of one run, however often they are subscribed to.

    1. The first subscriber starts the run; each gets what has come so far, then what comes.
    2. When all have gone before its end, the run is disposed, and the next subscriber starts another one.
    3. What has ended is not run again. The events of subagents are given once.

    Args:
        events: the run.
        is_end: whether an event is the last one of a run.
    """

    def __init__(self, events: Observable[AgentEvent], is_end: Callable[[AgentEvent], bool]) -> None:
        self._events = events
        self._is_end = is_end
        self._said: list[AgentEvent] = []
        self._listeners: list[abc.ObserverBase[AgentEvent]] = []
        self._running = SerialDisposable()
        self._is_over = False

    @property
    def stream(self) -> Observable[AgentEvent]:
        """The events, as a stream."""
        return Observable(self._subscribe)

    def _subscribe(
        self, observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        for event in tuple(self._said):
            observer.on_next(event)
        if self._is_over:
            observer.on_completed()
            return Disposable()
        self._listeners.append(observer)
        if len(self._listeners) == 1:
            self._running.disposable = self._events.subscribe(
                self._on_next, self._on_error, self._on_completed, scheduler=scheduler
            )
        return Disposable(partial(self._leave, observer))

    def _on_next(self, event: AgentEvent) -> None:
        if not event.source:
            self._said.append(event)
            self._is_over = self._is_over or self._is_end(event)
        for listener in tuple(self._listeners):
            listener.on_next(event)

    def _on_error(self, error: Exception) -> None:
        self._said.clear()
        self._is_over = False
        for listener in self._let_go():
            listener.on_error(error)

    def _on_completed(self) -> None:
        self._is_over = True
        for listener in self._let_go():
            listener.on_completed()

    def _let_go(self) -> list[abc.ObserverBase[AgentEvent]]:
        listeners, self._listeners = self._listeners, []
        return listeners

    def _leave(self, observer: abc.ObserverBase[AgentEvent]) -> None:
        if observer not in self._listeners:
            return
        self._listeners.remove(observer)
        if not self._listeners:
            if not self._is_over:
                self._said.clear()
            self._running.disposable = None
