"""Events beyond a reply's own content: exposed subagents, the user's own, and those of a newer server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, final

from attrs import field, frozen

from agentscope_rx.event._base import AgentEvent, AgentEventType
from agentscope_rx.message._frozen import EMPTY, freeze

__all__ = ["CustomEvent", "SubagentExposedEvent", "UnknownEvent"]


@final
@frozen
class SubagentExposedEvent(AgentEvent):
    """A subagent can now be addressed by the user; `label` is its name in the UI."""

    type: ClassVar[str] = AgentEventType.SUBAGENT_EXPOSED
    subagent_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    label: str | None = None
    reply_id: str = field(default="", kw_only=True)


@final
@frozen
class CustomEvent(AgentEvent):
    """An event of the user's own; `value` is a JSON object."""

    type: ClassVar[str] = AgentEventType.CUSTOM
    name: str | None = None
    value: Mapping[str, Any] = field(default=EMPTY, converter=freeze, hash=False)
    reply_id: str = field(default="", kw_only=True)


@final
@frozen
class UnknownEvent(AgentEvent):
    """An event of a type that this version does not know.

    `raw` is the JSON object as it came; it passes every operator and is written back as it came.
    """

    type: ClassVar[str] = "UNKNOWN"
    raw: Mapping[str, Any] = field(converter=freeze, hash=False)
    reply_id: str = field(default="", kw_only=True)
