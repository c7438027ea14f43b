"""The subagents of one call: what they are told, and how their events come into its stream."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, final, runtime_checkable
from weakref import WeakKeyDictionary

import reactivex as rx
from attrs import field, frozen
from reactivex import Observable, abc, operators as ops
from reactivex.disposable import CompositeDisposable, Disposable, SerialDisposable

from agentscope_rx.agent._aside import aside
from agentscope_rx.agent._plan import Plan
from agentscope_rx.agent._route import Answers
from agentscope_rx.agent._waiting import Question, Questions, Waiting, is_over
from agentscope_rx.context import RuntimeContext
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    ToolResultEndEvent,
)
from agentscope_rx.interop import CallScheduler, as_error, from_coroutine, occupied
from agentscope_rx.message import Msg, ToolResultState
from agentscope_rx.operators import ReplyFold, with_source

if TYPE_CHECKING:
    from agentscope_rx.agent._agent import Agent

__all__ = ["CLOSING", "Adopted", "Children", "Heard", "Interruptible"]

AgentT = TypeVar("AgentT")

ROOT: Final = "main"
"""The agent whose stream it is, at the head of each `source` in it."""

CLOSING: Final = 2.0
"""How long, in seconds, subagents that are interrupted may take to end well."""

_STACK: Final = 8
"""How many agents inside each other share one stack of Python's, which ends after a thousand calls."""


@runtime_checkable
class Interruptible(Protocol):
    """An agent whose sessions can be interrupted."""

    def interrupt(self, ctx: RuntimeContext | None = None) -> Observable[AgentEvent | None]:
        """End what a session does, at once."""
        ...


@final
@frozen
class Heard:
    """What was heard of a subagent in one call.

    Attributes:
        fold: its reply, as far as this call has streamed it.
        result: the message that it has said it came to.
        questions: what it has asked and nobody has answered, it or one below it.
    """

    fold: ReplyFold = field(factory=ReplyFold)
    result: Msg | None = None
    questions: tuple[Question, ...] = ()


class Children:
    """The subagents of one call.

    Attributes:
        reply_id: the reply that they work for.
        depth: how many agents are above this call.
        adopt: returns the agent that is to run for a declared one.
        interrupting: whether they are only run to be interrupted.
        inject: takes an event into the stream of the call that runs, past the hooks.
    """

    def __init__(
        self,
        scheduler: CallScheduler,
        plan: Plan,
        around: Children | None,
        adopt: Callable[[Agent], Agent],
    ) -> None:
        self.reply_id = plan.reply_id
        self.depth = 0 if around is None else around.depth + 1
        self.adopt = adopt
        self.interrupting = False
        self.inject: Callable[[AgentEvent], None] = _nowhere
        self._scheduler = scheduler
        self._occupied = occupied.get()
        self._waits = plan.waits
        self._answers = dict(plan.children)
        self._places: dict[str, _Place] = {}
        self._left: dict[_Child, None] = {}

    def session_of(self, call_id: str) -> str | None:
        """Return the session in which a subagent waits for its call to go on."""
        waiting = self._waits.get(call_id)
        return None if waiting is None else waiting.session_id

    def answers_for(self, call_id: str) -> Answers | None:
        """Return the answers that have come for the subagent of a call; once."""
        return self._answers.pop(call_id, None)

    def hosting(self, call_id: str, events: Observable[AgentEvent]) -> Observable[AgentEvent]:
        """Let the events of a call's subagents stand among those of its tool.

        1. An event of a subagent comes out before the subagent goes on: what was seen is what it has stored.
           At each eighth level it comes out right behind.
        2. Whoever disposes this leaves the subagents that run, or have paused, and the call does not know of
           it yet: they are interrupted, and what they still have to say goes into the stream of the call, as
           long as that runs; see `leaving`.

        Errors: those of the source.
        """

        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            subscription = SerialDisposable()

            def on_next(event: AgentEvent) -> None:
                if type(event) is ToolResultEndEvent:
                    known = event.state is ToolResultState.RUNNING and Waiting.of(event.metadata) is not None
                    place.leave(_forget if known else self._leave)
                observer.on_next(event)

            def leave() -> None:
                if self._places.get(call_id) is place:
                    del self._places[call_id]
                subscription.dispose()
                place.leave(self._leave)

            place = self._places[call_id] = _Place(observer.on_next)
            subscription.disposable = events.subscribe(
                on_next, observer.on_error, observer.on_completed, scheduler=scheduler
            )
            return Disposable(leave)

        return Observable(subscribe)

    def emit(self, call_id: str, event: AgentEvent) -> None:
        """Let an event of the call's own stand among those of a call's tool."""
        self._place(call_id).emit(event)

    async def hear(
        self,
        call_id: str,
        name: str,
        events: Observable[AgentEvent] | Observable[AgentEvent | None],
        interrupt: Callable[[], Observable[AgentEvent | None]] | None,
    ) -> Heard:
        """Run a subagent for a call, and let its events out with their `source`, live.

        Cancelling interrupts it, and waits until it has ended, before it raises.

        Errors: those of the subagent.
        """
        place = self._place(call_id)
        if (self.depth + 1) % _STACK == 0:
            events, interrupt = self._aside(events), interrupt and partial(self._interrupting, interrupt)
        child = _Child(f"{ROOT}/{name}", place.emit, interrupt, self._occupied)
        place.children.append(child)
        child.listen(events, self._scheduler)
        try:
            await asyncio.wait({child.over})
        except asyncio.CancelledError:
            child.interrupt()
            if child not in self._left:
                await asyncio.wait({child.ended})
                child.dispose()
            raise
        if not child.has_paused:
            place.forget(child)
        return child.heard()

    def _aside(self, events: Observable[Any]) -> Observable[Any]:
        return events.pipe(aside(self._scheduler))

    def _interrupting(self, interrupt: Callable[[], Observable[Any]]) -> Observable[Any]:
        return self._aside(interrupt())

    def _place(self, call_id: str) -> _Place:
        if call_id not in self._places:  # a hook runs the tool by itself
            self._places[call_id] = _Place(self.inject)
        return self._places[call_id]

    def _leave(self, child: _Child) -> None:
        child.emit = self.inject
        child.interrupt()
        if not child.ended.done():
            self._left[child] = None

    @property
    def left(self) -> bool:
        """Whether there are subagents that still have to end."""
        return bool(self._left)

    def leaving(self) -> Observable[AgentEvent]:
        """Wait, bounded, until those that were left have ended; then let go of them."""

        async def wait() -> None:
            await asyncio.wait([child.ended for child in self._left], timeout=CLOSING)
            self._let_go()

        if not self._left:
            return rx.empty()
        return from_coroutine(wait).pipe(ops.flat_map(rx.empty()))

    def dispose(self) -> None:
        """Cancel all that run."""
        self.inject = _nowhere
        for place in self._places.values():
            place.leave(_Child.dispose)
        self._let_go()

    def _let_go(self) -> None:
        for child in self._left:
            child.dispose()
        self._left.clear()


