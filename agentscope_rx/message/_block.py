"""Content blocks: the typed parts of a message. Positional arguments are in Java's order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, final

from attrs import field, frozen

from agentscope_rx._check import a, a_str, a_str_or_none
from agentscope_rx._frozen import EMPTY, freeze, freeze_or_none, freeze_without_nulls
from agentscope_rx._json import loads_object
from agentscope_rx._partial_json import PartialInput
from agentscope_rx._repr import Brief
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.identity import new_id
from agentscope_rx.message._enums import ToolCallState, ToolResultState
from agentscope_rx.message._source import Base64Source, MediaSource, URLSource

__all__ = [
    "SUSPENDED",
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
"""The metadata of a result that says whether it waits for an outcome from outside."""

_a_source = a(Base64Source, URLSource)
_an_int_or_none = a(int, None)


@frozen
class ContentBlock(Brief):
    """One part of a message; `type` is its name on the wire."""

    type: ClassVar[str] = ""


@final
@frozen
class TextBlock(ContentBlock):
    """Plain text.

    Attributes:
        text: the text.
        metadata: what the provider wants back unchanged, as `{"signature": …}`; None, and not written, as a
            rule.
    """

    type: ClassVar[str] = "text"
    text: str = field(default="", validator=a_str)
    metadata: Mapping[str, Any] | None = field(default=None, converter=freeze_or_none, hash=False, repr=False)


def content_blocks(content: str | ContentBlock | Iterable[ContentBlock]) -> tuple[ContentBlock, ...]:
    """Read what a user may give as content: text, one block, or a sequence of blocks."""
    if isinstance(content, str):
        return (TextBlock(content),)
    if isinstance(content, ContentBlock):
        return (content,)
    try:
        blocks = tuple(content)
    except TypeError:
        raise ConfigurationError(
            f"content is {content!r}; give a string, a content block, or a sequence of content blocks"
        ) from None
    # By class, not by block: a long reply is checked again for each message that is made of it.
    for kind in set(map(type, blocks)):
        if not issubclass(kind, ContentBlock):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            wrong = next(block for block in blocks if type(block) is kind)
            raise ConfigurationError(
                f"content holds {wrong!r}, which is no content block; wrap text in TextBlock(…)"
            )
    return blocks


@final
@frozen
class ThinkingBlock(ContentBlock):
    """The model's reasoning.

    Attributes:
        thinking: the text.
        metadata: what the provider wants back unchanged, as `{"signature": …}`.
    """

    type: ClassVar[str] = "thinking"
    thinking: str = field(default="", validator=a_str)
    metadata: Mapping[str, Any] | None = field(default=None, converter=freeze_or_none, hash=False)


def _id(id: str) -> str:
    return id or new_id()


@final
@frozen
class DataBlock(ContentBlock):
    """Binary data of any kind: image, audio, video, document.

    Attributes:
        source: the data, or where they are.
        id: the block's id; without one it gets a new one.
        name: the file's name, if it has one.
        metadata: what the provider wants back unchanged; None, and not written, as a rule.
    """

    type: ClassVar[str] = "data"
    source: MediaSource = field(validator=_a_source)
    id: str = field(default="", converter=_id, validator=a_str)
    name: str | None = field(default=None, validator=a_str_or_none)
    metadata: Mapping[str, Any] | None = field(default=None, converter=freeze_or_none, hash=False, repr=False)


@final
@frozen
class ImageBlock(ContentBlock):
    """An image (legacy: prefer `DataBlock`)."""

    type: ClassVar[str] = "image"
    source: MediaSource = field(validator=_a_source)
    min_pixels: int | None = field(default=None, validator=_an_int_or_none)
    max_pixels: int | None = field(default=None, validator=_an_int_or_none)


@final
@frozen
class AudioBlock(ContentBlock):
    """Audio (legacy: prefer `DataBlock`)."""

    type: ClassVar[str] = "audio"
    source: MediaSource = field(validator=_a_source)


@final
@frozen
class VideoBlock(ContentBlock):
    """A video (legacy: prefer `DataBlock`); `fps` in frames per second. Java lets its source be missing."""

    type: ClassVar[str] = "video"
    source: MediaSource | None = field(validator=a(Base64Source, URLSource, None))
    fps: float | None = field(default=None, validator=a(float, int, None))
    max_frames: int | None = field(default=None, validator=_an_int_or_none)
    min_pixels: int | None = field(default=None, validator=_an_int_or_none)
    max_pixels: int | None = field(default=None, validator=_an_int_or_none)
    total_pixels: int | None = field(default=None, validator=_an_int_or_none)


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
    id: str = field(validator=a_str)
    name: str = field(validator=a_str)
    input: Mapping[str, Any] = field(default=EMPTY, converter=freeze, hash=False)
    content: str | None = field(default=None, validator=a_str_or_none)
    metadata: Mapping[str, Any] = field(default=EMPTY, converter=freeze, hash=False, repr=False)
    state: ToolCallState = field(default=ToolCallState.PENDING, validator=a(ToolCallState))

    @property
    def input_error(self) -> bool:
        """Whether the arguments are unusable: there is text, and it is no JSON object."""
        return bool(self.content) and not self.content.isspace() and loads_object(self.content) is None

    @property
    def partial_input(self) -> Mapping[str, Any]:
        """The arguments as far as they are written, to be shown while the model writes them; never to be run.

        `input` once that is known; of a text that is cut or is no JSON object, what can be read before that.
        """
        return self.input or freeze(PartialInput(self.content or "").value)


@final
@frozen
class ToolResultBlock(ContentBlock):
    """What came of a tool call.

    Attributes:
        id: the call's id.
        name: the tool.
        output: text and media, in order; a string is taken as one `TextBlock`.
        metadata: free; entries that are None are dropped.
        state: how the execution stands.
    """

    type: ClassVar[str] = "tool_result"
    id: str = field(validator=a_str)
    name: str = field(validator=a_str)
    output: tuple[ContentBlock, ...] = field(default=(), converter=content_blocks)
    metadata: Mapping[str, Any] = field(default=EMPTY, converter=freeze_without_nulls, hash=False, repr=False)
    state: ToolResultState = field(default=ToolResultState.RUNNING, validator=a(ToolResultState))

    @property
    def text_content(self) -> str:
        """All text of the output, joined by line ends, as of a message; empty when there is none."""
        return "\n".join(block.text for block in self.output if isinstance(block, TextBlock))

    @property
    def is_suspended(self) -> bool:
        """Whether the result waits for an outcome from outside."""
        return self.state is ToolResultState.RUNNING and self.metadata.get(SUSPENDED) is True

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
    id: str = field(factory=new_id, validator=a_str)
    hint: str = field(default="", validator=a_str)
    source: str | None = field(default=None, validator=a_str_or_none)
