"""All events as one closed union, for `match` with `assert_never`."""

from __future__ import annotations

from typing import TypeAlias

from agentscope_rx.event._block import (
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    HintBlockEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
)
from agentscope_rx.event._extension import (
    CustomEvent,
    SubagentExposedEvent,
    UnknownEvent,
)
from agentscope_rx.event._hitl import (
    AllToolsDeniedEvent,
    ExternalExecutionResultEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.event._lifecycle import (
    AgentEndEvent,
    AgentResultEvent,
    AgentStartEvent,
    ExceedMaxItersEvent,
    RequestStopEvent,
)
from agentscope_rx.event._model_call import (
    ModelCallEndEvent,
    ModelCallStartEvent,
)
from agentscope_rx.event._tool import (
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)

__all__ = ["AnyAgentEvent"]

AnyAgentEvent: TypeAlias = (
    DataBlockDeltaEvent
    | DataBlockEndEvent
    | DataBlockStartEvent
    | HintBlockEvent
    | TextBlockDeltaEvent
    | TextBlockEndEvent
    | TextBlockStartEvent
    | ThinkingBlockDeltaEvent
    | ThinkingBlockEndEvent
    | ThinkingBlockStartEvent
    | CustomEvent
    | SubagentExposedEvent
    | UnknownEvent
    | AllToolsDeniedEvent
    | ExternalExecutionResultEvent
    | RequireExternalExecutionEvent
    | RequireUserConfirmEvent
    | UserConfirmResultEvent
    | AgentEndEvent
    | AgentResultEvent
    | AgentStartEvent
    | ExceedMaxItersEvent
    | RequestStopEvent
    | ModelCallEndEvent
    | ModelCallStartEvent
    | ToolCallDeltaEvent
    | ToolCallEndEvent
    | ToolCallStartEvent
    | ToolResultDataDeltaEvent
    | ToolResultEndEvent
    | ToolResultStartEvent
    | ToolResultTextDeltaEvent
)
"""Every event there is, `UnknownEvent` included."""
