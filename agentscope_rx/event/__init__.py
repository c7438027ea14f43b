"""Events: what an agent streams while it works."""

from agentscope_rx.event._base import (
    AgentEvent as AgentEvent,
    AgentEventType as AgentEventType,
    BlockEvent as BlockEvent,
    ReplyEvent as ReplyEvent,
    ToolEvent as ToolEvent,
)
from agentscope_rx.event._block import (
    DataBlockDeltaEvent as DataBlockDeltaEvent,
    DataBlockEndEvent as DataBlockEndEvent,
    DataBlockStartEvent as DataBlockStartEvent,
    HintBlockEvent as HintBlockEvent,
    TextBlockDeltaEvent as TextBlockDeltaEvent,
    TextBlockEndEvent as TextBlockEndEvent,
    TextBlockStartEvent as TextBlockStartEvent,
    ThinkingBlockDeltaEvent as ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent as ThinkingBlockEndEvent,
    ThinkingBlockStartEvent as ThinkingBlockStartEvent,
)
from agentscope_rx.event._extension import (
    CustomEvent as CustomEvent,
    SubagentExposedEvent as SubagentExposedEvent,
    UnknownEvent as UnknownEvent,
)
from agentscope_rx.event._hitl import (
    AllToolsDeniedEvent as AllToolsDeniedEvent,
    ConfirmResult as ConfirmResult,
    ExternalExecutionResultEvent as ExternalExecutionResultEvent,
    RequireExternalExecutionEvent as RequireExternalExecutionEvent,
    RequireUserConfirmEvent as RequireUserConfirmEvent,
    UserConfirmResultEvent as UserConfirmResultEvent,
)
from agentscope_rx.event._lifecycle import (
    AgentEndEvent as AgentEndEvent,
    AgentResultEvent as AgentResultEvent,
    AgentStartEvent as AgentStartEvent,
    ErrorInfo as ErrorInfo,
    ExceedMaxItersEvent as ExceedMaxItersEvent,
    RequestStopEvent as RequestStopEvent,
)
from agentscope_rx.event._model_call import (
    ModelCallEndEvent as ModelCallEndEvent,
    ModelCallStartEvent as ModelCallStartEvent,
)
from agentscope_rx.event._tool import (
    ToolCallDeltaEvent as ToolCallDeltaEvent,
    ToolCallEndEvent as ToolCallEndEvent,
    ToolCallStartEvent as ToolCallStartEvent,
    ToolResultDataDeltaEvent as ToolResultDataDeltaEvent,
    ToolResultEndEvent as ToolResultEndEvent,
    ToolResultStartEvent as ToolResultStartEvent,
    ToolResultTextDeltaEvent as ToolResultTextDeltaEvent,
)
from agentscope_rx.event._union import AnyAgentEvent as AnyAgentEvent

__all__ = [
    "AgentEndEvent",
    "AgentEvent",
    "AgentEventType",
    "AgentResultEvent",
    "AgentStartEvent",
    "AllToolsDeniedEvent",
    "AnyAgentEvent",
    "BlockEvent",
    "ConfirmResult",
    "CustomEvent",
    "DataBlockDeltaEvent",
    "DataBlockEndEvent",
    "DataBlockStartEvent",
    "ErrorInfo",
    "ExceedMaxItersEvent",
    "ExternalExecutionResultEvent",
    "HintBlockEvent",
    "ModelCallEndEvent",
    "ModelCallStartEvent",
    "ReplyEvent",
    "RequestStopEvent",
    "RequireExternalExecutionEvent",
    "RequireUserConfirmEvent",
    "SubagentExposedEvent",
    "TextBlockDeltaEvent",
    "TextBlockEndEvent",
    "TextBlockStartEvent",
    "ThinkingBlockDeltaEvent",
    "ThinkingBlockEndEvent",
    "ThinkingBlockStartEvent",
    "ToolCallDeltaEvent",
    "ToolCallEndEvent",
    "ToolCallStartEvent",
    "ToolEvent",
    "ToolResultDataDeltaEvent",
    "ToolResultEndEvent",
    "ToolResultStartEvent",
    "ToolResultTextDeltaEvent",
    "UnknownEvent",
    "UserConfirmResultEvent",
]
