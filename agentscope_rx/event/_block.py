"""Streaming of text, thinking and data blocks, and hints, which come whole."""

from __future__ import annotations

from typing import ClassVar, final

from attrs import field, frozen

from agentscope_rx._check import a_str, a_str_or_none
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event._base import AgentEventType, BlockEvent

__all__ = [
    "DataBlockDeltaEvent",
    "DataBlockEndEvent",
    "DataBlockStartEvent",
    "HintBlockEvent",
    "TextBlockDeltaEvent",
    "TextBlockEndEvent",
    "TextBlockStartEvent",
    "ThinkingBlockDeltaEvent",
    "ThinkingBlockEndEvent",
    "ThinkingBlockStartEvent",
]


@final
@frozen
class TextBlockStartEvent(BlockEvent):
    """A text block begins."""

    type: ClassVar[str] = AgentEventType.TEXT_BLOCK_START


@final
@frozen
class TextBlockDeltaEvent(BlockEvent):
    """More text; `delta` is what is new."""

    type: ClassVar[str] = AgentEventType.TEXT_BLOCK_DELTA
    delta: str = field(validator=a_str)


@final
@frozen
class TextBlockEndEvent(BlockEvent):
    """A text block is complete."""

    type: ClassVar[str] = AgentEventType.TEXT_BLOCK_END


@final
@frozen
class ThinkingBlockStartEvent(BlockEvent):
    """A block of the model's reasoning begins."""

    type: ClassVar[str] = AgentEventType.THINKING_BLOCK_START


@final
@frozen
class ThinkingBlockDeltaEvent(BlockEvent):
    """More reasoning; `delta` is what is new."""

    type: ClassVar[str] = AgentEventType.THINKING_BLOCK_DELTA
    delta: str = field(validator=a_str)


@final
@frozen
class ThinkingBlockEndEvent(BlockEvent):
    """A thinking block is complete; `metadata["block"]` is what its provider wants back."""

    type: ClassVar[str] = AgentEventType.THINKING_BLOCK_END


@final
@frozen
class DataBlockStartEvent(BlockEvent):
    """A data block begins; `media_type` is its MIME type, if it is known already."""

    type: ClassVar[str] = AgentEventType.DATA_BLOCK_START
    media_type: str | None = field(default=None, validator=a_str_or_none)


@final
@frozen
class DataBlockDeltaEvent(BlockEvent):
    """More data: base64 text in `data`, or a whole block's address in `url`."""

    type: ClassVar[str] = AgentEventType.DATA_BLOCK_DELTA
    data: str = field(default="", validator=a_str)
    url: str | None = field(default=None, validator=a_str_or_none)
    media_type: str | None = field(default=None, validator=a_str_or_none)

    def __attrs_post_init__(self) -> None:
        if self.url is not None and self.data:
            raise ConfigurationError(f"give data or url, not both: {self.data[:40]!r}, {self.url!r}")


@final
@frozen
class DataBlockEndEvent(BlockEvent):
    """A data block is complete."""

    type: ClassVar[str] = AgentEventType.DATA_BLOCK_END


@final
@frozen
class HintBlockEvent(BlockEvent):
    """An instruction is put into the loop, whole; `hint_source` says by whom."""

    type: ClassVar[str] = AgentEventType.HINT_BLOCK
    hint_source: str | None = field(default=None, validator=a_str_or_none)
    hint: str = field(default="", validator=a_str)
