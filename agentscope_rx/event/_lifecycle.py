"""The frame of a reply: its beginning, its end, its result, and what ends it early."""

from __future__ import annotations

from typing import ClassVar, final

from attrs import field, frozen

from agentscope_rx._check import a, a_str, a_str_or_none, an_int
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

    type: str = field(validator=a_str)
    message: str = field(default="", validator=a_str)


@final
@frozen
class AgentStartEvent(ReplyEvent):
    """The agent begins a reply, or goes on with one."""

    type: ClassVar[str] = AgentEventType.AGENT_START
    session_id: str | None = field(validator=a_str_or_none)
    reply_id: str = field(validator=a_str)
    name: str | None = field(default=None, validator=a_str_or_none)
    role: str = field(default="assistant", validator=a_str)


@final
@frozen
class AgentEndEvent(ReplyEvent):
    """The agent ends the reply.

    Attributes:
        generate_reason: why; None after a failure and from servers that do not say.
        error: what failed; None if nothing did.
    """

    type: ClassVar[str] = AgentEventType.AGENT_END
    generate_reason: GenerateReason | None = field(default=None, validator=a(GenerateReason, None))
    error: ErrorInfo | None = field(default=None, validator=a(ErrorInfo, None))


@final
@frozen
class AgentResultEvent(ReplyEvent):
    """The message that the reply has become."""

    type: ClassVar[str] = AgentEventType.AGENT_RESULT
    result: Msg | None = field(validator=a(Msg, None))
    reply_id: str = field(default="", kw_only=True, validator=a_str)


@final
@frozen
class ExceedMaxItersEvent(ReplyEvent):
    """The agent has reached its limit of reasoning and acting rounds."""

    type: ClassVar[str] = AgentEventType.EXCEED_MAX_ITERS
    max_iters: int = field(default=0, validator=an_int)
    current_iter: int = field(default=0, validator=an_int)


@final
@frozen
class RequestStopEvent(ReplyEvent):
    """A middleware or a tool asks the agent to finish this step and stop.

    From `on_reasoning` and `on_model_call`, the call ends before its tools run, and these stay open; from
    `on_acting` or a tool, when all have run. In `on_agent` it stops nothing: `agent.request_stop(ctx)` does.
    Without a `reply_id` it belongs to the reply that is running.
    """

    type: ClassVar[str] = AgentEventType.REQUEST_STOP
    reason: str | None = field(default=None, validator=a_str_or_none)
    generate_reason: GenerateReason = field(
        default=GenerateReason.MIDDLEWARE_STOP_REQUESTED, validator=a(GenerateReason)
    )
    reply_id: str = field(default="", kw_only=True, validator=a_str)
