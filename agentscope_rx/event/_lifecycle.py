"""The frame of a reply: its beginning, its end, its result, and what ends it early."""

from __future__ import annotations

from typing import ClassVar, final

from attrs import field, frozen

from agentscope_rx.event._base import AgentEventType, ReplyEvent
from agentscope_rx.message import GenerateReason, Msg

__all__ = [
    "AgentEndEvent",
    "AgentResultEvent",
    "AgentStartEvent",
    "ErrorInfo",
    "ExceedMaxItersEvent",
    "RequestStopEvent",
]


@final
@frozen
class ErrorInfo:
    """A failure as data: the class of the error and its message."""

    type: str
    message: str = ""


@final
@frozen
class AgentStartEvent(ReplyEvent):
    """The agent begins a reply, or goes on with one."""

    type: ClassVar[str] = AgentEventType.AGENT_START
    session_id: str | None
    reply_id: str
    name: str | None = None
    role: str = "assistant"


@final
@frozen
class AgentEndEvent(ReplyEvent):
    """The agent ends the reply.

    Attributes:
        generate_reason: why; None after a failure and from servers that do not say.
        error: what failed; None if nothing did.
    """

    type: ClassVar[str] = AgentEventType.AGENT_END
    generate_reason: GenerateReason | None = None
    error: ErrorInfo | None = None


@final
@frozen
class AgentResultEvent(ReplyEvent):
    """The message that the reply has become."""

    type: ClassVar[str] = AgentEventType.AGENT_RESULT
    result: Msg | None
    reply_id: str = field(default="", kw_only=True)


@final
@frozen
class ExceedMaxItersEvent(ReplyEvent):
    """The agent has reached its limit of reasoning and acting rounds."""

    type: ClassVar[str] = AgentEventType.EXCEED_MAX_ITERS
    max_iters: int = 0
    current_iter: int = 0


@final
@frozen
class RequestStopEvent(ReplyEvent):
    """A middleware or a tool asks the agent to finish this step and stop.

    Without a `reply_id` it belongs to the reply that is running.
    """

    type: ClassVar[str] = AgentEventType.REQUEST_STOP
    reason: str | None = None
    generate_reason: GenerateReason = GenerateReason.MIDDLEWARE_STOP_REQUESTED
    reply_id: str = field(default="", kw_only=True)
