"""The acting phase: tool calls, together where they may."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx.agent._guard import guard
from agentscope_rx.agent._iterate import iterate
from agentscope_rx.agent._loop_state import Act
from agentscope_rx.agent._run import Run
from agentscope_rx.event import (
    AgentEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.message import ToolResultState, ToolUseBlock
from agentscope_rx.middleware import ActingInput
from agentscope_rx.tool import Toolkit, run_tool

__all__ = ["acting", "batches", "closing"]

_OF_A_RESULT: Final = frozenset(
    {ToolResultStartEvent, ToolResultTextDeltaEvent, ToolResultDataDeltaEvent, ToolResultEndEvent}
)


def acting(run: Run, act: Act) -> Observable[AgentEvent]:
    """Close the calls that will never run, then run the others through `on_acting`.

    1. Results stream live; each ToolResultEnd goes out as its tool finishes.
    2. Neighbouring calls of concurrency-safe tools run together, an unsafe one alone.
    3. A call that has a result in this phase gives that result again, unless the input asks for a rerun; what
       has passed the hooks does not pass again.
    """
    closed = rx.from_iterable(closing(run.reply_id, run.calls(dict(act.close)), dict(act.close)))
    if not act.run:
        return closed
    results = _Results()
    limit = run.agent.max_concurrent_tools
    together = ops.merge_all() if limit is None else ops.merge(max_concurrent=limit)

    def one(call: ToolUseBlock, rerun: bool) -> Observable[AgentEvent]:
        events = run_tool(call, run.agent.toolkit, reply_id=run.reply_id, ctx=run.ctx)
        return results.kept(call.id, events, rerun) if run.has_hook("on_acting") else events

    def core(input: ActingInput) -> Observable[AgentEvent]:
        def batch(calls: tuple[ToolUseBlock, ...]) -> Observable[AgentEvent]:
            return rx.from_iterable([one(call, input.rerun) for call in calls]).pipe(together)

        batched = iterate(lambda: map(batch, batches(input.tool_calls, run.agent.toolkit)))
        return batched.pipe(guard(run.reply_id))

    return rx.concat(closed, run.through("on_acting", core, _once)(ActingInput(run.calls(act.run))))


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


def closing(reply_id: str, calls: Iterable[ToolUseBlock], reasons: Mapping[str, str]) -> Iterator[AgentEvent]:
    """Give calls that will not run a result that says why."""
    for call in calls:
        yield ToolResultStartEvent(reply_id, call.id, call.name)
        yield ToolResultTextDeltaEvent(reply_id, call.id, call.name, f"Error: {reasons[call.id]}")
        yield ToolResultEndEvent(reply_id, call.id, call.name, ToolResultState.ERROR)


class _Results:
    """The results that the tools of a phase have come to."""

    def __init__(self) -> None:
        self._known: dict[str, list[AgentEvent]] = {}

    def kept(self, call_id: str, events: Observable[AgentEvent], rerun: bool) -> Observable[AgentEvent]:
        """Give what is known of a call; else its events, to know them once they have come to an end."""
        known = self._known.get(call_id)
        if known is not None and not rerun:
            return rx.from_iterable(known)
        return rx.defer(lambda _: events.pipe(ops.do_action(self._keeper(call_id))))

    def _keeper(self, call_id: str) -> Callable[[AgentEvent], None]:
        events: list[AgentEvent] = []

        def keep(event: AgentEvent) -> None:
            events.append(event)
            if isinstance(event, ToolResultEndEvent) and event.state is not ToolResultState.RUNNING:
                self._known[call_id] = events

        return keep


def _once(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
    """Let each event of a result pass once, however often `next` is called."""

    def once(_: object) -> Observable[AgentEvent]:
        passed: set[str] = set()

        def is_new(event: AgentEvent) -> bool:
            if type(event) not in _OF_A_RESULT:
                return True
            count = len(passed)
            passed.add(event.id)
            return len(passed) > count or not event.id

        return source.pipe(ops.filter(is_new))

    return rx.defer(once)
