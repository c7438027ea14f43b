"""The guard outside a hook: whatever the operators inside do, what comes out is well-formed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final, cast

from attrs import evolve
from reactivex import Observable, abc
from reactivex.disposable import SingleAssignmentDisposable

from agentscope_rx.errors import MiddlewareProtocolWarning, NotAnEventError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    BlockEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    ReplyEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.message import ToolResultState
from agentscope_rx.typing import Operator

__all__ = ["Report", "guard", "reporter"]

Report = Callable[[str, str], None]
"""Tell once what was put right: what happened, and the remedy."""

_TEXT, _THINKING, _DATA, _CALL, _MODEL, _RESULT = range(6)

_STARTS: Final[dict[type[AgentEvent], int]] = {
    TextBlockStartEvent: _TEXT,
    ThinkingBlockStartEvent: _THINKING,
    DataBlockStartEvent: _DATA,
    ToolCallStartEvent: _CALL,
    ModelCallStartEvent: _MODEL,
    ToolResultStartEvent: _RESULT,
}
_DELTAS: Final[dict[type[AgentEvent], int]] = {
    TextBlockDeltaEvent: _TEXT,
    ThinkingBlockDeltaEvent: _THINKING,
    DataBlockDeltaEvent: _DATA,
    ToolCallDeltaEvent: _CALL,
    ToolResultTextDeltaEvent: _RESULT,
    ToolResultDataDeltaEvent: _RESULT,
}
_ENDS: Final[dict[type[AgentEvent], int]] = {
    TextBlockEndEvent: _TEXT,
    ThinkingBlockEndEvent: _THINKING,
    DataBlockEndEvent: _DATA,
    ToolCallEndEvent: _CALL,
    ModelCallEndEvent: _MODEL,
    ToolResultEndEvent: _RESULT,
}
_BLOCK_ENDS: Final = {_TEXT: TextBlockEndEvent, _THINKING: ThinkingBlockEndEvent, _DATA: DataBlockEndEvent}
_OF_THE_CALL: Final = frozenset({AgentStartEvent, AgentEndEvent, AgentResultEvent})

_END_IT = "let the Ends pass, and end what the operator cuts off"
_START_IT = "let the Starts pass, and keep the ids of their deltas"


def reporter(hook: str, told: set[str]) -> Report:
    """Return a `Report` that warns once per hook and call; `told` holds the hooks that have."""

    def report(what: str, remedy: str) -> None:
        if hook not in told:
            told.add(hook)
            warnings.warn(MiddlewareProtocolWarning(f"{hook}: {what}; {remedy}"), stacklevel=2)

    return report


def guard(reply_id: str, report: Report, frame: bool = False) -> Operator[Any, AgentEvent]:
    """Make a stream of events well-formed.

    1. A Start of a key that is open is preceded by its End; a ModelCallStart and a ModelCallEnd end what is
       open in the model call before.
    2. A delta or an End without its Start is dropped.
    3. Events of the top level carry `reply_id`.
    4. When the source ends, completed or failed, whatever is open is ended first.
    5. AgentStart, AgentResult and AgentEnd pass only where `frame` is true: they belong to the call.
    6. Whatever is dropped or added is reported.

    Errors: those of the source; `NotAnEventError` for an item that is no event.
    """

    def operator(source: Observable[Any]) -> Observable[AgentEvent]:
        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            subscription = SingleAssignmentDisposable()
            opened: tuple[dict[str, AgentEvent], ...] = ({}, {}, {}, {}, {}, {})
            text, thinking, _, calls, _, results = opened
            emit = observer.on_next

            def close(kind: int, key: str, state: ToolResultState = ToolResultState.INTERRUPTED) -> None:
                start = opened[kind].pop(key)
                report(f"ended {type(start).__name__} {key!r}", _END_IT)
                emit(_end_of(kind, start, state))

            def close_all(*kinds: int, state: ToolResultState = ToolResultState.INTERRUPTED) -> None:
                for kind in kinds:
                    for key in list(opened[kind]):
                        close(kind, key, state)

            def on_next(event: Any) -> None:
                kind: Any = type(event)  # pyright: ignore[reportUnknownVariableType] - it may be anything
                if kind is TextBlockDeltaEvent:
                    if event.block_id in text and event.reply_id == reply_id:
                        emit(event)
                    else:
                        rest(event)
                elif kind is ThinkingBlockDeltaEvent:
                    if event.block_id in thinking and event.reply_id == reply_id:
                        emit(event)
                    else:
                        rest(event)
                elif kind is ToolCallDeltaEvent:
                    if event.tool_call_id in calls and event.reply_id == reply_id:
                        emit(event)
                    else:
                        rest(event)
                elif kind is ToolResultTextDeltaEvent:
                    if event.tool_call_id in results and event.reply_id == reply_id:
                        emit(event)
                    else:
                        rest(event)
                else:
                    rest(event)

            def rest(event: Any) -> None:
                if not isinstance(event, AgentEvent):
                    subscription.dispose()
                    on_error(NotAnEventError(f"a hook emitted {event!r}; it must emit AgentEvents only"))
                    return
                if event.source:
                    emit(event)
                    return
                if isinstance(event, ReplyEvent) and event.reply_id != reply_id:
                    if event.reply_id:
                        report(
                            f"gave {type(event).__name__} the call's reply id instead of {event.reply_id!r}",
                            "make events with the reply_id of the events that pass",
                        )
                    event = evolve(event, reply_id=reply_id)
                kind: Any = type(event)  # pyright: ignore[reportUnknownVariableType] - it may be any event
                if kind in _STARTS:
                    begin(_STARTS[kind], event)
                elif kind in _DELTAS:
                    if _key(event) in opened[_DELTAS[kind]]:
                        emit(event)
                    else:
                        drop(event)
                elif kind in _ENDS:
                    finish(_ENDS[kind], event)
                elif kind in _OF_THE_CALL and not frame:
                    report(f"dropped {kind.__name__}", "only on_agent sees the frame of a call")
                else:
                    emit(event)

            def begin(kind: int, event: AgentEvent) -> None:
                key = _key(event)
                if kind == _MODEL:
                    close_all(_TEXT, _THINKING, _DATA, _CALL, _MODEL)
                elif key in opened[kind]:
                    close(kind, key)
                opened[kind][key] = event
                emit(event)

            def finish(kind: int, event: AgentEvent) -> None:
                if kind == _MODEL and opened[_MODEL]:
                    close_all(_TEXT, _THINKING, _DATA, _CALL)
                if opened[kind].pop(_key(event), None) is None:
                    drop(event)
                else:
                    emit(event)

            def drop(event: AgentEvent) -> None:
                report(f"dropped {type(event).__name__} {_key(event)!r}, whose Start is missing", _START_IT)

            def on_error(error: Exception) -> None:
                close_all(_TEXT, _THINKING, _DATA, _CALL, _MODEL, _RESULT, state=ToolResultState.ERROR)
                observer.on_error(error)

            def on_completed() -> None:
                close_all(_TEXT, _THINKING, _DATA, _CALL, _MODEL, _RESULT)
                observer.on_completed()

            subscription.disposable = source.subscribe(on_next, on_error, on_completed, scheduler=scheduler)
            return subscription

        return Observable(subscribe)

    return operator


def _key(event: AgentEvent) -> str:
    if isinstance(event, BlockEvent):
        return event.block_id
    return event.tool_call_id if isinstance(event, ToolEvent) else ""


def _end_of(kind: int, start: AgentEvent, state: ToolResultState) -> AgentEvent:
    if kind in _BLOCK_ENDS:
        block = cast(BlockEvent, start)
        return _BLOCK_ENDS[kind](block.reply_id, block.block_id)
    if kind == _MODEL:
        return ModelCallEndEvent(cast(ReplyEvent, start).reply_id)
    tool = cast(ToolEvent, start)
    if kind == _CALL:
        return ToolCallEndEvent(tool.reply_id, tool.tool_call_id, tool.tool_call_name)
    return ToolResultEndEvent(tool.reply_id, tool.tool_call_id, tool.tool_call_name, state)
