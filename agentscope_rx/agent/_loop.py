"""The loop: decide, run the phase, take in what it streams, decide again."""

from __future__ import annotations

from collections.abc import Iterator

import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx.agent._acting import acting, closing
from agentscope_rx.agent._decide import decide
from agentscope_rx.agent._frame import frame
from agentscope_rx.agent._iterate import iterate
from agentscope_rx.agent._loop_state import Act, Finish, Pause, Reason, Summarize
from agentscope_rx.agent._reasoning import reasoning, summarizing
from agentscope_rx.agent._run import Run
from agentscope_rx.agent._transition import enter
from agentscope_rx.errors import AgentScopeError
from agentscope_rx.event import AgentEndEvent, AgentEvent, AgentResultEvent, ErrorInfo
from agentscope_rx.message import GenerateReason
from agentscope_rx.middleware import AgentInput

__all__ = ["call_events"]


def call_events(run: Run, input: AgentInput) -> Observable[AgentEvent]:
    """Return the events of one call, `on_agent` and its guards included."""

    def core(input: AgentInput) -> Observable[AgentEvent]:
        return rx.defer(lambda _: _attempt(run, input))

    events = run.through("on_agent", core)
    if events is core:
        return core(input)

    def end(error: Exception | None) -> AgentEndEvent:
        return (
            _end(run, error) if error is not None else AgentEndEvent(run.reply_id, GenerateReason.MODEL_STOP)
        )

    return events(input).pipe(frame(run.start, end, run.report("on_agent")))


def _attempt(run: Run, input: AgentInput) -> Observable[AgentEvent]:
    run.take(input.msgs)

    def failing(error: Exception, _: object) -> Observable[AgentEvent]:
        calls = run.open_calls()
        reasons = {call.id: f"not run: the call failed with {_text(error)}" for call in calls}
        if isinstance(error, AgentScopeError) and error.partial is None:
            error.partial = run.message()
        return rx.concat(closing(run, calls, reasons), rx.of(_end(run, error)), rx.throw(error))

    return iterate(lambda: _phases(run)).pipe(ops.catch(failing), ops.filter(run.record))


def _phases(run: Run) -> Iterator[Observable[AgentEvent]]:
    yield rx.of(run.start())
    while True:
        decision = decide(run.loop)
        run.loop = enter(run.loop, decision)
        match decision:
            case Reason():
                yield reasoning(run)
            case Act():
                yield acting(run, decision)
            case Summarize():
                yield summarizing(run)
            case Pause(reason) | Finish(reason):
                yield _ending(run, reason)
                return


def _ending(run: Run, reason: GenerateReason) -> Observable[AgentEvent]:
    return rx.of(
        AgentResultEvent(run.result(reason), reply_id=run.reply_id),
        AgentEndEvent(run.reply_id, reason),
    )


def _end(run: Run, error: Exception) -> AgentEndEvent:
    return AgentEndEvent(run.reply_id, error=ErrorInfo(type(error).__name__, str(error)))


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
