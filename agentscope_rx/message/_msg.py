"""Messages: complete turns of a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar, final

from attrs import field, frozen

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.identity import format_timestamp, new_id, now
from agentscope_rx.message._block import (
    AudioBlock,
    ContentBlock,
    DataBlock,
    ImageBlock,
    TextBlock,
    ToolResultBlock,
    VideoBlock,
)
from agentscope_rx.message._enums import GenerateReason, MsgRole, ToolResultState
from agentscope_rx.message._frozen import EMPTY, FrozenDict
from agentscope_rx.message._usage import ChatUsage

__all__ = ["AssistantMessage", "Msg", "SystemMessage", "ToolResultMessage", "UserMessage", "message_class"]

BlockT = TypeVar("BlockT", bound=ContentBlock)

STRUCTURED_OUTPUT: Final = "_structured_output"

_ALLOWED: Final[dict[MsgRole, tuple[type[ContentBlock], ...]]] = {
    MsgRole.USER: (TextBlock, DataBlock, ImageBlock, AudioBlock, VideoBlock),
    MsgRole.SYSTEM: (TextBlock,),
}


def _content(content: str | ContentBlock | Iterable[ContentBlock]) -> tuple[ContentBlock, ...]:
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
    for block in blocks:
        if not isinstance(block, ContentBlock):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise ConfigurationError(
                f"content holds {block!r}, which is no content block; wrap text in TextBlock(…)"
            )
    return blocks


def _without_nulls(metadata: Mapping[str, Any]) -> FrozenDict:
    if type(metadata) is FrozenDict:
        return metadata
    return FrozenDict({key: value for key, value in metadata.items() if value is not None})


def _timestamp() -> str:
    return format_timestamp(now())


@frozen
class Msg:
    """One turn of conversation.

    Attributes:
        name: the sender; None if it has no name.
        role: who speaks; decides which blocks are allowed (checked at construction).
        content: the blocks, in order; a string is taken as one `TextBlock`.
        id: unique id.
        metadata: free; entries that are None are dropped.
        timestamp: `yyyy-MM-dd HH:mm:ss.SSS`, UTC.
        usage: tokens, summed over the reply's model calls; None if unknown.
        generate_reason: why the message ended; None if unknown.

    Errors: `ConfigurationError` where the role does not allow a block.
    """

    name: str | None = None
    role: MsgRole | None = MsgRole.USER
    content: tuple[ContentBlock, ...] = field(default=(), converter=_content)
    id: str = field(factory=new_id, kw_only=True)
    metadata: Mapping[str, Any] = field(default=EMPTY, converter=_without_nulls, kw_only=True, hash=False)
    timestamp: str = field(factory=_timestamp, kw_only=True)
    usage: ChatUsage | None = field(default=None, kw_only=True)
    generate_reason: GenerateReason | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        allowed = _ALLOWED.get(self.role) if self.role is not None else None
        if allowed is None:
            return
        for block in self.content:
            if not isinstance(block, allowed):
                names = ", ".join(cls.__name__ for cls in allowed)
                raise ConfigurationError(
                    f"a {self.role} message cannot hold a {type(block).__name__}; allowed: {names}"
                )

    @property
    def text_content(self) -> str:
        """All text blocks, joined by line ends; the empty string when there are none."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextBlock))

    @property
    def structured_output(self) -> Any:
        """The structured value that the model was asked for; None if there is none."""
        return self.metadata.get(STRUCTURED_OUTPUT)

    def get_content_blocks(self, cls: type[BlockT]) -> list[BlockT]:
        """Return the blocks of one type, in order."""
        return [block for block in self.content if isinstance(block, cls)]

    def get_first_content_block(self, cls: type[BlockT]) -> BlockT | None:
        """Return the first block of one type, or None."""
        return next((block for block in self.content if isinstance(block, cls)), None)

    def has_content_blocks(self, cls: type[ContentBlock]) -> bool:
        """Return whether there is a block of that type."""
        return any(isinstance(block, cls) for block in self.content)