class Adopted:
    """The agents that work for another, as they do so."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._agents: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def get(self, agent: AgentT, make: Callable[[], AgentT]) -> AgentT:
        """Return what an agent is when it works for this one; made once."""
        with self._lock:
            if agent not in self._agents:
                self._agents[agent] = make()
            return self._agents[agent]


def _nowhere(_: AgentEvent) -> None:
    """Where events go while no loop runs."""


class _Place:
    """Where the events of a call's subagents come out.

    Attributes:
        emit: takes them.
        children: those that run, and those that have paused.
    """

    def __init__(self, emit: Callable[[AgentEvent], None]) -> None:
        self.emit = emit
        self.children: list[_Child] = []

    def forget(self, child: _Child) -> None:
        """Let go of one that is over."""
        if child in self.children:
            self.children.remove(child)

    def leave(self, take: Callable[[_Child], None]) -> None:
        """Let go of all, to whoever takes them."""
        children, self.children = self.children, []
        for child in children:
            take(child)


class _Child:
    """A subagent that runs.

    Attributes:
        emit: takes its events.
        ended: done when nothing of it is to come any more.
        over: done when its call is over.
    """

    def __init__(
        self,
        path: str,
        emit: Callable[[AgentEvent], None],
        interrupt: Callable[[], Observable[AgentEvent | None]] | None,
        around: frozenset[Any],
    ) -> None:
        self.emit = emit
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._path = path
        self._interrupt = interrupt
        self._around = around
        self._subscriptions = CompositeDisposable()
        self._end: AgentEndEvent | None = None
        self._begun = False
        self._interrupted = False
        self._error: Exception | None = None
        self._fold = ReplyFold()
        self._result: Msg | None = None
        self._questions = Questions()

    def listen(
        self, events: Observable[AgentEvent] | Observable[AgentEvent | None], scheduler: CallScheduler
    ) -> None:
        """Run it."""
        self._subscriptions.add(events.subscribe(self._take, self._fail, self._complete, scheduler=scheduler))

    def _take(self, event: AgentEvent | None) -> None:
        if event is None or self.ended.done():
            return
        self._fold.apply(event)
        self._questions.take(event)
        if not event.source:
            self._begun = self._begun or isinstance(event, AgentStartEvent)
            self._result = event.result if isinstance(event, AgentResultEvent) else self._result
            self._end = event if isinstance(event, AgentEndEvent) else None
        inside = occupied.set(self._around)  # who hears of it does not wait in the tool, as the subagent does
        try:
            self.emit(with_source(event, self._path))
        except BaseException as error:  # nothing more will come, and somebody waits
            self._fail(as_error(error))
            raise
        finally:
            occupied.reset(inside)
        if self._end is not None and not (self._interrupted and self.has_paused):
            _settle(self.ended)

    def _fail(self, error: Exception) -> None:
        self._error = error
        self._complete()

    def _complete(self) -> None:
        if not self._interrupted:
            _settle(self.ended)
        _settle(self.over)

    @property
    def has_paused(self) -> bool:
        """Whether it has ended, and somebody is expected to go on with it."""
        return self._end is not None and not is_over(self._fold.generate_reason())

    def interrupt(self) -> None:
        """Let it end well, also if it has paused; at once, if it cannot be interrupted."""
        if self._interrupted or (self.ended.done() and not self.has_paused):
            return
        self._interrupted = True
        if self._interrupt is None or not self._begun:
            self.dispose()
            return
        self.ended = asyncio.get_running_loop().create_future()
        self._subscriptions.add(
            self._interrupt().subscribe(
                self._take_closing, lambda _: _settle(self.ended), lambda: _settle(self.ended)
            )
        )

    def _take_closing(self, event: AgentEvent | None) -> None:
        """Take what comes of the interrupt: the end again, or all with which the paused one was closed."""
        if event is not None and (self._end is None or event.id != self._end.id):
            self._take(event)

    def dispose(self) -> None:
        """Cancel it; what it waits with stays."""
        self._interrupted = True
        self._subscriptions.dispose()
        _settle(self.ended)
        _settle(self.over)

    def heard(self) -> Heard:
        """Return what was heard of it.

        Errors: that of its call.
        """
        if self._error is not None:
            raise self._error
        return Heard(self._fold, self._result, self._questions.open())


def _forget(_: _Child) -> None:
    """Take one that has paused, as its call knows."""


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
