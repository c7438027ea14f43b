"""Results of calls that do not run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from agentscope_rx.agent._loop_state import Closing
from agentscope_rx.event import AgentEvent, ToolResultEndEvent, ToolResultStartEvent, ToolResultTextDeltaEvent

__all__ = ["closing"]


def closing(reply_id: str, closings: Iterable[Closing], names: Mapping[str, str]) -> Iterator[AgentEvent]:
    """Give calls that do not run a result that says why; `names` are those of the tools, by call id."""
    for each in closings:
        name = names.get(each.call, "")
        yield ToolResultStartEvent(reply_id, each.call, name)
        yield ToolResultTextDeltaEvent(reply_id, each.call, name, each.text)
        yield ToolResultEndEvent(reply_id, each.call, name, each.state)
