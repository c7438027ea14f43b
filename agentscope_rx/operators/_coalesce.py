"""coalesce: neighbouring deltas of one block as one."""

from __future__ import annotations

from datetime import timedelta
from threading import RLock
from typing import Final

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, SerialDisposable
from reactivex.internal.concurrency import synchronized
from reactivex.scheduler import TimeoutScheduler
from reactivex.scheduler.scheduler import Scheduler

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import AgentEndEvent, AgentEvent
from agentscope_rx.operators._fold import Ids
from agentscope_rx.operators._merge import DELTAS, Delta, joined, joins
from agentscope_rx.typing import Operator

__all__ = ["coalesce"]

TICK: Final = 1e-6
"""Seconds that clocks tell apart."""

REMEMBERED: Final = 1_000
"""Replies without an AgentEnd whose deltas are known; a server may give each model call a reply id."""


def coalesce(
    count: int | None = None,
    *,
    timespan: float | timedelta | None = 0.05,
    scheduler: abc.SchedulerBase | None = None,
) -> Operator[AgentEvent, AgentEvent]:
    """Make one delta of neighbouring deltas of one block; the message stays the same.

    1. A delta is kept until an event comes that does not go on with it; then one delta with all of their text
       is emitted, and after it that event. It has the id, time and cursor of the last of them.
    2. No delta is kept longer than `timespan`, so that a lone one comes out when the model falls silent.
    3. With `count`, a delta of so many is emitted at once.
    4. A copy of a delta that was taken before is dropped while its reply runs, because behind this operator
       the id of a part is no longer known; of replies that never end, while it is one of the newest 1,000.
    5. When the source completes or fails, what is kept is emitted first.

    Args:
        count: deltas that become one, at most.
        timespan: seconds, or a timedelta, that a delta is kept, at most; None: until something else
            comes, for streams that nobody watches.
        scheduler: measures `timespan`; by default the subscription's.

    Marble:
        -S-a-b-c-E-|
        -S-------(xE)-|       x says what a, b and c say
    Shape:  Observable[AgentEvent] → Observable[AgentEvent].
    Units:  `timespan` in seconds.
    Errors: those of the source. `ConfigurationError` at the call for a count below 1 or a timespan below 0.
    """
    if count is not None and count < 1:
        raise ConfigurationError(f"coalesce(count={count!r}) would emit nothing; give 1 or more, or None")
    span = None if timespan is None else Scheduler.to_seconds(timespan)
    if span is not None and span < 0:
        raise ConfigurationError(f"coalesce(timespan={timespan!r}) lies in the past; give seconds, 0 or more")

    def operator(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler_: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            clock = scheduler or scheduler_ or TimeoutScheduler.singleton()
            timer = SerialDisposable()
            armed = False
            lock = RLock()  # the timer's thread may be another one
            taken: dict[tuple[str | None, str], Ids] = {}
            kept: list[Delta] = []
            since = 0.0  # when the first of `kept` came
            guide: Delta | None = None  # the one of `kept` that says what goes on with it

            def flush() -> None:
                if kept:
                    delta = joined(kept)
                    kept.clear()
                    observer.on_next(delta)

            def arm(seconds: float) -> None:
                nonlocal armed
                armed = True
                timer.disposable = clock.schedule_relative(seconds, due)

            # One timer at a time, armed again for what came meanwhile: one for each delta would cost more
            # than the delta, and outside of event loops a thread.
            @synchronized(lock)
            def due(*_: object) -> None:
                nonlocal armed
                armed = False
                if kept and span is not None:
                    left = min(span, since + span - Scheduler.to_seconds(clock.now))  # clocks may be set
                    if left > TICK:
                        arm(left)
                    else:
                        flush()

            def keep(delta: Delta) -> None:
                nonlocal guide, since
                if guide is not None and not joins(guide, delta):
                    flush()
                if not kept or getattr(delta, "media_type", None):
                    guide = delta
                kept.append(delta)
                if count is not None and len(kept) >= count:
                    flush()
                elif span is not None and len(kept) == 1:
                    since = Scheduler.to_seconds(clock.now)
                    if not armed:
                        arm(span)

            @synchronized(lock)
            def on_next(event: AgentEvent) -> None:
                if isinstance(event, DELTAS):
                    reply = event.source, event.reply_id
                    ids = taken.get(reply)
                    if ids is None:
                        ids = taken[reply] = Ids()
                        if len(taken) > REMEMBERED:
                            del taken[next(iter(taken))]
                    if ids.add(event.id):
                        keep(event)
                    return
                flush()
                if isinstance(event, AgentEndEvent):
                    taken.pop((event.source, event.reply_id), None)
                observer.on_next(event)

            @synchronized(lock)
            def on_error(error: Exception) -> None:
                flush()
                observer.on_error(error)

            @synchronized(lock)
            def on_completed() -> None:
                flush()
                observer.on_completed()

            subscription = source.subscribe(on_next, on_error, on_completed, scheduler=scheduler_)
            return CompositeDisposable(subscription, timer)

        return Observable(subscribe)

    return operator
