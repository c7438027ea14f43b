"""Events beyond a reply's own content: exposed subagents, the user's own, and those of a newer server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, final

from attrs import field, frozen

from agentscope_rx._check import a_str, a_str_or_none
from agentscope_rx._frozen import EMPTY, freeze
from agentscope_rx.event._base import AgentEvent, AgentEventType

__all__ = ["CustomEvent", "SubagentExposedEvent", "UnknownEvent"]


@final
@frozen
class SubagentExposedEvent(AgentEvent):
    """A subagent can now be addressed by the user; `label` is its name in the UI."""

    type: ClassVar[str] = AgentEventType.SUBAGENT_EXPOSED
    subagent_id: str | None = field(default=None, validator=a_str_or_none)
    agent_id: str | None = field(default=None, validator=a_str_or_none)
    session_id: str | None = field(default=None, validator=a_str_or_none)
    label: str | None = field(default=None, validator=a_str_or_none)
    reply_id: str = field(default="", kw_only=True, validator=a_str)


@final
@frozen
class CustomEvent(AgentEvent):
    """An event of the user's own; `value` is a JSON object."""

    type: ClassVar[str] = AgentEventType.CUSTOM
    name: str | None = field(default=None, validator=a_str_or_none)
    value: Mapping[str, Any] = field(default=EMPTY, converter=freeze, hash=False)
    reply_id: str = field(default="", kw_only=True, validator=a_str)


@final
@frozen
class UnknownEvent(AgentEvent):
    """An event of a type that this version does not know.

    `raw` is the JSON object as it came; it passes every operator and is written back as it came.
    """

    type: ClassVar[str] = "UNKNOWN"
    raw: Mapping[str, Any] = field(converter=freeze, hash=False)
    reply_id: str = field(default="", kw_only=True, validator=a_str)
