"""How messages, blocks and sources are read, where that is more than part by part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cattrs import Converter

from agentscope_rx.errors import WireError
from agentscope_rx.message import (
    AudioBlock,
    Base64Source,
    ContentBlock,
    DataBlock,
    GenerateReason,
    HintBlock,
    ImageBlock,
    Msg,
    MsgRole,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    URLSource,
    VideoBlock,
    message_class,
)
from agentscope_rx.wire._errors import at, under, unexpected
from agentscope_rx.wire._parts import tag_of
from agentscope_rx.wire._reading import Hook, build, parts_reader, read_items
from agentscope_rx.wire._scalars import an_object
from agentscope_rx.wire._shapes import GENERATE_REASON

__all__ = ["block_hook", "msg_hook", "source_hook"]

_BLOCKS: Final[dict[str, type]] = {
    tag_of(cls): cls
    for cls in (
        TextBlock,
        ThinkingBlock,
        DataBlock,
        ImageBlock,
        AudioBlock,
        VideoBlock,
        ToolUseBlock,
        ToolResultBlock,
        HintBlock,
    )
}
_SOURCES: Final[dict[str, type]] = {tag_of(cls): cls for cls in (Base64Source, URLSource)}


def block_hook(_: Any, converter: Converter) -> Hook:
    """Return the hook that reads a block of any type."""
    return _tagged("block", _BLOCKS, converter)


def source_hook(_: Any, converter: Converter) -> Hook:
    """Return the hook that reads a source of any type."""
    return _tagged("source", _SOURCES, converter)


def _tagged(what: str, classes: Mapping[str, type], converter: Converter) -> Hook:
    def read_tagged(value: Any, _: Any) -> Any:
        tag = an_object(value).get("type")
        if not isinstance(tag, str):
            raise under("type", unexpected("str", tag))
        cls = classes.get(tag)
        if cls is None:
            raise WireError(f"unknown {what} type {tag!r}; known: {', '.join(classes)}", "$.type")
        return converter.get_structure_hook(cls)(value, cls)

    return read_tagged


def msg_hook(cls: type[Msg], converter: Converter) -> Hook:
    """Return the hook that reads a message: its role says which class it is, its metadata why it ended."""
    read_block = converter.get_structure_hook(ContentBlock)
    read_role = converter.get_structure_hook(MsgRole)
    read_reason = converter.get_structure_hook(GenerateReason)

    def read_block_or_none(value: Any, _: Any) -> ContentBlock | None:
        return None if value is None else read_block(value, ContentBlock)

    def read_content(value: Any, _: Any) -> list[ContentBlock]:
        return [block for block in read_items(value, read_block_or_none, None) if block is not None]

    read = parts_reader(cls, converter, {"content": read_content})

    def read_msg(value: Any, _: Any) -> Msg:
        arguments = read(value)
        given = value.get("role")
        role: MsgRole | None = None if given is None else at("role", read_role, given, MsgRole)
        chosen = cls if role is None else message_class(role)
        if not issubclass(chosen, cls):
            raise WireError(f"{given!r} is not the role of a {cls.__name__}", "$.role")
        metadata = dict(arguments["metadata"])
        reason = metadata.pop(GENERATE_REASON, None)
        if reason is not None:
            reason = at("metadata", at, GENERATE_REASON, read_reason, reason, GenerateReason)
        arguments |= {"metadata": metadata, "generate_reason": reason}
        del arguments["role"]
        return build(chosen, arguments | {"role": None} if chosen is Msg else arguments)

    return read_msg
