"""A session that Java has paused, in the form in which ours pause. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import evolve

from agentscope_rx.agent._transition import open_calls
from agentscope_rx.message import (
    AssistantMessage,
    ContentBlock,
    Msg,
    MsgRole,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.operators import ReplyFold
from agentscope_rx.state import AgentState

__all__ = ["adopted"]

_CONFIRM: Final = "agentscope_confirm_request_reply_id"
_EXTERNAL: Final = "agentscope_external_execution_request_reply_id"
_REQUESTS: Final = (_CONFIRM, _EXTERNAL)
"""The metadata in which Java keeps the reply id of the question that a message waits for."""

_WAITING: Final = frozenset({ToolCallState.ASKING, ToolCallState.SUBMITTED})


def adopted(state: AgentState) -> AgentState:
    """Return a state whose newest reply can be gone on with, if Java has paused it; else the state as it is.

    1. Java has no checkpoint, and the results of a reply's calls stand in messages behind it: they are
       taken into it, and their calls are finished.
    2. The reply goes on under the id of its question, which is the one that an answer names.
    3. Calls that wait for nobody are no pause, but the rest of something that broke: those are closed.
    """
    place = _last_answer(state.context) if state.checkpoint is None else None
    if place is None:
        return state
    asked, behind = state.context[place], state.context[place + 1 :]
    results = {
        block.id: _final(block)
        for msg in behind
        if msg.role is MsgRole.TOOL
        for block in msg.get_content_blocks(ToolResultBlock)
    }
    metadata = {key: value for key, value in asked.metadata.items() if key not in _REQUESTS}
    reply = AssistantMessage(
        content=[*(_standing(block, results, asked) for block in asked.content), *results.values()],
        name=asked.name,
        id=next((asked.metadata[key] for key in _REQUESTS if key in asked.metadata), asked.id),
        metadata=metadata,
        timestamp=asked.timestamp,
        usage=asked.usage,
    )
    if not any(call.state in _WAITING for call in open_calls(reply)):
        return state
    later = (msg for msg in behind if msg.role is not MsgRole.TOOL)
    return evolve(
        state,
        context=(*state.context[:place], reply, *later),
        reply_id=reply.id,
        checkpoint=ReplyFold(reply.id, seed=reply).checkpoint(),
    )


def _last_answer(context: Sequence[Msg]) -> int | None:
    """Where the newest message of an assistant stands, if it has calls without a result in it."""
    for place in reversed(range(len(context))):
        if (msg := context[place]).role is MsgRole.ASSISTANT:
            return place if isinstance(msg, AssistantMessage) and open_calls(msg) else None
    return None


def _final(result: ToolResultBlock) -> ToolResultBlock:
    """Java stores only results that have come; one from outside that does not say how has succeeded."""
    running = result.state is ToolResultState.RUNNING
    return evolve(result, state=ToolResultState.SUCCESS) if running else result


def _standing(block: ContentBlock, results: dict[str, ToolResultBlock], asked: Msg) -> ContentBlock:
    """A block as it stands: Java neither finishes a call nor says that one is handed out."""
    if not isinstance(block, ToolUseBlock):
        return block
    if block.id in results:
        return evolve(block, state=ToolCallState.FINISHED)
    if _EXTERNAL in asked.metadata and block.state is not ToolCallState.ASKING:
        return evolve(block, state=ToolCallState.SUBMITTED)
    return block
