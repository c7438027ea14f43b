"""A `match` over all events is exhaustive; a forgotten class fails here. Checked, never run."""

from __future__ import annotations

from typing import assert_never, assert_type

from agentscope_rx.event import (
    AgentEndEvent,
    AgentResultEvent,
    AgentStartEvent,
    AllToolsDeniedEvent,
    AnyAgentEvent,
    CustomEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    ErrorInfo,
    ExceedMaxItersEvent,
    ExternalExecutionResultEvent,
    HintBlockEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    SubagentExposedEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UnknownEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.message import GenerateReason, Msg, ToolResultState, ToolUseBlock


def about(event: AnyAgentEvent) -> str:
    match event:
        case TextBlockDeltaEvent(delta=delta) | ThinkingBlockDeltaEvent(delta=delta):
            assert_type(delta, str)
            return delta.upper()
        case ToolCallDeltaEvent(delta=delta) | ToolResultTextDeltaEvent(delta=delta):
            assert_type(delta, str)
            return delta.upper()
        case TextBlockStartEvent(block_id=block_id) | TextBlockEndEvent(block_id=block_id):
            return block_id
        case ThinkingBlockStartEvent(block_id=block_id) | ThinkingBlockEndEvent(block_id=block_id):
            return block_id
        case DataBlockStartEvent(media_type=media_type) | DataBlockDeltaEvent(media_type=media_type):
            assert_type(media_type, str | None)
            return media_type or ""
        case DataBlockEndEvent(block_id=block_id) | HintBlockEvent(block_id=block_id):
            return block_id
        case ToolResultEndEvent(state=state):
            assert_type(state, ToolResultState)
            return state.value
        case ToolCallStartEvent() | ToolCallEndEvent() | ToolResultStartEvent() | ToolResultDataDeltaEvent():
            return tool_of(event)
        case ModelCallStartEvent(model_name=name):
            return name or ""
        case ModelCallEndEvent(input_tokens=tokens):
            assert_type(tokens, int)
            return str(tokens)
        case AgentStartEvent(session_id=session_id):
            return session_id or ""
        case AgentEndEvent(generate_reason=reason, error=error):
            assert_type(reason, GenerateReason | None)
            assert_type(error, ErrorInfo | None)
            return reason or ""
        case AgentResultEvent(result=result):
            assert_type(result, Msg | None)
            return result.text_content if result else ""
        case ExceedMaxItersEvent(max_iters=limit):
            return str(limit)
        case RequestStopEvent(reason=why):
            return why or ""
        case RequireUserConfirmEvent(tool_calls=calls) | RequireExternalExecutionEvent(tool_calls=calls):
            assert_type(calls, tuple[ToolUseBlock, ...])
            return calls[0].name
        case UserConfirmResultEvent(confirm_results=answers):
            return str(answers[0].confirmed)
        case ExternalExecutionResultEvent(tool_results=results):
            return results[0].name
        case AllToolsDeniedEvent(denied_tool_calls=calls):
            return calls[0].name
        case SubagentExposedEvent(label=label):
            return label or ""
        case CustomEvent(value=value):
            return str(value.get("percent"))
        case UnknownEvent(raw=raw):
            return str(raw.get("type"))
        case _:
            assert_never(event)


def tool_of(event: ToolEvent) -> str:
    return event.tool_call_name
