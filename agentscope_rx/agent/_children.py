"""The subagents of one call: what they are told, and how their events come into its stream."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, final, runtime_checkable
from weakref import WeakKeyDictionary

import reactivex as rx
from attrs import field, frozen
from reactivex import Observable, abc, operators as ops
from reactivex.disposable import Disposable, SerialDisposable

from agentscope_rx.agent._plan import Plan
from agentscope_rx.agent._route import Answers
from agentscope_rx.agent._waiting import Question, Questions
from agentscope_rx.context import RuntimeContext
from agentscope_rx.event import AgentEndEvent, AgentEvent, AgentResultEvent, AgentStartEvent
from agentscope_rx.interop import CallScheduler, as_error, from_coroutine, goes_on
from agentscope_rx.message import Msg
from agentscope_rx.operators import ReplyFold, with_source

if TYPE_CHECKING:
    from agentscope_rx.agent._agent import Agent

__all__ = ["CLOSING", "Adopted", "Children", "Heard", "Interruptible"]

AgentT = TypeVar("AgentT")

ROOT: Final = "main"
"""The agent whose stream it is, at the head of each `source` in it."""

CLOSING: Final = 2.0
"""How long, in seconds, subagents that are interrupted may take to end well."""


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


def _as_it_is(agent: Agent) -> Agent:
    return agent


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
        around: Children | None = None,
        adopt: Callable[[Agent], Agent] = _as_it_is,
    ) -> None:
        self.reply_id = plan.reply_id
        self.depth = 0 if around is None else around.depth + 1
        self.adopt = adopt
        self.interrupting = False
        self.inject: Callable[[AgentEvent], None] = _nowhere
        self._scheduler = scheduler
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
        2. Whoever disposes this leaves the subagents that run: they are interrupted, and what they still have
           to say goes into the stream of the call, as long as that runs; see `leaving`.

        Errors: those of the source.
        """

        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            subscription = SerialDisposable()

            def emit(event: AgentEvent) -> None:
                try:
                    observer.on_next(event)
                except BaseException as error:
                    leave()
                    observer.on_error(as_error(error))
                    if goes_on(error):
                        raise

            place = _Place(emit)

            def leave() -> None:
                if self._places.get(call_id) is place:
                    del self._places[call_id]
                subscription.dispose()
                for child in place.children:
                    self._leave(child)

            self._places[call_id] = place
            subscription.disposable = events.subscribe(
                observer.on_next, observer.on_error, observer.on_completed, scheduler=scheduler
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
        interrupt: Callable[[], object] | None,
    ) -> Heard:
        """Run a subagent for a call, and let its events out with their `source`, live.

        Cancelling interrupts it, and waits until it has ended, before it raises.

        Errors: those of the subagent.
        """
        place = self._place(call_id)
        child = _Child(f"{ROOT}/{name}", place.emit, interrupt)
        place.children.append(child)
        child.subscription.disposable = events.subscribe(
            child.on_next, child.on_error, child.on_completed, scheduler=self._scheduler
        )
        try:
            await asyncio.wait({child.over})
        except asyncio.CancelledError:
            child.interrupt()
            if child not in self._left:
                await asyncio.wait({child.ended})
            raise
        finally:
            if child not in self._left:
                child.dispose()
                place.children.remove(child)
        return child.heard()

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
            for child in place.children:
                child.dispose()
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
    """Where the events of a call's subagents come out."""

    def __init__(self, emit: Callable[[AgentEvent], None]) -> None:
        self.emit = emit
        self.children: list[_Child] = []


class _Child:
    """A subagent that runs.

    Attributes:
        emit: takes its events.
        ended: done when nothing of it is to come any more.
        over: done when its call is over.
    """

    def __init__(
        self, path: str, emit: Callable[[AgentEvent], None], interrupt: Callable[[], object] | None
    ) -> None:
        self.emit = emit
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.subscription = SerialDisposable()
        self._path = path
        self._interrupt = interrupt
        self._begun = False
        self._interrupted = False
        self._error: Exception | None = None
        self._fold = ReplyFold()
        self._result: Msg | None = None
        self._questions = Questions()

    def on_next(self, event: AgentEvent | None) -> None:
        if event is None or self.ended.done():
            return
        self._fold.apply(event)
        self._questions.take(event)
        if not event.source:
            self._begun = self._begun or isinstance(event, AgentStartEvent)
            self._result = event.result if isinstance(event, AgentResultEvent) else self._result
        self.emit(with_source(event, self._path))
        if isinstance(event, AgentEndEvent) and not event.source:
            _settle(self.ended)

    def on_error(self, error: Exception) -> None:
        self._error = error
        self.on_completed()

    def on_completed(self) -> None:
        _settle(self.ended)
        _settle(self.over)

    def interrupt(self) -> None:
        """End it well, if that is possible; else at once."""
        if self._interrupted or self.ended.done():
            return
        self._interrupted = True
        if self._interrupt is None or not self._begun:
            self.dispose()
        else:
            self._interrupt()

    def dispose(self) -> None:
        """Cancel it."""
        self.subscription.dispose()
        self.on_completed()

    def heard(self) -> Heard:
        """Return what was heard of it.

        Errors: that of its call.
        """
        if self._error is not None:
            raise self._error
        return Heard(self._fold, self._result, self._questions.open())


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
