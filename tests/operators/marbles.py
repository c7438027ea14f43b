"""Marble tables: streams and what operators make of them, drawn as text, in virtual time.

The grammar is RxPY's, which is not RxJS':

    -       a tick passes
    a       an item, here and now; it lasts as many ticks as its name has letters
    -ab-    ONE item, named `ab`; for two at once write a group
    (a,b)   a and b at the tick of the parenthesis; the whole group lasts as long as it is wide
    |       completion
    #       the error; `(a,#)` is an item and the error at once
    space   nothing, to align diagrams

An item's name stands for what the legend says; one that it does not name is a string, and digits are numbers.
Errors compare by identity: RxPY's own records compare them by their text, so that `ValueError("x")` would
equal `TypeError("x")`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from reactivex import Observable
from reactivex.observable.marbles import parse
from reactivex.testing import Recorded, TestScheduler
from reactivex.testing.coldobservable import ColdObservable

from agentscope_rx.event import (
    AgentEndEvent,
    AgentStartEvent,
    CustomEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UnknownEvent,
)
from agentscope_rx.identity import deterministic

__all__ = ["ERROR", "FOREVER", "LEGEND", "Messages", "Stage", "messages"]

ERROR: Final = ValueError("boom")
"""What `#` stands for."""

FOREVER: Final = sys.maxsize
"""The end of a subscription that nothing ended."""

START: Final = 200
"""The virtual time at which pipelines are subscribed: tick 0 of the diagrams."""

Messages = list[tuple[float, str, Any]]
"""What a stream sent: the tick, `N`, `E` or `C`, and the item or error."""

with deterministic("m"):
    LEGEND: Final[Mapping[str, Any]] = {
        "A": AgentStartEvent("session", "r", "agent"),
        "Z": AgentEndEvent("r"),
        "M": ModelCallStartEvent("r", "model"),
        "W": ModelCallEndEvent("r"),
        "S": TextBlockStartEvent("r", "text-1"),
        "a": TextBlockDeltaEvent("r", "text-1", "a"),
        "b": TextBlockDeltaEvent("r", "text-1", "b"),
        "c": TextBlockDeltaEvent("r", "text-1", "c"),
        "E": TextBlockEndEvent("r", "text-1"),
        "T": ToolCallStartEvent("r", "call-1", "search"),
        "t": ToolCallDeltaEvent("r", "call-1", "search", "{}"),
        "U": ToolCallEndEvent("r", "call-1", "search"),
        "R": ToolResultStartEvent("r", "call-1", "search"),
        "o": ToolResultTextDeltaEvent("r", "call-1", "search", "out"),
        "Q": ToolResultEndEvent("r", "call-1", "search"),
        "x": CustomEvent("progress", {"percent": 40}),
        "u": UnknownEvent({"type": "NEWER"}),
    }
    """One event for each letter: capitals begin and end things, small ones lie between."""


def messages(marbles: str, legend: Mapping[str, Any] = LEGEND, error: Exception = ERROR) -> Messages:
    """Return what a diagram says, to compare with what happened."""
    return [_told(Recorded(tick, note)) for tick, note in parse(marbles, lookup={**legend}, error=error)]


def _told(record: Recorded[Any]) -> tuple[float, str, Any]:
    note: Any = record.value
    return (
        record.time,
        note.kind,
        note.exception if note.kind == "E" else note.value if note.kind == "N" else None,
    )


class Stage:
    """A virtual time with streams in it."""

    def __init__(self, legend: Mapping[str, Any] = LEGEND) -> None:
        self.scheduler = TestScheduler()
        self.legend = legend

    def cold(self, marbles: str, error: Exception = ERROR) -> ColdObservable[Any]:
        """Return a stream that begins for each subscriber anew."""
        parsed = parse(marbles, lookup={**self.legend}, error=error, raise_stopped=True)
        return self.scheduler.create_cold_observable([Recorded(tick, note) for tick, note in parsed])

    def run(self, pipeline: Observable[Any], dispose: int = 800) -> Messages:
        """Subscribe, let time pass, dispose at a tick, and return what came."""
        observer = self.scheduler.start(lambda: pipeline, disposed=START + dispose)
        return [(tick - START, kind, value) for tick, kind, value in map(_told, observer.messages)]

    @staticmethod
    def windows(source: ColdObservable[Any]) -> list[tuple[int, int]]:
        """Return from which tick to which tick the source was subscribed, each time."""
        return [
            (
                window.subscribe - START,
                FOREVER if window.unsubscribe == FOREVER else window.unsubscribe - START,
            )
            for window in source.subscriptions
        ]
