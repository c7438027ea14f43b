"""A limit for what a tool says: the head and the tail are kept, and how much is left out is told."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, Final, TypeAlias, final

from agentscope_rx._frozen import EMPTY
from agentscope_rx.message import ContentBlock, TextBlock

__all__ = ["OutputLimit", "Piece", "cut"]

Piece: TypeAlias = tuple[ContentBlock, Mapping[str, Any]]
"""A part of an output, and the metadata that it came with."""

_NOTICE: Final = "\n… [{} characters left out] …\n"


@final
class OutputLimit:
    """Lets so many characters of one output pass, as they come: what is streamed is what is stored.

    1. The first half of the characters passes at once.
    2. What follows is held back until the output ends; of it, the last half is kept.
    3. If something is left out, a line between the halves says how many characters.
    4. Media are never left out, and keep their place among the text that is kept.
    """

    def __init__(self, max_output: float | None) -> None:
        limit = inf if max_output is None else max_output
        characters = 0 if limit == inf else int(limit)
        self._unlimited = limit == inf
        self._kept = characters // 2
        self._room = characters - self._kept
        self._held: deque[Piece] = deque()
        self._begin = 0  # where the text that is kept begins in the first held piece
        self._size = 0
        self._left_out = 0

    def add(self, block: ContentBlock, metadata: Mapping[str, Any] = EMPTY) -> Iterator[Piece]:
        """Take more of the output; return what passes."""
        if isinstance(block, TextBlock) and not self._unlimited:
            yield from self._text(block.text, metadata)
        elif self._held:
            self._held.append((block, metadata))
        else:
            yield block, metadata

    def rest(self) -> Iterator[Piece]:
        """End the output; return what was held back, once."""
        if self._left_out:
            yield TextBlock(_NOTICE.format(self._left_out)), EMPTY
            self._left_out = 0
        texts: list[str] = []
        common: Mapping[str, Any] = EMPTY
        while self._held:
            block, metadata = self._held.popleft()
            if not isinstance(block, TextBlock) or metadata != common:
                yield from _joined(texts, common)
                texts, common = [], metadata
            if isinstance(block, TextBlock):
                texts.append(block.text[self._begin :])
                self._begin = 0
            else:
                yield block, metadata
        yield from _joined(texts, common)

    def _text(self, text: str, metadata: Mapping[str, Any]) -> Iterator[Piece]:
        passes, text = text[: self._room], text[self._room :]
        if passes:
            self._room -= len(passes)
            yield TextBlock(passes), metadata
        if (too_much := len(text) - self._kept) > 0:
            self._left_out += too_much
            text = text[too_much:]
        if text:
            self._held.append((TextBlock(text), metadata))
            self._size += len(text)
        yield from self._trimmed()

    def _trimmed(self) -> Iterator[Piece]:
        """Leave out what is too much, from the front; media that come to the front pass."""
        while (too_much := self._size - self._kept) > 0:
            block, metadata = self._held[0]
            if not isinstance(block, TextBlock):
                yield block, metadata
                self._held.popleft()
                continue
            gone = min(too_much, len(block.text) - self._begin)
            self._size -= gone
            self._left_out += gone
            self._begin += gone
            if self._begin == len(block.text):
                self._held.popleft()
                self._begin = 0


def _joined(texts: list[str], metadata: Mapping[str, Any]) -> Iterator[Piece]:
    if texts:
        yield TextBlock("".join(texts)), metadata


def cut(text: str, max_output: float | None) -> str:
    """Return a text with its middle left out, if it is longer than the limit."""
    limit = OutputLimit(max_output)
    pieces = [*limit.add(TextBlock(text)), *limit.rest()]
    return "".join(block.text for block, _ in pieces if isinstance(block, TextBlock))
