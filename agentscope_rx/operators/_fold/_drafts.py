"""Blocks while they stream: a draft takes chunks, and is a block whenever one asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from agentscope_rx.message import Base64Source, ContentBlock, DataBlock, URLSource
from agentscope_rx.operators._fold._base64 import join_base64
from agentscope_rx.operators._fold._text import join

__all__ = ["DataDraft", "Draft", "TextDraft", "WholeDraft"]

UNKNOWN_MEDIA_TYPE: Final = "application/octet-stream"


class Draft(Protocol):
    """Something that stands in the content of a message."""

    def block(self) -> ContentBlock:
        """Return the block so far; the same object until more has come."""
        ...


class TextDraft:
    """A text or thinking block; `chunks` is what deltas are appended to."""

    __slots__ = ("_block", "_built", "chunks", "make", "metadata", "model_call")

    def __init__(
        self, make: Callable[[str, Mapping[str, Any] | None], ContentBlock], model_call: int = 0
    ) -> None:
        self.make = make
        self.model_call = model_call
        self.metadata: Mapping[str, Any] | None = None
        self.chunks: list[str] = []
        self._built = -1

    def end(self, metadata: Mapping[str, Any] | None) -> None:
        if metadata is not None:
            self.metadata = metadata
            self._built = -1

    def block(self) -> ContentBlock:
        if len(self.chunks) != self._built:
            text = join(self.chunks)
            self.chunks[:] = (text,)
            self._built = 1
            self._block = self.make(text, self.metadata)
        return self._block


class DataDraft:
    """A data block: base64 chunks, or an address, which then is all of it."""

    __slots__ = ("_block", "_built", "chunks", "id", "media_type", "model_call", "url")

    def __init__(self, id: str, media_type: str | None, model_call: int = 0) -> None:
        self.id = id
        self.media_type = media_type
        self.model_call = model_call
        self.url: str | None = None
        self.chunks: list[str] = []
        self._built = -1

    def add(self, data: str, url: str | None, media_type: str | None) -> None:
        """Take more data; the first media type that is named stands."""
        if not self.media_type and media_type:
            self.media_type = media_type
            self._built = -1
        if url is not None:
            self.url = url
            self._built = -1
        self.chunks.append(data)

    def block(self) -> ContentBlock:
        if len(self.chunks) != self._built:
            text = join(self.chunks)
            self.chunks[:] = (text,)
            self._built = 1
            if self.url is None:
                source = Base64Source(self.media_type or UNKNOWN_MEDIA_TYPE, join_base64(text))
            else:
                source = URLSource(self.url, self.media_type)
            self._block = DataBlock(source, self.id)
        return self._block


class WholeDraft:
    """A block that came whole."""

    __slots__ = ("_block",)

    def __init__(self, block: ContentBlock) -> None:
        self._block = block

    def block(self) -> ContentBlock:
        return self._block
