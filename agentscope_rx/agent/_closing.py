"""Results of calls that do not run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from agentscope_rx.agent._loop_state import Closing
from agentscope_rx.event import AgentEvent, ToolResultEndEvent, ToolResultStartEvent, ToolResultTextDeltaEvent
from agentscope_rx.message import SUSPENDED, ToolResultState, ToolUseBlock

__all__ = ["afresh", "closing"]


def closing(reply_id: str, closings: Iterable[Closing], names: Mapping[str, str]) -> Iterator[AgentEvent]:
    """Give calls that do not run a result that says why; `names` are those of the tools, by call id."""
    for each in closings:
        name = names.get(each.call, "")
        yield ToolResultStartEvent(reply_id, each.call, name)
        yield ToolResultTextDeltaEvent(reply_id, each.call, name, each.text)
        yield ToolResultEndEvent(reply_id, each.call, name, each.state)


def afresh(reply_id: str, call: ToolUseBlock) -> Iterator[AgentEvent]:
    """Let the result of a call begin afresh, of which an earlier call of the agent has streamed a part.

    The part has no End, and a Start alone would go on with it.
    """
    ids = reply_id, call.id, call.name
    yield ToolResultStartEvent(*ids)
    yield ToolResultEndEvent(*ids, ToolResultState.RUNNING, metadata={SUSPENDED: False})
