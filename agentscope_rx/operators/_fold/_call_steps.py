"""Tool calls with their results, questions and answers: a group each (R8–R12, R16, R20)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agentscope_rx.event import (
    ExternalExecutionResultEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.message import GenerateReason, ToolCallState, ToolUseBlock
from agentscope_rx.operators._fold._state import FoldState

__all__ = ["CALL_STEPS"]


def start_call(state: FoldState, event: ToolCallStartEvent) -> None:
    state.group(event.tool_call_id).start(event.tool_call_name, state.model_call)


def add_fragment(state: FoldState, event: ToolCallDeltaEvent) -> None:
    group = state.calls.get(event.tool_call_id)
    if group is not None and group.fragments is not None:
        group.fragments.append(event.delta)


def end_call(state: FoldState, event: ToolCallEndEvent) -> None:
    group = state.calls.get(event.tool_call_id)
    if group is not None:
        group.end(event.metadata, state.model_call)
        state.ending.append(group)


def start_result(state: FoldState, event: ToolResultStartEvent) -> None:
    state.group(event.tool_call_id).start_result(event.tool_call_name)


def add_result_text(state: FoldState, event: ToolResultTextDeltaEvent) -> None:
    group = state.calls.get(event.tool_call_id)
    if group is not None and group.result is not None and group.result.open:
        group.result.add_text(event.delta)


def add_result_data(state: FoldState, event: ToolResultDataDeltaEvent) -> None:
    group = state.calls.get(event.tool_call_id)
    if group is not None and group.result is not None and group.result.open:
        group.result.add_data(event)


def end_result(state: FoldState, event: ToolResultEndEvent) -> None:
    group = state.calls.get(event.tool_call_id)
    if group is not None:
        group.end_result(event.tool_call_name, event.state, event.metadata)


def ask(state: FoldState, event: RequireUserConfirmEvent) -> None:
    if _let_wait(state, event.tool_calls, ToolCallState.ASKING):
        state.reasons.ask(GenerateReason.PERMISSION_ASKING)


def submit(state: FoldState, event: RequireExternalExecutionEvent) -> None:
    if _let_wait(state, event.tool_calls, ToolCallState.SUBMITTED):
        state.reasons.ask(GenerateReason.TOOL_SUSPENDED)


def _let_wait(state: FoldState, calls: Iterable[ToolUseBlock], why: ToolCallState) -> bool:
    groups = [group for call in calls if (group := state.calls.get(call.id)) is not None]
    asked = [call for group in groups if (call := group.ask(why)) is not None]
    state.asked.update(dict.fromkeys(asked))
    return bool(asked)


def answer(state: FoldState, event: UserConfirmResultEvent) -> None:
    for result in event.confirm_results:
        if result.tool_call is not None:
            group = state.calls.get(result.tool_call.id)
            if group is not None:
                group.answer(result)
    state.reasons.answer(GenerateReason.PERMISSION_ASKING)


def take_outcomes(state: FoldState, event: ExternalExecutionResultEvent) -> None:
    for outcome in event.tool_results:
        state.group(outcome.id).take_outcome(outcome)
    state.reasons.answer(GenerateReason.TOOL_SUSPENDED)


CALL_STEPS: Final = {
    ToolCallStartEvent: start_call,
    ToolCallDeltaEvent: add_fragment,
    ToolCallEndEvent: end_call,
    ToolResultStartEvent: start_result,
    ToolResultTextDeltaEvent: add_result_text,
    ToolResultDataDeltaEvent: add_result_data,
    ToolResultEndEvent: end_result,
    RequireUserConfirmEvent: ask,
    RequireExternalExecutionEvent: submit,
    UserConfirmResultEvent: answer,
    ExternalExecutionResultEvent: take_outcomes,
}
