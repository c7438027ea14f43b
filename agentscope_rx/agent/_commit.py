"""The stage that lets an event out when what it says is stored."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from agentscope_rx.agent._run import Run
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    ExternalExecutionResultEvent,
    ToolResultEndEvent,
    UserConfirmResultEvent,
)

__all__ = ["Commit"]

_STORED: Final = (
    AgentEndEvent,
    ExternalExecutionResultEvent,
    ToolResultEndEvent,
    UserConfirmResultEvent,
)
_OF_THE_END: Final = (AgentResultEvent, AgentEndEvent)


class Commit:
    """Takes the events of one run of the loop, records them, and lets them out in order.

    1. A ToolResultEnd goes out when it is stored, so that no tool that is known to have ended runs again;
       answers and outcomes, so that none that was taken has to be given again.
    2. So do AgentEnd and the AgentResult before it, which are recorded only then: if they cannot be stored,
       the call fails instead, and they never were.
    3. What comes while a write runs waits for it; it is recorded at once.
    4. Where there is no store nothing waits.

    A write that fails is told to `fail`, after the event that waited for it has gone out. What `emit` lets
    escape where an event has waited goes to `throw`: nobody is behind it who could catch it.

    Attributes:
        is_over: whether nothing goes out any more.
    """

    def __init__(
        self,
        run: Run,
        emit: Callable[[AgentEvent], None],
        fail: Callable[[Exception], None],
        throw: Callable[[BaseException], None],
    ) -> None:
        self._run = run
        self._is_stored = run.is_stored
        self._emit = emit
        self._fail = fail
        self._throw = throw
        self._waiting: deque[AgentEvent] = deque()
        self._result: AgentResultEvent | None = None
        self._writing = False
        self._finally: Callable[[], None] | None = None
        self._quiet: dict[abc.ObserverBase[AgentEvent], None] = {}
        self.is_over = False

    def take(self, event: AgentEvent) -> None:
        """Take an event that comes now."""
        if self._is_stored and isinstance(event, _OF_THE_END) and not event.source:
            if isinstance(event, AgentResultEvent):
                self._result = event
                return
        else:
            self._run.record(event)
        if self._waits_for_store(event) or self._writing or self._waiting:
            self._waiting.append(event)
            self._let_go()
        elif not self.is_over:
            self._emit(event)

    def finish(self, action: Callable[[], None]) -> None:
        """Do something when all has gone out."""
        self._finally = action
        self._let_go()

    def quiet(self) -> Observable[AgentEvent]:
        """Nothing; it completes when all that was taken has gone out."""

        def subscribe(
            observer: abc.ObserverBase[AgentEvent], _: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            self._quiet[observer] = None
            self._let_go()
            return Disposable(lambda: self._quiet.pop(observer, None))

        return Observable(subscribe)

    def forget_success(self) -> None:
        """Drop the end that has not gone out: the call has failed."""
        self._result = self._finally = None
        self._waiting = deque(event for event in self._waiting if not _is_success(event))

    def dispose(self) -> None:
        """Let nothing out any more; a write that runs goes on."""
        self.is_over = True
        self._waiting.clear()
        self._quiet.clear()
        self._finally = None

    def _let_go(self) -> None:
        while self._waiting and not self._writing:
            event = self._waiting.popleft()
            if self._waits_for_store(event):
                self._write(event)
            elif not self.is_over:
                self._emit(event)
        while self._quiet and not self._writing:  # who hears of it may go on at once, and write
            self._quiet.popitem()[0].on_completed()
        if self._finally is not None and not self._writing:
            action, self._finally = self._finally, None
            action()

    def _waits_for_store(self, event: AgentEvent) -> bool:
        return self._is_stored and isinstance(event, _STORED) and not event.source

    def _write(self, event: AgentEvent) -> None:
        self._writing = True
        if isinstance(event, AgentEndEvent):
            ends = (event,) if self._result is None else (self._result, event)
            saving = self._run.write(ends=ends)
        else:
            saving = self._run.write(durable=False)
        task = self._run.scheduler.create_task(saving)
        task.add_done_callback(partial(self._written, event))

    def _written(self, event: AgentEvent, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        self._writing = False
        if self.is_over or task.cancelled():  # the loop is being closed
            return
        try:
            if error is None:
                self._let_out(event)
            elif isinstance(error, Exception):
                self._unstored(event, error)
            self._let_go()
        except BaseException as escaped:
            self._throw(escaped)

    def _let_out(self, event: AgentEvent) -> None:
        if isinstance(event, AgentEndEvent):
            result, self._result = self._result, None
            if result is not None:
                self._run.record(result)
                self._emit(result)
                if self.is_over:
                    return
            self._run.record(event)
        self._emit(event)

    def _unstored(self, event: AgentEvent, error: Exception) -> None:
        if not _is_success(event):
            self._let_out(event)
        self._fail(error)


def _is_success(event: AgentEvent) -> bool:
    return isinstance(event, AgentEndEvent) and event.error is None and not event.source
