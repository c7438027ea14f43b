"""Messages: complete turns of a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, Final, TypeAlias, TypeVar, final, overload

from attrs import field, frozen

from agentscope_rx._check import a, a_str, a_str_or_none
from agentscope_rx._frozen import EMPTY, freeze_without_nulls, thaw
from agentscope_rx._repr import Brief
from agentscope_rx._typed_json import MisfitError, read_as
from agentscope_rx.errors import ConfigurationError, StructuredOutputError
from agentscope_rx.identity import format_timestamp, new_id, now
from agentscope_rx.message._block import (
    AudioBlock,
    ContentBlock,
    DataBlock,
    ImageBlock,
    TextBlock,
    ToolResultBlock,
    VideoBlock,
    content_blocks,
)
from agentscope_rx.message._enums import GenerateReason, MsgRole
from agentscope_rx.message._usage import ChatUsage

__all__ = [
    "STRUCTURED_OUTPUT",
    "AssistantMessage",
    "Msg",
    "SystemMessage",
    "ToolResultMessage",
    "UserMessage",
    "message_class",
]

BlockT = TypeVar("BlockT", bound=ContentBlock)
T = TypeVar("T")

Content: TypeAlias = str | ContentBlock | Iterable[ContentBlock]
"""What a user may give as content: text, one block, or a sequence of blocks."""

STRUCTURED_OUTPUT: Final = "_structured_output"
"""Where a structured output stands as JSON: in the metadata of a message, and of the event that ends it."""

_ALLOWED: Final[dict[MsgRole, tuple[type[ContentBlock], ...]]] = {
    MsgRole.USER: (TextBlock, DataBlock, ImageBlock, AudioBlock, VideoBlock),
    MsgRole.SYSTEM: (TextBlock,),
}


def _timestamp() -> str:
    return format_timestamp(now())


@frozen
class Msg(Brief):
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
        output_type: what `structured_output` is read as; it stays in this process, and equal messages may
            differ in it.

    Errors: `ConfigurationError` where the role does not allow a block.
    """

    name: str | None = field(default=None, validator=a_str_or_none)
    role: MsgRole | None = field(default=MsgRole.USER, validator=a(MsgRole, None))
    content: tuple[ContentBlock, ...] = field(default=(), converter=content_blocks)
    id: str = field(factory=new_id, kw_only=True, validator=a_str)
    metadata: Mapping[str, Any] = field(
        default=EMPTY, converter=freeze_without_nulls, kw_only=True, hash=False
    )
    timestamp: str = field(factory=_timestamp, kw_only=True, validator=a_str)
    usage: ChatUsage | None = field(default=None, kw_only=True, validator=a(ChatUsage, None))
    generate_reason: GenerateReason | None = field(
        default=None, kw_only=True, validator=a(GenerateReason, None)
    )
    output_type: Any = field(default=None, kw_only=True, eq=False, repr=False)

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
        """The structured value that the model was asked for; None if there is none.

        Where it was asked for in this process, it is of the type that it was asked for as; else, as in a
        message from the wire or from a store, it is the JSON value.
        """
        value = self.metadata.get(STRUCTURED_OUTPUT)
        return (
            value if value is None or self.output_type is None else self.get_structured_data(self.output_type)
        )

    @property
    def has_structured_data(self) -> bool:
        """Whether there is a `structured_output`."""
        return STRUCTURED_OUTPUT in self.metadata

    def get_structured_data(self, cls: type[T]) -> T:
        """Return the `structured_output` as a value of a type, also of a message from elsewhere.

        Errors: `StructuredOutputError` if there is none, or, with the path, if it is none of that type.
        """
        if not self.has_structured_data:
            raise StructuredOutputError(
                f"message {self.id!r} has no structured output; ask for one: agent.reply(…, output=City)"
            )
        try:
            return read_as(cls, thaw(self.metadata[STRUCTURED_OUTPUT]))
        except MisfitError as misfit:
            raise StructuredOutputError(misfit.text, path=misfit.path) from None

    @property
    def chat_usage(self) -> ChatUsage | None:
        """`usage` under Java's other name for it."""
        return self.usage

    def get_content_blocks(self, cls: type[BlockT]) -> list[BlockT]:
        """Return the blocks of one type, in order."""
        return [block for block in self.content if isinstance(block, cls)]

    @overload
    def get_first_content_block(self) -> ContentBlock | None: ...
    @overload
    def get_first_content_block(self, cls: type[BlockT]) -> BlockT | None: ...
    def get_first_content_block(self, cls: type[ContentBlock] = ContentBlock) -> ContentBlock | None:
        """Return the first block, or the first of one type; None if there is none."""
        return next((block for block in self.content if isinstance(block, cls)), None)

    def has_content_blocks(self, cls: type[ContentBlock]) -> bool:
        """Return whether there is a block of that type."""
        return any(isinstance(block, cls) for block in self.content)


