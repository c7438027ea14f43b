"""Streaming of tool calls and of their results."""

from __future__ import annotations

from typing import ClassVar, final

from attrs import field, frozen

from agentscope_rx._check import a, a_str, a_str_or_none
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event._base import AgentEventType, ToolEvent
from agentscope_rx.message import SUSPENDED, ContentBlock, ToolResultState

__all__ = [
    "ToolCallDeltaEvent",
    "ToolCallEndEvent",
    "ToolCallStartEvent",
    "ToolResultDataDeltaEvent",
    "ToolResultEndEvent",
    "ToolResultStartEvent",
    "ToolResultTextDeltaEvent",
]


@final
@frozen
class ToolCallStartEvent(ToolEvent):
    """The model begins to call a tool."""

    type: ClassVar[str] = AgentEventType.TOOL_CALL_START


@final
@frozen
class ToolCallDeltaEvent(ToolEvent):
    """More arguments; `delta` is a fragment of a JSON object."""

    type: ClassVar[str] = AgentEventType.TOOL_CALL_DELTA
    delta: str = field(validator=a_str)


@final
@frozen
class ToolCallEndEvent(ToolEvent):
    """The arguments are complete; `metadata["block"]` is what the call's provider wants back."""

    type: ClassVar[str] = AgentEventType.TOOL_CALL_END


@final
@frozen
class ToolResultStartEvent(ToolEvent):
    """A tool starts to run."""

    type: ClassVar[str] = AgentEventType.TOOL_RESULT_START


@final
@frozen
class ToolResultTextDeltaEvent(ToolEvent):
    """More text from a tool; `delta` is what is new."""

    type: ClassVar[str] = AgentEventType.TOOL_RESULT_TEXT_DELTA
    delta: str = field(validator=a_str)


@final
@frozen
class ToolResultDataDeltaEvent(ToolEvent):
    """More data from a tool: exactly one of base64 text in `data`, an address in `url`, a whole `block`.

    Attributes:
        data: base64 text.
        url: an address.
        block: a whole content block (Java's form).
        media_type: MIME type of `data` or `url`.
        block_id: deltas of `data` with one `block_id` make one block.
    """

    type: ClassVar[str] = AgentEventType.TOOL_RESULT_DATA_DELTA
    data: str = field(default="", validator=a_str)
    url: str | None = field(default=None, validator=a_str_or_none)
    block: ContentBlock | None = field(default=None, validator=a(ContentBlock, None))
    media_type: str | None = field(default=None, validator=a_str_or_none)
    block_id: str = field(default="", validator=a_str)

    def __attrs_post_init__(self) -> None:
        if bool(self.data) + (self.url is not None) + (self.block is not None) > 1:
            raise ConfigurationError(
                f"give one of data, url and block: {self.data[:40]!r}, {self.url!r}, {self.block!r}"
            )


@final
@frozen
class ToolResultEndEvent(ToolEvent):
    """A tool has ended; `state` says how.

    With the state `running` the result comes later: from outside; or, where the metadata says that it is not
    suspended, at once and from its beginning, since the call that had begun it was left.
    """

    type: ClassVar[str] = AgentEventType.TOOL_RESULT_END
    state: ToolResultState = field(default=ToolResultState.SUCCESS, validator=a(ToolResultState))

    @property
    def is_suspended(self) -> bool:
        """Whether the outcome comes from outside."""
        return self.state is ToolResultState.RUNNING and self.metadata.get(SUSPENDED) is not False
