"""Events as text for people: words as they arrive, tools with their arguments and results."""

from __future__ import annotations

from typing import final

from agentscope_rx.event import (
    AgentEvent,
    DataBlockStartEvent,
    ExceedMaxItersEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolResultEndEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.message import ToolResultState

__all__ = ["Console"]


@final
class Console:
    """Turns one event after the other into what is to be printed for it, which is often nothing.

    A tool's arguments and results are held back until they are whole, so that those of tools that run side by
    side do not mix. What subagents do is not shown.
    """

    def __init__(self) -> None:
        self._arguments: dict[str, list[str]] = {}
        self._results: dict[str, list[str]] = {}

    def show(self, event: AgentEvent) -> str:
        """Return the text for one event."""
        if event.source:
            return ""
        match event:
            case TextBlockDeltaEvent():
                return event.delta
            case TextBlockEndEvent():
                return "\n"
            case DataBlockStartEvent():
                return f"[{event.media_type or 'data'}]\n"
            case ToolCallDeltaEvent():
                self._arguments.setdefault(event.tool_call_id, []).append(event.delta)
            case ToolCallEndEvent():
                arguments = "".join(self._arguments.pop(event.tool_call_id, ()))
                return f"[{event.tool_call_name} {arguments or '{}'}]\n"
            case ToolResultTextDeltaEvent():
                self._results.setdefault(event.tool_call_id, []).append(event.delta)
            case ToolResultEndEvent():
                result = "".join(self._results.pop(event.tool_call_id, ()))
                if event.state is ToolResultState.RUNNING and not event.is_suspended:
                    return ""  # it begins afresh
                outcome = "" if event.state is ToolResultState.SUCCESS else f" ({event.state.value})"
                return f"[{event.tool_call_name}{outcome}: {result}]\n"
            case ExceedMaxItersEvent():
                return f"[stopped after {event.max_iters} rounds]\n"
            case _:
                pass
        return ""
