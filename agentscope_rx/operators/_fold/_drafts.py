"""Blocks while they stream: a draft takes chunks, and gives its block whenever one asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, cast

from agentscope_rx.message import Base64Source, ContentBlock, DataBlock, URLSource
from agentscope_rx.operators._fold._base64 import join_base64
from agentscope_rx.operators._fold._text import Chunked

__all__ = ["DataDraft", "Draft", "TextDraft", "WholeDraft", "of_provider"]

UNKNOWN_MEDIA_TYPE: Final = "application/octet-stream"


def of_provider(metadata: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what the metadata of a block's End holds for the block's provider (R20)."""
    block = metadata.get("block")
    return cast("Mapping[str, Any]", block) if isinstance(block, Mapping) else None


class Draft(Protocol):
    """What stands in the content of a message."""

    @property
    def final(self) -> bool:
        """Whether the block will never change again."""
        ...

    def block(self) -> ContentBlock:
        """Return the block so far; the same value until there is more."""
        ...


class TextDraft(Chunked):
    """A text or thinking block."""

    __slots__ = ("_block", "final", "make", "metadata", "model_call")

    def __init__(
        self, make: Callable[[str, Mapping[str, Any] | None], ContentBlock], model_call: int
    ) -> None:
        self.chunks = []
        self._read = -1
        self.make = make
        self.model_call = model_call
        self.final = False
        self.metadata: Mapping[str, Any] | None = None
        self._block: ContentBlock | None = None

    def end(self, metadata: Mapping[str, Any]) -> None:
        self.final = True
        if metadata:
            self.metadata = of_provider(metadata)
            self._block = None

    def block(self) -> ContentBlock:
        if self._block is None or self.has_grown:
            self._block = self.make(self.read(), self.metadata)
        return self._block


class DataDraft(Chunked):
    """A data block: base64 chunks, or an address, which then is all of it."""

    __slots__ = ("_block", "final", "id", "media_type", "metadata", "model_call", "url")

    def __init__(self, id: str, media_type: str | None, model_call: int) -> None:
        self.chunks = []
        self._read = -1
        self.id = id
        self.media_type = media_type
        self.model_call = model_call
        self.url: str | None = None
        self.final = False
        self.metadata: Mapping[str, Any] | None = None
        self._block: ContentBlock | None = None

    def add(self, data: str, url: str | None, media_type: str | None) -> None:
        """Take more data; the first media type that is named stands."""
        self.chunks.append(data)
        self.media_type = self.media_type or media_type
        if url is not None:
            self.url = url

    def end(self, metadata: Mapping[str, Any]) -> None:
        self.final = True
        if metadata:
            self.metadata = of_provider(metadata)
            self._block = None

    def block(self) -> ContentBlock:
        if self._block is None or self.has_grown:
            data = self.read()
            if self.url is None:
                source = Base64Source(self.media_type or UNKNOWN_MEDIA_TYPE, join_base64(data))
            else:
                source = URLSource(self.url, self.media_type)
            self._block = DataBlock(source, self.id, metadata=self.metadata)
        return self._block


class WholeDraft:
    """A block that came whole."""

    __slots__ = ("_block",)

    final = True
    fixed = True

    def __init__(self, block: ContentBlock) -> None:
        self._block = block

    def block(self) -> ContentBlock:
        return self._block