def _arguments(
    cls: type[Msg],
    args: tuple[str | ContentBlock | Iterable[ContentBlock], ...],
    content: str | ContentBlock | Iterable[ContentBlock] | None,
    name: str | None,
) -> tuple[str | None, tuple[ContentBlock, ...]]:
    """Read (text), (name, text), (blocks …), (name, blocks …), (list) and the keyword forms, as Java does."""
    rest = args
    if len(args) > 1 and isinstance(args[0], str):
        if name is not None:
            raise ConfigurationError(f"{cls.__name__} got two names, {args[0]!r} and {name!r}")
        name, rest = args[0], args[1:]
    if not rest:
        return name, _content(content if content is not None else ())
    if content is not None:
        raise ConfigurationError(f"{cls.__name__} got content twice: {rest!r} and content={content!r}")
    if len(rest) == 1:
        return name, _content(rest[0])
    return name, tuple(block for part in rest for block in _content(part))


@frozen(init=False)
class _PinnedMsg(Msg):
    """A message whose class says its role."""

    def __init__(
        self,
        *args: str | ContentBlock | Iterable[ContentBlock],
        content: str | ContentBlock | Iterable[ContentBlock] | None = None,
        name: str | None = None,
        id: str | None = None,
        metadata: Mapping[str, Any] = EMPTY,
        timestamp: str | None = None,
        usage: ChatUsage | None = None,
        generate_reason: GenerateReason | None = None,
    ) -> None:
        name, blocks = _arguments(type(self), args, content, name)
        self.__attrs_init__(  # type: ignore[attr-defined]
            name=name,
            content=blocks,
            id=new_id() if id is None else id,
            metadata=metadata,
            timestamp=_timestamp() if timestamp is None else timestamp,
            usage=usage,
            generate_reason=generate_reason,
        )


@final
@frozen(init=False)
class UserMessage(_PinnedMsg):
    """What the user says: text and media.

    `UserMessage("hi")`, `UserMessage("user", "hi")`, `UserMessage("user", TextBlock(…), DataBlock(…))`,
    `UserMessage(content=[…], name=…)`: a lone string is text, a string followed by anything is the name.
    """

    role: MsgRole = field(default=MsgRole.USER, init=False)


@final
@frozen(init=False)
class AssistantMessage(_PinnedMsg):
    """What an agent says; may hold every kind of block. Arguments as `UserMessage`."""

    role: MsgRole = field(default=MsgRole.ASSISTANT, init=False)


@final
@frozen(init=False)
class SystemMessage(_PinnedMsg):
    """An instruction; text only. Arguments as `UserMessage`."""

    role: MsgRole = field(default=MsgRole.SYSTEM, init=False)


@final
@frozen(init=False)
class ToolResultMessage(_PinnedMsg):
    """Results of tools. Arguments as `UserMessage`; `of(id, name, text)` makes one of one text."""

    role: MsgRole = field(default=MsgRole.TOOL, init=False)

    @classmethod
    def of(cls, tool_call_id: str, tool_name: str, text: str) -> ToolResultMessage:
        """Return a message with one result of one text, in state success."""
        return cls(
            ToolResultBlock(tool_call_id, tool_name, (TextBlock(text),), state=ToolResultState.SUCCESS)
        )


_CLASSES: Final[dict[MsgRole, type[_PinnedMsg]]] = {
    MsgRole.USER: UserMessage,
    MsgRole.ASSISTANT: AssistantMessage,
    MsgRole.SYSTEM: SystemMessage,
    MsgRole.TOOL: ToolResultMessage,
}


def message_class(role: MsgRole | None) -> type[Msg]:
    """Return the class that pins a role; `Msg` itself where there is none."""
    return _CLASSES[role] if role is not None else Msg
