"""What is said about the message as a whole: its frame, usage, why it ended (R17–R20)."""

from __future__ import annotations

from typing import Final

from agentscope_rx.event import (
    AgentEndEvent,
    AgentResultEvent,
    AgentStartEvent,
    ExceedMaxItersEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    RequestStopEvent,
)
from agentscope_rx.message import STRUCTURED_OUTPUT, GenerateReason
from agentscope_rx.operators._fold._state import FoldState

__all__ = ["MESSAGE_STEPS"]


def start(state: FoldState, event: AgentStartEvent) -> None:
    if not state.started:
        state.started = True
        if state.message_id is None:  # a message that goes on keeps its time
            state.created_at = event.created_at
    if state.name is None:
        state.name = event.name


def end(state: FoldState, event: AgentEndEvent) -> None:
    state.settled = True
    state.speaker = None
    state.reasons.end(event.generate_reason, failed=event.error is not None)
    if STRUCTURED_OUTPUT in event.metadata:
        output = event.metadata[STRUCTURED_OUTPUT]
        state.metadata = {**state.metadata, STRUCTURED_OUTPUT: output}


def start_model_call(state: FoldState, _: ModelCallStartEvent) -> None:
    state.model_call += 1
    for group in state.ending:
        group.end_model_call()
    state.ending.clear()


def end_model_call(state: FoldState, event: ModelCallEndEvent) -> None:
    usage = event.usage
    if usage is not None:
        state.usage = usage if state.usage is None else state.usage + usage


def exceed(state: FoldState, _: ExceedMaxItersEvent) -> None:
    state.reasons.stop(GenerateReason.MAX_ITERATIONS)


def request_stop(state: FoldState, event: RequestStopEvent) -> None:
    state.reasons.stop(event.generate_reason)


def result(state: FoldState, event: AgentResultEvent) -> None:
    if event.result is None:
        return
    state.output_type = event.result.output_type
    if event.result.generate_reason is not None:
        state.reasons.stop(event.result.generate_reason)


MESSAGE_STEPS: Final = {
    AgentStartEvent: start,
    AgentEndEvent: end,
    ModelCallStartEvent: start_model_call,
    ModelCallEndEvent: end_model_call,
    ExceedMaxItersEvent: exceed,
    RequestStopEvent: request_stop,
    AgentResultEvent: result,
}
