"""The loop: decide, run the phase, take in what it streams, decide again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx._frozen import EMPTY
from agentscope_rx.agent._acting import acting, interrupting
from agentscope_rx.agent._attempt import attempt, failed_end
from agentscope_rx.agent._decide import decide
from agentscope_rx.agent._frame import frame
from agentscope_rx.agent._loop_state import (
    Act,
    Fail,
    Finish,
    Pause,
    Reason,
    Remind,
    Repair,
    Summarize,
)
from agentscope_rx.agent._output import REPAIR
from agentscope_rx.agent._reasoning import REMINDER, reasoning, summarizing
from agentscope_rx.agent._run import Run
from agentscope_rx.agent._transition import EMPTY_RESPONSE, enter, heard
from agentscope_rx.event import AgentEndEvent, AgentEvent, AgentResultEvent
from agentscope_rx.interop import from_coroutine
from agentscope_rx.message import AssistantMessage, GenerateReason
from agentscope_rx.middleware import AgentInput

__all__ = ["call_events"]


def call_events(run: Run, input: AgentInput) -> Observable[AgentEvent]:
    """Return the events of one call, `on_agent` and its guards included."""

    def core(input: AgentInput) -> Observable[AgentEvent]:
        return attempt(run, input, lambda: _phases(run), lambda: interrupting(run))

    def end(error: Exception | None) -> AgentEndEvent:
        if error is not None:
            return failed_end(run, error)
        reason = GenerateReason.INTERRUPTED if run.interrupted else GenerateReason.MODEL_STOP
        return AgentEndEvent(run.reply_id, reason, metadata=run.structured.metadata(run.loop))

    def stops() -> bool:
        return run.loop.stop is not None

    def outside_the_loop(_: None) -> bool:
        return not run.is_running

    def ended_early(_: object) -> Observable[AgentEvent]:
        return run.scheduler.home(core(input)) if run.interrupted and not run.has_begun else rx.empty()

    def until_cut(events: Observable[AgentEvent]) -> Observable[AgentEvent]:
        cut = run.cut.pipe(
            ops.filter(outside_the_loop), ops.do_action(lambda _: run.report("on_agent").hush())
        )
        return rx.concat(events.pipe(ops.take_until(cut)), rx.defer(ended_early))

    events = run.through("on_agent", core, until_cut)(input)
    if not run.has_hook("on_agent"):
        return events
    stored = rx.defer(lambda _: _written(run, durable=True) if run.is_stored else rx.empty())
    return rx.concat(events, stored).pipe(frame(run.start, end, run.report("on_agent"), stops))


def _phases(run: Run) -> Iterator[Observable[AgentEvent]]:
    yield rx.from_iterable(run.opening())
    yield run.quiet
    while not run.interrupted:
        run.loop = run.structured.look(run.loop)
        decision = decide(run.loop)
        run.loop = enter(run.loop, decision)
        match decision:
            case Reason():
                before = len(run.fold.blocks)
                run.structured.begin()
                yield reasoning(run)
                if not run.loop.calls:
                    run.loop = heard(run.loop, run.fold.content()[before:])
                yield _stored(run)
            case Act():
                yield acting(run, decision)
                if run.children.left:  # a hook has cut them off
                    yield run.children.leaving()
                yield run.quiet
            case Remind():
                yield rx.of(run.hint(EMPTY_RESPONSE, REMINDER))
            case Summarize():
                run.structured.begin()
                yield summarizing(run)
            case Repair():
                yield rx.of(run.hint(REPAIR, run.structured.hint()))
            case Fail():
                yield rx.throw(run.structured.failure(run.loop))
            case Pause(reason):
                yield _ending(run, reason, run.result(reason))
                return
            case Finish(reason):
                output = run.structured.metadata(run.loop)
                yield _ending(run, reason, run.structured.finished(run.result(reason), run.loop), output)
                return


def _stored(run: Run) -> Observable[AgentEvent]:
    """Nothing, when the state is stored: what a tool does must not be unknown to whoever starts again."""
    if not run.is_stored or not run.loop.open_calls:
        return rx.empty()
    return _written(run, durable=False)


def _written(run: Run, *, durable: bool) -> Observable[AgentEvent]:
    return from_coroutine(lambda: run.write(durable=durable)).pipe(ops.flat_map(rx.empty()))


def _ending(
    run: Run, reason: GenerateReason, message: AssistantMessage, metadata: Mapping[str, Any] = EMPTY
) -> Observable[AgentEvent]:
    return rx.of(
        AgentResultEvent(message, reply_id=run.reply_id),
        AgentEndEvent(run.reply_id, reason, metadata=metadata),
    )
