"""What is open in a stream of events, and what the stream is short of. Pure."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Final

from attrs import evolve

from agentscope_rx.errors import MiddlewareProtocolWarning, NotAnEventError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    ReplyEvent,
)
from agentscope_rx.event.grammar import DELTAS, ENDS, OF_A_MODEL_CALL, STARTS, Lifecycle, end_of, key_of
from agentscope_rx.message import SUSPENDED, ToolResultState

__all__ = ["Mending", "Report"]

_OF_THE_CALL: Final = frozenset({AgentStartEvent, AgentEndEvent, AgentResultEvent})

_END_IT: Final = "let the Ends pass, and end what the operator cuts off"
_START_IT: Final = "let the Starts pass, and keep the ids of their deltas"


class Report:
    """Warns of what was put right in the hook of one call: what happened, the remedy, and in whom; once.

    Attributes:
        refused: the warning, where a program has made warnings errors: then it is the error of the call.
    """

    def __init__(self, hook: str, middlewares: Iterable[object] = (), *, silent: bool = False) -> None:
        self._hook = hook
        self._middlewares = middlewares
        self._told = silent
        self.refused: MiddlewareProtocolWarning | None = None

    def hush(self) -> None:
        """Say nothing any more: what is missing from here on is nobody's fault."""
        self._told = True

    def __call__(self, what: str, remedy: str) -> None:
        if self._told:
            return
        self._told = True
        names = ", ".join(map(repr, self._middlewares))
        text = f"{self._hook}: {what}; {remedy}{names and f' (in {names})'}"
        try:
            warnings.warn(MiddlewareProtocolWarning(text), stacklevel=2)
        except MiddlewareProtocolWarning as refused:
            self.refused = refused


class Mending:
    """The events of a phase, made well-formed one by one: see `guard`."""

    def __init__(self, reply_id: str, report: Report, *, frame: bool) -> None:
        self._reply_id = reply_id
        self._report = report
        self._frame = frame
        self.open: tuple[dict[str, AgentEvent], ...] = ({}, {}, {}, {}, {}, {})
        """The Starts without an End, by kind and key."""

    @property
    def text(self) -> dict[str, AgentEvent]:
        """The open text blocks."""
        return self.open[Lifecycle.TEXT]

    @property
    def thinking(self) -> dict[str, AgentEvent]:
        """The open thinking blocks."""
        return self.open[Lifecycle.THINKING]

    @property
    def calls(self) -> dict[str, AgentEvent]:
        """The open tool calls."""
        return self.open[Lifecycle.CALL]

    @property
    def results(self) -> dict[str, AgentEvent]:
        """The open tool results."""
        return self.open[Lifecycle.RESULT]

    def take(self, event: object) -> Iterator[AgentEvent]:
        """Give what is to be emitted for the next event.

        Errors: `NotAnEventError`.
        """
        if not isinstance(event, AgentEvent):
            raise NotAnEventError(f"a hook emitted {event!r}; it must emit AgentEvents only")
        if event.source:
            yield event
            return
        event = self._of_the_reply(event)
        kind = type(event)
        if kind in STARTS:
            yield from self._start(STARTS[kind], event)
        elif kind in ENDS:
            yield from self._finish(ENDS[kind], event)
        elif kind in DELTAS and key_of(event) not in self.open[DELTAS[kind]]:
            self._drop(event)
        elif kind in _OF_THE_CALL and not self._frame:
            self._report(f"dropped {kind.__name__}", "only on_agent sees the frame of a call")
        else:
            yield event

    def end(self, state: ToolResultState) -> Iterator[AgentEvent]:
        """Give the Ends of all that is open."""
        return self._close(*Lifecycle, state=state)

    def _of_the_reply(self, event: AgentEvent) -> AgentEvent:
        if not isinstance(event, ReplyEvent) or event.reply_id == self._reply_id:
            return event
        if event.reply_id:
            self._report(
                f"gave {type(event).__name__} the call's reply id instead of {event.reply_id!r}",
                "make events with the reply_id of the events that pass",
            )
        return evolve(event, reply_id=self._reply_id)

    def _start(self, kind: Lifecycle, event: AgentEvent) -> Iterator[AgentEvent]:
        key = key_of(event)
        if kind == Lifecycle.MODEL:
            yield from self._close(*OF_A_MODEL_CALL, Lifecycle.MODEL)
        elif key in self.open[kind]:
            again = self._close_one(kind, key, ToolResultState.RUNNING)
            # A call has one result: what was streamed of it before is none.
            yield evolve(again, metadata={SUSPENDED: False}) if kind == Lifecycle.RESULT else again
        self.open[kind][key] = event
        yield event

    def _finish(self, kind: Lifecycle, event: AgentEvent) -> Iterator[AgentEvent]:
        if kind == Lifecycle.MODEL and self.open[Lifecycle.MODEL]:
            yield from self._close(*OF_A_MODEL_CALL)
        if self.open[kind].pop(key_of(event), None) is None:
            self._drop(event)
        else:
            yield event

    def _close(
        self, *kinds: Lifecycle, state: ToolResultState = ToolResultState.INTERRUPTED
    ) -> Iterator[AgentEvent]:
        for kind in kinds:
            for key in list(self.open[kind]):
                yield self._close_one(kind, key, state)

    def _close_one(
        self, kind: Lifecycle, key: str, state: ToolResultState = ToolResultState.INTERRUPTED
    ) -> AgentEvent:
        start = self.open[kind].pop(key)
        self._report(f"ended {_told(start)}", _END_IT)
        return end_of(kind, start, state)

    def _drop(self, event: AgentEvent) -> None:
        self._report(f"dropped {_told(event)}, whose Start is missing", _START_IT)


def _told(event: AgentEvent) -> str:
    key = key_of(event)
    return f"{type(event).__name__} {key!r}" if key else type(event).__name__
