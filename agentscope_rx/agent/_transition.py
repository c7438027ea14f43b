"""How the loop's state moves: by what it enters, and by the events that pass. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from attrs import evolve

from agentscope_rx.agent._loop_state import (
    Act,
    Decision,
    LoopState,
    Output,
    Reason,
    Remind,
    Repair,
    Step,
    Summarize,
)
from agentscope_rx.agent._waiting import Waiting, waits_of
from agentscope_rx.event import (
    AgentEvent,
    ConfirmResult,
    ExternalExecutionResultEvent,
    ModelCallStartEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    ToolCallStartEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.message import (
    AssistantMessage,
    ContentBlock,
    GenerateReason,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultState,
    ToolUseBlock,
    open_calls,
)
from agentscope_rx.output import GENERATE_RESPONSE

__all__ = ["EMPTY_RESPONSE", "MEANINGFUL", "apply", "enter", "heard", "open_calls", "resume"]

EMPTY_RESPONSE: Final = "empty_response"
"""The source of the hint that reminds a model to say something."""

MEANINGFUL: Final[frozenset[type[AgentEvent]]] = frozenset(
    {
        ExternalExecutionResultEvent,
        ModelCallStartEvent,
        RequestStopEvent,
        RequireExternalExecutionEvent,
        RequireUserConfirmEvent,
        ToolCallStartEvent,
        ToolResultEndEvent,
        ToolResultStartEvent,
        UserConfirmResultEvent,
    }
)


def enter(state: LoopState, decision: Decision) -> LoopState:
    """Return the state in which the phase of `decision` begins."""
    match decision:
        case Reason():
            return evolve(
                state,
                last=Step.REASONED,
                iteration=state.iteration + 1,
                calls=(),
                superseded=(),
                output=_next_round(state.output),
                silent=False,
            )
        case Act(run=run) if run and state.last is Step.SUMMARIZED:
            return evolve(state, last=Step.CONCLUDED)
        case Act(run=run, deny=deny) if run or deny:
            return evolve(state, last=Step.ACTED)
        case Summarize():
            return evolve(state, last=Step.SUMMARIZED, output=_next_round(state.output))
        case Remind():
            return evolve(state, last=Step.START, reminded=True)
        case Repair():
            return evolve(state, last=Step.START, output=_next_round(state.output, failed=True))
        case _:
            return state


def heard(state: LoopState, blocks: Iterable[ContentBlock]) -> LoopState:
    """Return the state after a reasoning phase that has brought these blocks.

    Thinking, blank text and hints of middlewares say nothing to the user.
    """
    return evolve(state, silent=not any(map(_speaks, blocks)))


def _speaks(block: ContentBlock) -> bool:
    if isinstance(block, TextBlock):
        return bool(block.text.strip())
    return not isinstance(block, ThinkingBlock | HintBlock)


def apply(state: LoopState, event: AgentEvent) -> LoopState:
    """Return the state after an event; events of subagents and of other kinds change nothing."""
    if type(event) not in MEANINGFUL or event.source:
        return state
    match event:
        case ModelCallStartEvent():
            return evolve(state, superseded=state.superseded + state.calls, calls=())
        case ToolCallStartEvent(tool_call_id=call) if call not in state.calls:
            return evolve(state, calls=(*state.calls, call), output=_begun(state.output, event))
        case ToolResultStartEvent(tool_call_id=call) if call in state.outside or call in state.delegated:
            return evolve(state, outside=state.outside - {call}, delegated=_without(state.delegated, {call}))
        case ToolResultEndEvent(tool_call_id=call, state=ToolResultState.RUNNING, metadata=metadata):
            if (waiting := Waiting.of(metadata)) is not None:
                return evolve(state, delegated={**state.delegated, call: waiting.reason})
            return evolve(state, outside=state.outside | {call}) if event.is_suspended else state
        case ToolResultEndEvent(tool_call_id=call):
            return _settle(evolve(state, output=_ended(state, event)), {call})
        case RequireUserConfirmEvent(tool_calls=calls):
            return evolve(state, asking=state.asking | _known(state, calls))
        case RequireExternalExecutionEvent(tool_calls=calls):
            asked = _known(state, calls)
            return evolve(state, outside=state.outside | asked, asking=state.asking - asked)
        case UserConfirmResultEvent(confirm_results=answers):
            return _answered(state, answers)
        case ExternalExecutionResultEvent(tool_results=results):
            return _settle(state, {result.id for result in results})
        case RequestStopEvent(generate_reason=reason):
            return evolve(state, stop=reason)
        case _:
            return state


def _next_round(output: Output | None, *, failed: bool = False) -> Output | None:
    if output is None:
        return None
    return evolve(output, failures=output.failures + (failed or output.failed), failed=False)


def _begun(output: Output | None, event: ToolCallStartEvent) -> Output | None:
    if output is None or event.tool_call_name != GENERATE_RESPONSE:
        return output
    return evolve(output, calls=output.calls | {event.tool_call_id})


def _ended(state: LoopState, event: ToolResultEndEvent) -> Output | None:
    output, call = state.output, event.tool_call_id
    if output is None or call not in output.calls:
        return output
    fits = event.state is ToolResultState.SUCCESS
    failed = not fits and call in state.calls  # the result of a superseded call says nothing of its output
    return evolve(
        output,
        calls=output.calls - {call},
        given=output.given or fits,
        failed=output.failed or failed,
    )


def _known(state: LoopState, calls: Collection[ToolUseBlock]) -> set[str]:
    return {call.id for call in calls if call.id in state.calls}


def _answered(state: LoopState, answers: Collection[ConfirmResult]) -> LoopState:
    """What may run now is acted on anew, also where a middleware has answered in the middle of a call.

    The answer withdraws the stop that came with the question.
    """
    answered = {
        answer.tool_call.id: answer.confirmed
        for answer in answers
        if answer.tool_call is not None and answer.tool_call.id in state.asking
    }
    if not answered:
        return state
    denied = tuple(call for call in state.calls if answered.get(call) is False)
    return evolve(
        state,
        last=Step.START,
        calls=tuple(call for call in state.calls if call not in denied),
        denied=state.denied + denied,
        asking=state.asking - answered.keys(),
        stop=None if state.stop is GenerateReason.PERMISSION_ASKING else state.stop,
    )


def _settle(state: LoopState, calls: set[str]) -> LoopState:
    return evolve(
        state,
        calls=tuple(call for call in state.calls if call not in calls),
        superseded=tuple(call for call in state.superseded if call not in calls),
        denied=tuple(call for call in state.denied if call not in calls),
        asking=state.asking - calls,
        outside=state.outside - calls,
        delegated=_without(state.delegated, calls),
    )


def _without(delegated: Mapping[str, GenerateReason], calls: set[str]) -> Mapping[str, GenerateReason]:
    return {call: reason for call, reason in delegated.items() if call not in calls}


def resume(
    message: AssistantMessage,
    suspended: Collection[str],
    max_iters: int,
    iteration: int,
    output: Output | None = None,
    superseded: Collection[str] = (),
) -> LoopState:
    """Return the state in which a call goes on with an unfinished reply.

    `suspended` are the calls whose tool has said that the outcome comes from outside, `superseded` those of
    an attempt that was followed by another; `output` is how it stands with the structured output.
    """
    calls = open_calls(message)
    waits = waits_of(message)

    def ids(*states: ToolCallState) -> tuple[str, ...]:
        return tuple(call.id for call in calls if call.state in states)

    unfinished = [call.id for call in calls if call.state is not ToolCallState.FINISHED]
    return LoopState(
        max_iters,
        iteration,
        calls=tuple(call for call in unfinished if call not in superseded),
        superseded=tuple(call for call in unfinished if call in superseded),
        denied=ids(ToolCallState.FINISHED),
        asking=frozenset(ids(ToolCallState.ASKING)),
        outside=(frozenset(ids(ToolCallState.SUBMITTED)) | frozenset(suspended)) - waits.keys(),
        delegated={call.id: waits[call.id].reason for call in calls if call.id in waits},
        output=output,
        reminded=any(hint.source == EMPTY_RESPONSE for hint in message.get_content_blocks(HintBlock)),
    )
