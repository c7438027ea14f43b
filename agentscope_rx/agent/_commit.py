"""The stage that lets an event out when what it says is stored."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from agentscope_rx.agent._run import Run
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
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


class Commit:
    """Takes the events of one run of the loop, records them, and lets them out in order.

    1. A ToolResultEnd goes out when it is stored, so that no tool that is known to have ended runs again;
       answers and outcomes, so that none that was taken has to be given again; and AgentEnd, which is
       recorded only then: if it cannot be stored, the call fails instead.
    2. What comes while a write runs waits for it; it is recorded at once.
    3. Where there is no store nothing waits.

    A write that fails is told to `fail`, after the event that waited for it has gone out.

    Attributes:
        is_over: whether nothing goes out any more.
    """

    def __init__(
        self, run: Run, emit: Callable[[AgentEvent], None], fail: Callable[[Exception], None]
    ) -> None:
        self._run = run
        self._emit = emit
        self._fail = fail
        self._waiting: deque[Callable[[], None]] = deque()
        self._writing = False
        self.is_over = False

    def take(self, event: AgentEvent) -> None:
        """Take an event that comes now."""
        if not self._run.is_stored or not isinstance(event, _STORED) or event.source:
            self._run.record(event)
            self.then(partial(self._emit, event))
        elif isinstance(event, AgentEndEvent):
            self.then(partial(self._write, event, durable=True))
        else:
            self._run.record(event)
            self.then(partial(self._write, event, durable=False))

    def then(self, action: Callable[[], None]) -> None:
        """Do something when all that came before has gone out."""
        if self._writing or self._waiting:
            self._waiting.append(action)
        elif not self.is_over:
            action()

    def dispose(self) -> None:
        """Let nothing out any more; a write that runs goes on."""
        self.is_over = True
        self._waiting.clear()

    def _write(self, event: AgentEvent, *, durable: bool) -> None:
        self._writing = True
        end = event if isinstance(event, AgentEndEvent) else None
        task = self._run.scheduler.create_task(self._run.write(durable=durable, end=end))
        task.add_done_callback(partial(self._written, event))

    def _written(self, event: AgentEvent, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        self._writing = False
        if self.is_over or task.cancelled():  # the loop is being closed
            return
        if isinstance(error, Exception):
            self._unstored(event, error)
        else:
            self._let_out(event)
        while self._waiting and not self._writing:
            self._waiting.popleft()()

    def _let_out(self, event: AgentEvent) -> None:
        if isinstance(event, AgentEndEvent):
            self._run.record(event)
        self._emit(event)

    def _unstored(self, event: AgentEvent, error: Exception) -> None:
        if isinstance(event, AgentEndEvent) and event.error is None:
            self._waiting.clear()
        else:
            self._let_out(event)
        self._fail(error)
