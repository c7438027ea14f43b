"""One run of the loop: recorded as it streams, and well ended if it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable, SerialDisposable

from agentscope_rx.agent._acting import closing
from agentscope_rx.agent._guard import guard
from agentscope_rx.agent._iterate import iterate
from agentscope_rx.agent._run import Run
from agentscope_rx.errors import AgentScopeError, ConfigurationError
from agentscope_rx.event import AgentEndEvent, AgentEvent, ErrorInfo
from agentscope_rx.interop import CallScheduler, message_of, words_of
from agentscope_rx.middleware import AgentInput

__all__ = ["attempt", "failed_end"]

_ONE_AT_A_TIME: Final = (
    "on_agent subscribed to `next` while it was running; run one after the other, as ops.concat, ops.catch "
    "and ops.retry do"
)


def attempt(
    run: Run, input: AgentInput, phases: Callable[[], Iterator[Observable[AgentEvent]]]
) -> Observable[AgentEvent]:
    """Run the phases for an input.

    1. Each event is in the message and in the loop's state before it goes out.
    2. A failure ends what is open, gives the open calls a result and the call its AgentEnd.
    3. `on_agent` may subscribe again, to go on with the same reply, but not while an attempt runs.

    Errors: what fails; `ConfigurationError` for a second attempt beside the first.
    """
    events = iterate(phases).pipe(guard(run.reply_id, frame=True))

    def subscribe(
        observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        assert isinstance(scheduler, CallScheduler)
        subscription = SerialDisposable()
        record, emit = run.record, observer.on_next

        def on_next(event: AgentEvent) -> None:
            record(event)
            emit(event)

        def on_error(error: Exception) -> None:
            for event in _failing(run, error):
                if subscription.is_disposed:  # what nobody gets is not stored
                    return
                on_next(event)
            observer.on_error(error)

        def begin(*_: object) -> None:
            if run.is_running:
                observer.on_error(ConfigurationError(_ONE_AT_A_TIME))
                return
            run.begin(input.msgs)
            subscription.disposable = CompositeDisposable(
                events.subscribe(on_next, on_error, observer.on_completed, scheduler=scheduler),
                Disposable(run.end),
            )

        # In a turn of its own: an operator may let go of one attempt only when it has subscribed to another.
        subscription.disposable = scheduler.schedule(begin)
        return subscription

    return Observable(subscribe)


def failed_end(run: Run, error: Exception) -> AgentEndEvent:
    """Return the end of a call that has failed."""
    return AgentEndEvent(run.reply_id, error=ErrorInfo(type(error).__name__, message_of(error)))


def _failing(run: Run, error: Exception) -> Iterator[AgentEvent]:
    calls = run.open_calls()
    if isinstance(error, AgentScopeError) and error.partial is None:
        error.partial = run.message()
    reason = f"not run: the call failed with {words_of(error)}"
    yield from closing(run.reply_id, calls, dict.fromkeys((call.id for call in calls), reason))
    yield failed_end(run, error)
