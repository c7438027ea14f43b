"""The tool calls of a message that have no result yet."""

from __future__ import annotations

from agentscope_rx.message._block import ToolResultBlock, ToolUseBlock
from agentscope_rx.message._enums import ToolCallState, ToolResultState
from agentscope_rx.message._msg import AssistantMessage

__all__ = ["open_calls"]


def open_calls(message: AssistantMessage) -> tuple[ToolUseBlock, ...]:
    """Return the tool calls of a message that have no final result, in order.

    A call that the human has denied is finished at once; its result follows.
    """
    with_result = {
        block.id
        for block in message.get_content_blocks(ToolResultBlock)
        if block.state is not ToolResultState.RUNNING
    }
    return tuple(
        block
        for block in message.get_content_blocks(ToolUseBlock)
        if block.state is not ToolCallState.FINISHED or block.id not in with_result
    )
