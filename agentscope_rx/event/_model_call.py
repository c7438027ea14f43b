"""The frame of one call of a model."""

from __future__ import annotations

from typing import ClassVar, final

from attrs import field, frozen

from agentscope_rx._check import a, a_str_or_none
from agentscope_rx.event._base import AgentEventType, ReplyEvent
from agentscope_rx.message import ChatUsage

__all__ = ["ModelCallEndEvent", "ModelCallStartEvent"]


@final
@frozen
class ModelCallStartEvent(ReplyEvent):
    """A model is called; `model_name` says which."""

    type: ClassVar[str] = AgentEventType.MODEL_CALL_START
    model_name: str | None = field(default=None, validator=a_str_or_none)


@final
@frozen
class ModelCallEndEvent(ReplyEvent):
    """A model call has ended; `usage` is what it took, None if the provider did not say."""

    type: ClassVar[str] = AgentEventType.MODEL_CALL_END
    usage: ChatUsage | None = field(default=None, validator=a(ChatUsage, None))

    @property
    def input_tokens(self) -> int:
        """Tokens sent; 0 if unknown."""
        return 0 if self.usage is None else self.usage.input_tokens

    @property
    def output_tokens(self) -> int:
        """Tokens received; 0 if unknown."""
        return 0 if self.usage is None else self.usage.output_tokens
