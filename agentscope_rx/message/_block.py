"""Content blocks: the typed parts of a message. Positional arguments are in Java's order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, final

from attrs import field, frozen

from agentscope_rx._json import loads_object
from agentscope_rx.identity import new_id
from agentscope_rx.message._enums import ToolCallState, ToolResultState
from agentscope_rx.message._frozen import EMPTY, freeze, freeze_or_none
from agentscope_rx.message._source import MediaSource

__all__ = [
    "AudioBlock",
    "ContentBlock",
    "DataBlock",
    "HintBlock",
    "ImageBlock",
    "TextBlock",
    "ThinkingBlock",
    "ToolResultBlock",
    "ToolUseBlock",
    "VideoBlock",
]

SUSPENDED: Final = "agentscope_suspended"


@frozen
class ContentBlock:
    """One part of a message; `type` is its name on the wire."""

    type: ClassVar[str] = ""


@final
@frozen
class TextBlock(ContentBlock):
    """Plain text."""

    type: ClassVar[str] = "text"
    text: str = ""


@final
@frozen
class ThinkingBlock(ContentBlock):
    """The model's reasoning.

    Attributes:
        thinking: the text.
        metadata: what the provider wants back unchanged, as `{"signature": …}`.
    """

    type: ClassVar[str] = "thinking"
    thinking: str = ""
    metadata: Mapping[str, Any] | None = field(default=None, converter=freeze_or_none, hash=False)


@final
@frozen
class DataBlock(ContentBlock):
    """Binary data of any kind: image, audio, video, document."""

    type: ClassVar[str] = "data"
    source: MediaSource
    id: str = field(factory=new_id)
    name: str | None = None


@final
@frozen
class ImageBlock(ContentBlock):
    """An image (legacy: prefer `DataBlock`)."""

    type: ClassVar[str] = "image"
    source: MediaSource
    min_pixels: int | None = None
    max_pixels: int | None = None


@final
@frozen
class AudioBlock(ContentBlock):
    """Audio (legacy: prefer `DataBlock`)."""

    type: ClassVar[str] = "audio"
    source: MediaSource


@final
@frozen
class VideoBlock(ContentBlock):
    """A video (legacy: prefer `DataBlock`); `fps` in frames per second."""

    type: ClassVar[str] = "video"
    source: MediaSource
    fps: float | None = None
    max_frames: int | None = None
    min_pixels: int | None = None
    max_pixels: int | None = None
    total_pixels: int | None = None


@final
@frozen
class ToolUseBlock(ContentBlock):
    """A tool call.

    Attributes:
        id: the call's id, the same in events, message and result.
        name: the tool.
        input: the arguments, parsed.
        content: the arguments as the model wrote them; None if only `input` is known.
        metadata: what the provider wants back unchanged.
        state: where the call stands.
    """

    type: ClassVar[str] = "tool_use"
    id: str
    name: str
    input: Mapping[str, Any] = field(default=EMPTY, converter=freeze, hash=False)
    content: str | None = None
    metadata: Mapping[str, Any] = field(default=EMPTY, converter=freeze, hash=False, repr=False)
    state: ToolCallState = ToolCallState.PENDING

    @property
    def input_error(self) -> bool:
        """Whether the arguments are unusable: there is text, and it is no JSON object."""
        return bool(self.content) and not self.content.isspace() and loads_object(self.content) is None


def _blocks(output: Iterable[ContentBlock]) -> tuple[ContentBlock, ...]:
    return tuple(output)


@final
@frozen
class ToolResultBlock(ContentBlock):
    """What came of a tool call.

    Attributes:
        id: the call's id.
        name: the tool.
        output: text and media, in order.
        metadata: free.
        state: how the execution stands.
    """

    type: ClassVar[str] = "tool_result"
    id: str
    name: str
    output: tuple[ContentBlock, ...] = field(default=(), converter=_blocks)
    metadata: Mapping[str, Any] = field(default=EMPTY, converter=freeze, hash=False, repr=False)
    state: ToolResultState = ToolResultState.RUNNING

    @property
    def is_suspended(self) -> bool:
        """Whether the result waits for an outcome from outside."""
        return self.metadata.get(SUSPENDED) is True

    @classmethod
    def text(cls, text: str, *, id: str = "", name: str = "") -> ToolResultBlock:
        """Return a successful result of one text."""
        return cls(id, name, (TextBlock(text),), state=ToolResultState.SUCCESS)

    @classmethod
    def error(cls, message: str, *, id: str = "", name: str = "") -> ToolResultBlock:
        """Return a failed result whose text the model can act on."""
        return cls(id, name, (TextBlock(f"Error: {message}"),), state=ToolResultState.ERROR)

    @classmethod
    def suspended(cls, call: ToolUseBlock, reason: str | None = None) -> ToolResultBlock:
        """Return the placeholder of a call whose outcome comes from outside."""
        text = TextBlock(reason or "[Awaiting external execution]")
        return cls(call.id, call.name, (text,), {SUSPENDED: True})


@final
@frozen
class HintBlock(ContentBlock):
    """An instruction put into the loop as user context.

    Attributes:
        id: the block's id.
        hint: the text.
        source: who gives the hint.
    """

    type: ClassVar[str] = "hint"
    id: str = field(factory=new_id)
    hint: str = ""
    source: str | None = None
