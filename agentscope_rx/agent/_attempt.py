"""One run of the loop: recorded and stored as it streams, and well ended however it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import reactivex as rx
from reactivex import Observable, abc, operators as ops
from reactivex.disposable import CompositeDisposable, Disposable, SerialDisposable, SingleAssignmentDisposable
from reactivex.subject import Subject

from agentscope_rx.agent._commit import Commit
from agentscope_rx.agent._decide import closings
from agentscope_rx.agent._guard import guard
from agentscope_rx.agent._iterate import iterate
from agentscope_rx.agent._run import Run
from agentscope_rx.agent._unsaved import add_unsaved
from agentscope_rx.errors import AgentScopeError, ConfigurationError
from agentscope_rx.event import AgentEndEvent, AgentEvent, AgentResultEvent, ErrorInfo
from agentscope_rx.interop import CallScheduler, message_of, outside, words_of
from agentscope_rx.message import GenerateReason, ToolResultState
from agentscope_rx.middleware import AgentInput

__all__ = ["attempt", "failed_end"]

_ONE_AT_A_TIME: Final = (
    "on_agent subscribed to `next` while it was running; run one after the other, as ops.concat, ops.catch "
    "and ops.retry do"
)
_INTERRUPTED: Final = "Error: interrupted by the user"


def attempt(
    run: Run,
    input: AgentInput,
    phases: Callable[[], Iterator[Observable[AgentEvent]]],
    interrupting: Callable[[], Observable[AgentEvent]],
) -> Observable[AgentEvent]:
    """Run the phases for an input.

    1. Each event is in the message and in the loop's state before it goes out.
    2. An interrupt cuts the phase that runs; it ends what is open, and gives the open calls a result.
    3. A failure ends what is open, gives the open calls a result and the call its AgentEnd; so does one of
       the store.
    4. Subagents that are cut off are interrupted, and end before the calls that they work for; those of an
       interrupted call that have paused, too: that is `interrupting`.
    5. `on_agent` may subscribe again, to go on with the same reply, but not while an attempt runs.

    Errors: what fails; `ConfigurationError` for a second attempt beside the first.
    """

    def subscribe(
        observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        assert isinstance(scheduler, CallScheduler)
        this = _Attempt(run, observer, outside(scheduler))
        loop = iterate(phases).pipe(
            ops.take_until(run.cut), ops.take_until(this.broken), guard(run.reply_id, frame=True)
        )

        def begin(*_: object) -> None:
            if run.is_running:
                observer.on_error(ConfigurationError(_ONE_AT_A_TIME))
                return
            run.begin(input.msgs, this.inject, this.quiet)
            run.children.inject = this.on_next
            events = rx.concat(loop, rx.defer(lambda _: this.interrupted(interrupting)))
            this.ending.disposable = Disposable(run.end)
            this.source.disposable = events.subscribe(
                this.on_next, this.on_error, this.on_completed, scheduler=scheduler
            )

        # In a turn of its own: an operator may let go of one attempt only when it has subscribed to another.
        started = SingleAssignmentDisposable()
        started.disposable = scheduler.schedule(begin)
        return CompositeDisposable(started, Disposable(this.dispose))

    return Observable(subscribe)


class _Attempt:
    """One run of the loop, from its first event to its end.

    Attributes:
        source: what runs.
        ending: what is to be done when all has gone out.
        broken: ends what runs with an error that came from the store.
        quiet: completes when all events have gone out.
    """

    def __init__(
        self, run: Run, observer: abc.ObserverBase[AgentEvent], throw: Callable[[BaseException], None]
    ) -> None:
        self.source = SerialDisposable()
        self.ending = SerialDisposable()
        self.broken: Subject[None] = Subject()
        self._run = run
        self._observer = observer
        self._throw = throw
        self._commit = Commit(run, observer.on_next, self._fail, throw)
        self.quiet = self._commit.quiet()
        self._leaving = SerialDisposable()
        self._ended = False
        self._error: Exception | None = None
        self._also: Exception | None = None

    def on_next(self, event: AgentEvent) -> None:
        self._ended = self._ended or (type(event) is AgentEndEvent and not event.source)
        self._commit.take(event)

    def on_error(self, error: Exception) -> None:
        if self._error is None:
            self._also = error  # until all before it has gone out, the store may be the first to fail
            self._commit.finish(partial(self._fail, error))

    def on_completed(self) -> None:
        if self._error is None:
            self._commit.finish(self._observer.on_completed)

    def inject(self, event: AgentEvent) -> None:
        """Take an event from outside, if it comes before the end."""
        if self._ended or self._error is not None:
            return
        try:
            self._commit.take(event)
        except BaseException as escaped:  # a hook's; there is nobody behind who could catch it
            self._throw(escaped)

    def dispose(self) -> None:
        self._run.children.dispose()
        self.source.dispose()
        self._leaving.dispose()
        self._commit.dispose()
        self.ending.dispose()

    def interrupted(self, interrupting: Callable[[], Observable[AgentEvent]]) -> Observable[AgentEvent]:
        """Give the end of a call that was interrupted before it had one."""
        run = self._run
        if self._ended or not run.interrupted:
            return rx.empty()
        end = rx.defer(lambda _: rx.from_iterable(self._interrupted()))
        return rx.concat(interrupting(), end) if run.children.left or run.loop.delegated else end

    def _interrupted(self) -> Iterator[AgentEvent]:
        run = self._run
        if not run.has_begun:
            yield from run.opening()
        yield from _closed(run, _INTERRUPTED, ToolResultState.INTERRUPTED)
        yield AgentResultEvent(run.result(GenerateReason.INTERRUPTED), reply_id=run.reply_id)
        yield AgentEndEvent(run.reply_id, GenerateReason.INTERRUPTED)

    def _fail(self, error: Exception) -> None:
        if self._error is not None:  # what cannot be stored now is the end of another failure
            add_unsaved(self._error, error)
            return
        self._error = error
        if self._also is not None and self._also is not error:
            error.add_note(f"and behind it: {words_of(self._also)}")
        self._commit.forget_success()
        self.broken.on_error(error)
        self.source.dispose()
        if self._run.children.left:
            self._leaving.disposable = self._run.children.leaving().subscribe(
                on_completed=partial(self._close, error), scheduler=self._run.scheduler
            )
        else:
            self._close(error)

    def _close(self, error: Exception) -> None:
        if isinstance(error, AgentScopeError) and error.partial is None:
            error.partial = self._run.message()
        reason = f"Error: not run: the call failed with {words_of(error)}"
        for event in _closed(self._run, reason, ToolResultState.ERROR):
            if self._commit.is_over:  # what nobody gets is not stored
                return
            self._commit.take(event)
        self._commit.take(failed_end(self._run, error))
        self._commit.finish(partial(self._observer.on_error, error))


def failed_end(run: Run, error: Exception) -> AgentEndEvent:
    """Return the end of a call that has failed."""
    return AgentEndEvent(run.reply_id, error=ErrorInfo(type(error).__name__, message_of(error)))


def _closed(run: Run, text: str, state: ToolResultState) -> Iterator[AgentEvent]:
    return run.closing(closings(run.loop, text, state))
