"""How the loop's state moves: by what it enters, and by the events that pass. Pure."""

from __future__ import annotations

from typing import Final

from attrs import evolve

from agentscope_rx.agent._loop_state import Act, Decision, LoopState, Reason, Step, Summarize
from agentscope_rx.event import (
    AgentEvent,
    ExternalExecutionResultEvent,
    ModelCallStartEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    ToolCallStartEvent,
    ToolResultEndEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.message import AssistantMessage, ToolCallState, ToolResultState, ToolUseBlock

__all__ = ["MEANINGFUL", "apply", "enter", "open_calls", "resume"]

MEANINGFUL: Final[frozenset[type[AgentEvent]]] = frozenset(
    {
        ExternalExecutionResultEvent,
        ModelCallStartEvent,
        RequestStopEvent,
        RequireExternalExecutionEvent,
        RequireUserConfirmEvent,
        ToolCallStartEvent,
        ToolResultEndEvent,
        UserConfirmResultEvent,
    }
)


def enter(state: LoopState, decision: Decision) -> LoopState:
    """Return the state in which the phase of `decision` begins."""
    match decision:
        case Reason():
            return evolve(state, last=Step.REASONED, iteration=state.iteration + 1, calls=(), superseded=())
        case Act(run=run) if run:
            return evolve(state, last=Step.ACTED)
        case Summarize():
            return evolve(state, last=Step.SUMMARIZED)
        case _:
            return state


def apply(state: LoopState, event: AgentEvent) -> LoopState:
    """Return the state after an event; events of subagents and of other kinds change nothing."""
    if type(event) not in MEANINGFUL or event.source:
        return state
    match event:
        case ModelCallStartEvent():
            return evolve(state, superseded=state.superseded + state.calls, calls=())
        case ToolCallStartEvent(tool_call_id=call) if call not in state.calls:
            return evolve(state, calls=(*state.calls, call))
        case ToolResultEndEvent(tool_call_id=call, state=ToolResultState.RUNNING):
            return evolve(state, waiting=state.waiting | {call})
        case ToolResultEndEvent(tool_call_id=call):
            return _settle(state, {call})
        case RequireUserConfirmEvent(tool_calls=calls) | RequireExternalExecutionEvent(tool_calls=calls):
            return evolve(state, waiting=state.waiting | {call.id for call in calls})
        case UserConfirmResultEvent(confirm_results=answers):
            answered = {answer.tool_call.id for answer in answers if answer.tool_call is not None}
            return evolve(state, waiting=state.waiting - answered)
        case ExternalExecutionResultEvent(tool_results=results):
            return _settle(state, {result.id for result in results})
        case RequestStopEvent(generate_reason=reason):
            return evolve(state, stop=reason)
        case _:
            return state


def _settle(state: LoopState, calls: set[str]) -> LoopState:
    return evolve(
        state,
        calls=tuple(call for call in state.calls if call not in calls),
        superseded=tuple(call for call in state.superseded if call not in calls),
        waiting=state.waiting - calls,
    )


def open_calls(message: AssistantMessage) -> tuple[ToolUseBlock, ...]:
    """Return the tool calls of a message that are not finished, in order."""
    return tuple(
        block
        for block in message.get_content_blocks(ToolUseBlock)
        if block.state is not ToolCallState.FINISHED
    )


def resume(message: AssistantMessage, max_iters: int, iteration: int) -> LoopState:
    """Return the state in which a call goes on with an unfinished reply."""
    calls = open_calls(message)
    waiting = {ToolCallState.ASKING, ToolCallState.SUBMITTED}
    return LoopState(
        max_iters,
        iteration,
        calls=tuple(call.id for call in calls),
        waiting=frozenset(call.id for call in calls if call.state in waiting),
    )
