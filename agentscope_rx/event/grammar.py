"""The grammar of lifecycles: which event starts, carries on or ends what, and the key that it names."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

from agentscope_rx.event._base import AgentEvent, BlockEvent, ToolEvent
from agentscope_rx.event._block import (
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
)
from agentscope_rx.event._model_call import ModelCallEndEvent, ModelCallStartEvent
from agentscope_rx.event._tool import (
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)

__all__ = ["DELTAS", "ENDS", "OF_A_MODEL_CALL", "STARTS", "Lifecycle", "key_of"]


class Lifecycle(IntEnum):
    """What has a Start, deltas and an End."""

    TEXT = 0
    THINKING = 1
    DATA = 2
    CALL = 3
    MODEL = 4
    RESULT = 5


OF_A_MODEL_CALL: Final = (Lifecycle.TEXT, Lifecycle.THINKING, Lifecycle.DATA, Lifecycle.CALL)
"""What a model call ends at the latest with itself."""

STARTS: Final[dict[type[Any], Lifecycle]] = {
    TextBlockStartEvent: Lifecycle.TEXT,
    ThinkingBlockStartEvent: Lifecycle.THINKING,
    DataBlockStartEvent: Lifecycle.DATA,
    ToolCallStartEvent: Lifecycle.CALL,
    ModelCallStartEvent: Lifecycle.MODEL,
    ToolResultStartEvent: Lifecycle.RESULT,
}
"""What begins with an event of this class."""

DELTAS: Final[dict[type[Any], Lifecycle]] = {
    TextBlockDeltaEvent: Lifecycle.TEXT,
    ThinkingBlockDeltaEvent: Lifecycle.THINKING,
    DataBlockDeltaEvent: Lifecycle.DATA,
    ToolCallDeltaEvent: Lifecycle.CALL,
    ToolResultTextDeltaEvent: Lifecycle.RESULT,
    ToolResultDataDeltaEvent: Lifecycle.RESULT,
}
"""What goes on with an event of this class."""

ENDS: Final[dict[type[Any], Lifecycle]] = {
    TextBlockEndEvent: Lifecycle.TEXT,
    ThinkingBlockEndEvent: Lifecycle.THINKING,
    DataBlockEndEvent: Lifecycle.DATA,
    ToolCallEndEvent: Lifecycle.CALL,
    ModelCallEndEvent: Lifecycle.MODEL,
    ToolResultEndEvent: Lifecycle.RESULT,
}
"""What ends with an event of this class."""


def key_of(event: AgentEvent) -> str:
    """Return the key of an event's lifecycle: its block or its call; empty for a model call."""
    if isinstance(event, BlockEvent):
        return event.block_id
    return event.tool_call_id if isinstance(event, ToolEvent) else ""
