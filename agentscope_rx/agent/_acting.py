"""The acting phase: tool calls, together where they may."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx.agent._iterate import iterate
from agentscope_rx.agent._loop_state import Act
from agentscope_rx.agent._run import Run
from agentscope_rx.event import (
    AgentEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.message import ToolResultState, ToolUseBlock
from agentscope_rx.middleware import ActingInput
from agentscope_rx.tool import Toolkit, run_tool
from agentscope_rx.typing import Operator

__all__ = ["acting", "batches", "closing"]


def acting(run: Run, act: Act) -> Observable[AgentEvent]:
    """Close the calls that will never run, then run the others through `on_acting`.

    1. Results stream live; each ToolResultEnd goes out as its tool finishes.
    2. Neighbouring calls of concurrency-safe tools run together, an unsafe one alone.
    3. A call that has a result in this phase gives that result again, unless the input asks for a rerun.
    """
    reasons = dict(act.close)
    closed = closing(run, run.calls(tuple(reasons)), reasons)
    if not act.run:
        return closed
    results: dict[str, list[AgentEvent]] = {}

    def one(call: ToolUseBlock, rerun: bool) -> Observable[AgentEvent]:
        known = results.get(call.id)
        if known is not None and not rerun:
            return rx.from_iterable(known)
        events = run_tool(call, run.agent.toolkit, reply_id=run.reply_id, ctx=run.ctx)
        return events.pipe(_kept(results, call.id))

    limit = run.agent.max_concurrent_tools
    together = ops.merge_all() if limit is None else ops.merge(max_concurrent=limit)

    def core(input: ActingInput) -> Observable[AgentEvent]:
        def batch(calls: tuple[ToolUseBlock, ...]) -> Observable[AgentEvent]:
            return rx.from_iterable([one(call, input.rerun) for call in calls]).pipe(together)

        return iterate(lambda: map(batch, batches(input.tool_calls, run.agent.toolkit)))

    return rx.concat(closed, run.through("on_acting", core)(ActingInput(run.calls(act.run))))


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


def closing(run: Run, calls: Iterable[ToolUseBlock], reasons: dict[str, str]) -> Observable[AgentEvent]:
    """Give calls that will not run a result that says why."""

    def triple(call: ToolUseBlock) -> Iterator[AgentEvent]:
        yield ToolResultStartEvent(run.reply_id, call.id, call.name)
        yield ToolResultTextDeltaEvent(run.reply_id, call.id, call.name, f"Error: {reasons[call.id]}")
        yield ToolResultEndEvent(run.reply_id, call.id, call.name, ToolResultState.ERROR)

    return rx.from_iterable([event for call in calls for event in triple(call)])


def _kept(results: dict[str, list[AgentEvent]], call_id: str) -> Operator[AgentEvent, AgentEvent]:
    """Remember a tool's events once it has come to an end."""

    def operator(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        def kept(_: object) -> Observable[AgentEvent]:
            events: list[AgentEvent] = []

            def keep(event: AgentEvent) -> None:
                events.append(event)
                if isinstance(event, ToolResultEndEvent) and event.state is not ToolResultState.RUNNING:
                    results[call_id] = events

            return source.pipe(ops.do_action(keep))

        return rx.defer(kept)

    return operator
