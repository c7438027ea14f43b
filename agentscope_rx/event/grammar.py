"""The grammar of lifecycles: which event starts, carries on or ends what, and the key that it names."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, cast

from agentscope_rx.event._base import AgentEvent, BlockEvent, ReplyEvent, ToolEvent
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
from agentscope_rx.message import ToolResultState

__all__ = ["DELTAS", "ENDS", "OF_A_MODEL_CALL", "STARTS", "Lifecycle", "end_of", "key_of"]


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


_BLOCK_ENDS: Final = {
    Lifecycle.TEXT: TextBlockEndEvent,
    Lifecycle.THINKING: ThinkingBlockEndEvent,
    Lifecycle.DATA: DataBlockEndEvent,
}


def end_of(kind: Lifecycle, start: AgentEvent, state: ToolResultState) -> AgentEvent:
    """Return the End of what a Start has begun; a result ends in `state`."""
    if kind in _BLOCK_ENDS:
        block = cast(BlockEvent, start)
        return _BLOCK_ENDS[kind](block.reply_id, block.block_id)
    if kind == Lifecycle.MODEL:
        return ModelCallEndEvent(cast(ReplyEvent, start).reply_id)
    tool = cast(ToolEvent, start)
    if kind == Lifecycle.CALL:
        return ToolCallEndEvent(tool.reply_id, tool.tool_call_id, tool.tool_call_name)
    return ToolResultEndEvent(tool.reply_id, tool.tool_call_id, tool.tool_call_name, state)


def key_of(event: AgentEvent) -> str:
    """Return the key of an event's lifecycle: its block or its call; empty for a model call."""
    if isinstance(event, BlockEvent):
        return event.block_id
    return event.tool_call_id if isinstance(event, ToolEvent) else ""
