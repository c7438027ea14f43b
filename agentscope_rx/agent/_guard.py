"""The guard outside a hook: whatever the operators inside do, what comes out is well-formed and ends."""

from __future__ import annotations

from typing import Any

from reactivex import Observable, abc
from reactivex.disposable import SingleAssignmentDisposable

from agentscope_rx.agent._mending import Mending, Report
from agentscope_rx.errors import NotAnEventError
from agentscope_rx.event import (
    AgentEvent,
    TextBlockDeltaEvent,
    ThinkingBlockDeltaEvent,
    ToolCallDeltaEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.interop import CallScheduler, as_error, goes_on, outside
from agentscope_rx.message import ToolResultState
from agentscope_rx.typing import Operator

__all__ = ["guard"]


def guard(reply_id: str, report: Report | None = None, *, frame: bool = False) -> Operator[Any, AgentEvent]:
    """Make a stream of events well-formed, and let it end whatever happens.

    1. A Start of a key that is open is preceded by its End; a ModelCallStart and a ModelCallEnd end what is
       open in the model call before.
    2. A delta or an End without its Start is dropped.
    3. Events of the top level carry `reply_id`.
    4. When the source ends, completed or failed, whatever is open is ended first.
    5. AgentStart, AgentResult and AgentEnd pass only where `frame` is true: they belong to the call.
    6. Whatever is dropped or added is reported, if there is a `report`.
    7. An exception that an operator inside lets escape, or that is raised where RxPY catches nothing (an
       exit, a cancellation), is the stream's error; one from outside is that of the guard around this one.

    Errors: those of the source; `NotAnEventError` for an item that is no event; the report's, if warnings
    are errors.
    """

    told = report or Report("", silent=True)

    def operator(source: Observable[Any]) -> Observable[AgentEvent]:
        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            subscription = SingleAssignmentDisposable()
            mending = Mending(reply_id, told, frame=frame)
            text, thinking, calls, results = mending.text, mending.thinking, mending.calls, mending.results
            emit = observer.on_next
            throw = outside(scheduler)
            over = False

            def on_next(event: Any) -> None:
                kind: Any = type(event)  # pyright: ignore[reportUnknownVariableType] - it may be anything
                try:
                    # Nine events out of ten; a load for each class, as CPython's inline caches want it.
                    if kind is TextBlockDeltaEvent:
                        fits = event.block_id in text and event.reply_id == reply_id
                    elif kind is ThinkingBlockDeltaEvent:
                        fits = event.block_id in thinking and event.reply_id == reply_id
                    elif kind is ToolCallDeltaEvent:
                        fits = event.tool_call_id in calls and event.reply_id == reply_id
                    elif kind is ToolResultTextDeltaEvent:
                        fits = event.tool_call_id in results and event.reply_id == reply_id
                    else:
                        fits = False
                    if fits:
                        emit(event)
                    else:
                        mend(event)
                except BaseException as error:
                    throw(error)

            def mend(event: object) -> None:
                try:
                    for mended in mending.take(event):
                        emit(mended)
                except NotAnEventError as error:
                    fail(error)
                else:
                    if told.refused is not None:
                        fail(told.refused)

            def fail(error: BaseException) -> None:
                if over or subscription.is_disposed:
                    throw(error)
                    return
                subscription.dispose()
                finish(as_error(error))
                if goes_on(error):
                    raise error

            def finish(error: Exception | None) -> None:
                nonlocal over
                over = True
                state = ToolResultState.INTERRUPTED if error is None else ToolResultState.ERROR
                try:
                    for end in mending.end(state):
                        emit(end)
                    error = error or told.refused
                    if error is None:
                        observer.on_completed()
                    else:
                        observer.on_error(error)
                except BaseException as raised:
                    throw(raised)

            part = scheduler.part(fail) if isinstance(scheduler, CallScheduler) else scheduler
            try:
                subscription.disposable = source.subscribe(
                    on_next, finish, lambda: finish(None), scheduler=part
                )
            except BaseException as error:
                fail(error)
            return subscription

        return Observable(subscribe)

    return operator
