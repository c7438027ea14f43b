"""The base of all events, and the three types of what an event may be about.

AgentEvent
  x ReplyEvent    belongs to a reply: `reply_id`
    + BlockEvent  … and to a text, thinking, data or hint block in it: `block_id`
    + ToolEvent   … or to a tool call: `tool_call_id`, `tool_call_name`

Payload is positional, in Java's order; id, time, source and metadata are keyword-only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from attrs import field, frozen

from agentscope_rx._check import a_str
from agentscope_rx._frozen import EMPTY, freeze
from agentscope_rx._repr import Brief, Name
from agentscope_rx.identity import new_id, now

__all__ = ["AgentEvent", "AgentEventType", "BlockEvent", "ReplyEvent", "ToolEvent"]

_LEGACY: Final[dict[str, str]] = {
    "RUN_STARTED": "AGENT_START",
    "REPLY_START": "AGENT_START",
    "RUN_FINISHED": "AGENT_END",
    "REPLY_END": "AGENT_END",
    "MODEL_CALL_STARTED": "MODEL_CALL_START",
    "MODEL_CALL_ENDED": "MODEL_CALL_END",
    "BINARY_BLOCK_START": "DATA_BLOCK_START",
    "BINARY_BLOCK_DELTA": "DATA_BLOCK_DELTA",
    "BINARY_BLOCK_END": "DATA_BLOCK_END",
    "TOOL_RESULT_BINARY_DELTA": "TOOL_RESULT_DATA_DELTA",
    "THREAD_EXPOSED": "SUBAGENT_EXPOSED",
}


class AgentEventType(Name):
    """The names of events on the wire; `AgentEventType(name)` understands Java's older names too."""

    AGENT_START = "AGENT_START"
    AGENT_END = "AGENT_END"
    AGENT_RESULT = "AGENT_RESULT"
    MODEL_CALL_START = "MODEL_CALL_START"
    MODEL_CALL_END = "MODEL_CALL_END"
    TEXT_BLOCK_START = "TEXT_BLOCK_START"
    TEXT_BLOCK_DELTA = "TEXT_BLOCK_DELTA"
    TEXT_BLOCK_END = "TEXT_BLOCK_END"
    THINKING_BLOCK_START = "THINKING_BLOCK_START"
    THINKING_BLOCK_DELTA = "THINKING_BLOCK_DELTA"
    THINKING_BLOCK_END = "THINKING_BLOCK_END"
    DATA_BLOCK_START = "DATA_BLOCK_START"
    DATA_BLOCK_DELTA = "DATA_BLOCK_DELTA"
    DATA_BLOCK_END = "DATA_BLOCK_END"
    TOOL_CALL_START = "TOOL_CALL_START"
    TOOL_CALL_DELTA = "TOOL_CALL_DELTA"
    TOOL_CALL_END = "TOOL_CALL_END"
    TOOL_RESULT_START = "TOOL_RESULT_START"
    TOOL_RESULT_TEXT_DELTA = "TOOL_RESULT_TEXT_DELTA"
    TOOL_RESULT_DATA_DELTA = "TOOL_RESULT_DATA_DELTA"
    TOOL_RESULT_END = "TOOL_RESULT_END"
    EXCEED_MAX_ITERS = "EXCEED_MAX_ITERS"
    REQUIRE_USER_CONFIRM = "REQUIRE_USER_CONFIRM"
    REQUIRE_EXTERNAL_EXECUTION = "REQUIRE_EXTERNAL_EXECUTION"
    USER_CONFIRM_RESULT = "USER_CONFIRM_RESULT"
    EXTERNAL_EXECUTION_RESULT = "EXTERNAL_EXECUTION_RESULT"
    REQUEST_STOP = "REQUEST_STOP"
    SUBAGENT_EXPOSED = "SUBAGENT_EXPOSED"
    HINT_BLOCK = "HINT_BLOCK"
    ALL_TOOLS_DENIED = "ALL_TOOLS_DENIED"
    CUSTOM = "CUSTOM"

    @classmethod
    def _missing_(cls, value: object) -> AgentEventType | None:
        name = _LEGACY.get(value) if isinstance(value, str) else None
        return None if name is None else cls(name)


@frozen
class AgentEvent(Brief):
    """One step of an agent's reply.

    Attributes:
        id: names this event; a copy with the same id is the same event.
        created_at: ISO 8601 UTC with `Z`.
        source: the path of the subagent that it comes from (`main/researcher`); None at the top level.
        metadata: free; `METADATA_TASK_ID` and `METADATA_PARENT_SESSION_ID` are set by remote subagents.
    """

    METADATA_TASK_ID: ClassVar[str] = "taskId"
    METADATA_PARENT_SESSION_ID: ClassVar[str] = "parentSessionId"

    type: ClassVar[str] = ""
    id: str = field(factory=new_id, kw_only=True)
    created_at: str = field(factory=now, kw_only=True)
    source: str | None = field(default=None, kw_only=True)
    metadata: Mapping[str, Any] = field(default=EMPTY, converter=freeze, kw_only=True, hash=False, repr=False)


@frozen
class ReplyEvent(AgentEvent):
    """An event of a reply; `reply_id` is the id of the message that the reply becomes."""

    reply_id: str = field(validator=a_str)


@frozen
class BlockEvent(ReplyEvent):
    """An event of a block; `block_id` names the block within its reply."""

    block_id: str = field(validator=a_str)


@frozen
class ToolEvent(ReplyEvent):
    """An event of a tool call or its result."""

    tool_call_id: str = field(validator=a_str)
    tool_call_name: str = field(validator=a_str)
