"""The acting phase: tool calls, together where they may; questions about those that may not run yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeGuard

import reactivex as rx
from attrs import evolve
from reactivex import Observable, operators as ops

from agentscope_rx.agent._children import CLOSING
from agentscope_rx.agent._flight import Flight
from agentscope_rx.agent._guard import guard
from agentscope_rx.agent._iterate import iterate
from agentscope_rx.agent._loop_state import Act, Closing
from agentscope_rx.agent._permit import denied_step, permits, questions
from agentscope_rx.agent._run import Run
from agentscope_rx.agent._waiting import Waiting
from agentscope_rx.event import (
    AgentEvent,
    AllToolsDeniedEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.interop import from_coroutine
from agentscope_rx.message import SUSPENDED, ToolUseBlock
from agentscope_rx.middleware import ActingInput
from agentscope_rx.operators import ReplyFold
from agentscope_rx.tool import Toolkit, run_tool

__all__ = ["acting", "batches", "interrupting"]

_SAID_ONCE: Final = frozenset(
    {
        AllToolsDeniedEvent,
        RequestStopEvent,
        RequireExternalExecutionEvent,
        RequireUserConfirmEvent,
        ToolResultDataDeltaEvent,
        ToolResultEndEvent,
        ToolResultStartEvent,
        ToolResultTextDeltaEvent,
    }
)


def acting(run: Run, act: Act) -> Observable[AgentEvent]:
    """Close the calls that no hook is to see, then take care of the others through `on_acting`.

    1. What the human has denied gets its result first, then what the rules deny.
    2. What is allowed runs: neighbouring calls of concurrency-safe tools together, an unsafe one alone, and
       not before the results that came before it are stored. Results stream live; each ToolResultEnd goes
       out as its tool finishes.
    3. Then the questions: about the calls that ask; else about those whose outcome comes from outside.
    4. If every call of the step was denied, not all by rules, `AllToolsDeniedEvent` says so.
    5. A call that has a result in this phase gives that result again, unless the input asks for a rerun, and
       so do the questions; what has passed the hooks does not pass again. One that has a result of a hook's
       does not run.
    6. A result of which an earlier call of the agent has streamed a part begins afresh.
    7. What runs again begins when what was left before has cleaned up, in bounded time.
    """
    reply_id = run.reply_id
    closed = rx.from_iterable(run.closing(act.close))
    if not act.run and not act.deny:
        return closed
    results = _Results()
    is_again = run.is_again
    toolkit = run.toolkit
    limit = run.agent.max_concurrent_tools
    together = ops.merge_all() if limit is None else ops.merge(max_concurrent=limit)

    def one(call: ToolUseBlock, rerun: bool) -> Observable[AgentEvent]:
        events = _run_tool(run, call, toolkit)
        return once(call.id, events, rerun)

    def refusal(each: Closing) -> Observable[AgentEvent]:
        return once(each.call, rx.defer(lambda _: rx.from_iterable(run.closing((each,)))))

    def once(call: str, events: Observable[AgentEvent], rerun: bool = False) -> Observable[AgentEvent]:
        if call in run.torn:
            events = rx.concat(rx.defer(lambda _: rx.from_iterable(run.afresh(call))), events)
        return results.kept(call, events, rerun) if run.has_hook("on_acting") else events

    def core(input: ActingInput) -> Observable[AgentEvent]:
        return rx.defer(lambda _: attempt(input))

    def attempt(input: ActingInput) -> Observable[AgentEvent]:
        due = [call for call in input.tool_calls if input.rerun or results.may_run(call.id, run.fold)]
        permitted = permits(
            due,
            toolkit,
            run.permission,
            configured=run.agent.permission is not None,
            outside=run.loop.outside,
            delegated=run.loop.delegated,
        )
        suspended: dict[str, ToolUseBlock] = {}
        running = {call.id: call for call in permitted.run}

        def note(event: AgentEvent) -> None:
            if _suspends(event) and (call := running.get(event.tool_call_id)) is not None:
                suspended[call.id] = call

        def batch(calls: tuple[ToolUseBlock, ...]) -> Observable[AgentEvent]:
            return rx.from_iterable([one(call, input.rerun) for call in calls]).pipe(together)

        def steps() -> Iterator[Observable[AgentEvent]]:
            nonlocal is_again
            if is_again:
                yield from_coroutine(run.scheduler.cleaned).pipe(ops.flat_map(rx.empty()))
            is_again = True
            yield from map(refusal, (*act.deny, *permitted.deny))
            for calls in batches(permitted.run, toolkit):
                yield batch(calls)
                if run.is_stored:
                    yield run.quiet
            waiting = {**{call.id: call for call in permitted.outside}, **suspended}
            outside = [waiting[call.id] for call in due if call.id in waiting]
            yield results.said(questions(reply_id, permitted, outside))
            if act.deny and (denied := denied_step(run.fold.content(), {e.call for e in permitted.deny})):
                yield results.said([AllToolsDeniedEvent(denied, reply_id=reply_id)])

        return iterate(steps).pipe(ops.do_action(note), guard(reply_id))

    def begin(_: object) -> Observable[AgentEvent]:
        return run.through("on_acting", core, _once)(ActingInput(run.calls(act.run)))

    return rx.concat(closed, rx.defer(begin))


def interrupting(run: Run) -> Observable[AgentEvent]:
    """Interrupt the subagents of an interrupted call: those that run, and those that have paused.

    Bounded in time; calls whose subagents have ended by then have their result.
    """
    toolkit, children = run.toolkit, run.children
    children.interrupting = True
    paused = [_run_tool(run, call, toolkit) for call in run.calls(tuple(run.loop.delegated))]
    return rx.merge(children.leaving(), *paused).pipe(ops.take_until(rx.timer(CLOSING)), guard(run.reply_id))


def _run_tool(run: Run, call: ToolUseBlock, toolkit: Toolkit) -> Observable[AgentEvent]:
    return run.children.hosting(call.id, run_tool(call, toolkit, reply_id=run.reply_id, ctx=run.ctx))


def _suspends(event: AgentEvent) -> TypeGuard[ToolResultEndEvent]:
    """Whether a tool says that its outcome comes from outside; that of a subagent comes from the subagent."""
    return (
        type(event) is ToolResultEndEvent
        and event.is_suspended
        and not event.source
        and Waiting.of(event.metadata) is None
    )


def batches(calls: Iterable[ToolUseBlock], toolkit: Toolkit) -> Iterator[tuple[ToolUseBlock, ...]]:
    """Cut calls into batches: runs of neighbours that may run together, and single ones that may not."""
    together: list[ToolUseBlock] = []
    for call in calls:
        tool = toolkit.get(call.name)
        if tool is None or tool.concurrency_safe:
            together.append(call)
            continue
        if together:
            yield tuple(together)
            together = []
        yield (call,)
    if together:
        yield tuple(together)


class _Results:
    """What has come of the calls of a phase: results, questions."""

    def __init__(self) -> None:
        self._flights: dict[str, Flight] = {}
        self._said: list[list[AgentEvent]] = []

    def kept(self, call_id: str, events: Observable[AgentEvent], rerun: bool) -> Observable[AgentEvent]:
        """Give the one run that a call has, whether it is still to come, is in the air or has ended."""
        flight = self._flights.get(call_id)
        if flight is None or rerun:
            flight = self._flights[call_id] = Flight(events, _ends)
        return flight.stream

    def may_run(self, call_id: str, fold: ReplyFold) -> bool:
        """Return whether a call has no result, or has it from its run; one may be a hook's."""
        return call_id in self._flights or not fold.has_result(call_id)

    def said(self, events: Iterable[AgentEvent]) -> Observable[AgentEvent]:
        """Give the events; if the same was said before, those of then."""
        new = list(events)
        for known in self._said:
            if list(map(_content, known)) == list(map(_content, new)):
                return rx.from_iterable(known)
        self._said.append(new)
        return rx.from_iterable(new)


def _ends(event: AgentEvent) -> bool:
    """Whether a run of a call has come to its end, and not to that of a torn result."""
    return type(event) is ToolResultEndEvent and event.metadata.get(SUSPENDED) is not False


def _content(event: AgentEvent) -> AgentEvent:
    """Return what an event says, whenever it says so."""
    return evolve(event, id="", created_at="")


def _once(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
    """Let each event of a result or a question pass once, however often `next` is called."""

    def once(_: object) -> Observable[AgentEvent]:
        passed: set[str] = set()

        def is_new(event: AgentEvent) -> bool:
            if type(event) not in _SAID_ONCE:
                return True
            count = len(passed)
            passed.add(event.id)
            return len(passed) > count or not event.id

        return source.pipe(ops.filter(is_new))

    return rx.defer(once)