@frozen(init=False)
class _PinnedMsg(Msg):
    """A message whose class says its role."""

    def __init__(
        self,
        *args: Content,
        content: Content | None = None,
        name: str | None = None,
        id: str | None = None,
        metadata: Mapping[str, Any] = EMPTY,
        timestamp: str | None = None,
        usage: ChatUsage | None = None,
        generate_reason: GenerateReason | None = None,
        output_type: Any = None,
    ) -> None:
        name, blocks = self._arguments(args, content, name)
        self.__attrs_init__(  # type: ignore[attr-defined]
            name=name,
            content=blocks,
            id=new_id() if id is None else id,
            metadata=metadata,
            timestamp=_timestamp() if timestamp is None else timestamp,
            usage=usage,
            generate_reason=generate_reason,
            output_type=output_type,
        )

    @classmethod
    def _arguments(
        cls,
        args: tuple[Content, ...],
        content: Content | None,
        name: str | None,
    ) -> tuple[str | None, tuple[ContentBlock, ...]]:
        """Read (text), (name, text), (blocks …), (name, blocks …), (list) and keywords, as Java."""
        first, parts = next(iter(args), None), args
        if isinstance(first, str) and (len(args) > 1 or content is not None):
            if name is not None:
                raise ConfigurationError(f"{cls.__name__} got two names, {first!r} and {name!r}; give one")
            name, parts = first, args[1:]
        if content is not None:
            if parts:
                raise ConfigurationError(
                    f"{cls.__name__} got content twice, {parts!r} and content={content!r}; give one"
                )
            parts = (content,)
        return name, tuple(chain.from_iterable(map(content_blocks, parts)))


@final
@frozen(init=False)
class UserMessage(_PinnedMsg):
    """What the user says: text and media.

    `UserMessage("hi")`, `UserMessage("user", "hi")`, `UserMessage("user", TextBlock(…), DataBlock(…))`,
    `UserMessage(content=[…], name=…)`: a lone string is text, a string followed by anything is the name.
    """

    role: MsgRole = field(default=MsgRole.USER, init=False, repr=False)


@final
@frozen(init=False)
class AssistantMessage(_PinnedMsg):
    """What an agent says; may hold every kind of block. Arguments as `UserMessage`."""

    role: MsgRole = field(default=MsgRole.ASSISTANT, init=False, repr=False)


@final
@frozen(init=False)
class SystemMessage(_PinnedMsg):
    """An instruction; text only. Arguments as `UserMessage`."""

    role: MsgRole = field(default=MsgRole.SYSTEM, init=False, repr=False)


@final
@frozen(init=False)
class ToolResultMessage(_PinnedMsg):
    """Results of tools. Arguments as `UserMessage`; three strings are a call's id, its tool and a text."""

    role: MsgRole = field(default=MsgRole.TOOL, init=False, repr=False)

    @classmethod
    def _arguments(
        cls, args: tuple[Content, ...], content: Content | None, name: str | None
    ) -> tuple[str | None, tuple[ContentBlock, ...]]:
        match args:
            case str(tool_call_id), str(tool_name), str(text):
                return super()._arguments(
                    (ToolResultBlock.text(text, id=tool_call_id, name=tool_name),), content, name
                )
            case _:
                return super()._arguments(args, content, name)

    @classmethod
    def of(cls, tool_call_id: str, tool_name: str, text: str) -> ToolResultMessage:
        """Return a message with one result of one text, in state success."""
        return cls(ToolResultBlock.text(text, id=tool_call_id, name=tool_name))


_CLASSES: Final[dict[MsgRole, type[_PinnedMsg]]] = {
    MsgRole.USER: UserMessage,
    MsgRole.ASSISTANT: AssistantMessage,
    MsgRole.SYSTEM: SystemMessage,
    MsgRole.TOOL: ToolResultMessage,
}


def message_class(role: MsgRole | None) -> type[Msg]:
    """Return the class that pins a role; `Msg` itself where there is none."""
    return _CLASSES[role] if role is not None else Msg
