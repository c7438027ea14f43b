"""A tool's result while it streams (R9, R10, R12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentscope_rx._frozen import EMPTY
from agentscope_rx.event import ToolResultDataDeltaEvent
from agentscope_rx.message import (
    SUSPENDED,
    ContentBlock,
    DataBlock,
    TextBlock,
    ToolResultBlock,
    ToolResultState,
    URLSource,
)
from agentscope_rx.operators._fold._call import CallDraft
from agentscope_rx.operators._fold._drafts import DataDraft, Draft, TextDraft, WholeDraft

__all__ = ["ResultDraft"]


class ResultDraft:
    """What comes of a call: text, data and whole blocks, in order.

    Attributes:
        call: the call; None if it was not streamed here.
        open: whether more may come; also after an End that says `running`, which suspends the result.
        text: the chunks of the text at the end of the output; None if it does not end with text.
        data: the base64 blocks of the output by their `block_id`.
    """

    __slots__ = ("_block", "call", "data", "id", "metadata", "name", "open", "parts", "state", "text")

    def __init__(self, id: str, name: str, call: CallDraft | None) -> None:
        self.id = id
        self.name = name
        self.call = call
        self._begin()

    def _begin(self) -> None:
        self.open = True
        self.state: ToolResultState | None = None
        self.metadata: Mapping[str, Any] = EMPTY
        self.parts: list[Draft] = []
        self.text: list[str] | None = None
        self.data: dict[str, DataDraft] | None = None
        self._block: ContentBlock | None = None

    @classmethod
    def of(cls, block: ToolResultBlock, call: CallDraft | None) -> ResultDraft:
        """Make the draft of a result that was streamed before; one that still runs may go on."""
        draft = cls(block.id, block.name, call)
        draft.parts += [WholeDraft(part) for part in block.output]
        draft.end(block.state, block.metadata)
        if draft.open and block.output and isinstance(last := block.output[-1], TextBlock):
            text = TextDraft(TextBlock, 0)
            text.chunks.append(last.text)
            text.metadata = last.metadata
            draft.parts[-1], draft.text = text, text.chunks
        return draft

    @property
    def final(self) -> bool:
        return not self.open

    @property
    def suspended(self) -> bool:
        """Whether an End has said that the result comes later."""
        return self.state is ToolResultState.RUNNING

    @property
    def awaited(self) -> bool:
        """Whether an End has said that the result comes from outside."""
        return self.suspended and self.metadata.get(SUSPENDED) is not False

    @property
    def torn(self) -> bool:
        """Whether it has begun and not ended."""
        return self.open and self.state is None

    def restart(self, name: str) -> None:
        """Begin the output afresh, in its place."""
        self.name = name or self.name
        self._begin()

    def add_text(self, delta: str) -> None:
        if self.text is not None:
            self.text.append(delta)
        elif delta:
            draft = TextDraft(TextBlock, 0)
            draft.chunks.append(delta)
            self.parts.append(draft)
            self.text = draft.chunks

    def add_data(self, event: ToolResultDataDeltaEvent) -> None:
        known = None if self.data is None else self.data.get(event.block_id)
        if event.block is not None:
            self._add(WholeDraft(event.block))
        elif event.url is not None:
            source = URLSource(event.url, event.media_type)
            self._add(WholeDraft(DataBlock(source, self._data_id(event.block_id))))
        elif known is not None:
            known.add(event.data, None, event.media_type)
        elif event.data:
            draft = DataDraft(self._data_id(event.block_id), event.media_type, 0)
            draft.chunks.append(event.data)
            self._add(draft)
            if event.block_id:
                self.data = self.data or {}
                self.data[event.block_id] = draft

    def _add(self, part: Draft) -> None:
        self.parts.append(part)
        self.text = None

    def _data_id(self, block_id: str) -> str:
        return block_id or f"{self.id}-data-{len(self.parts) + 1}"

    def end(self, state: ToolResultState, metadata: Mapping[str, Any]) -> None:
        self.state = state
        self.metadata = dict(metadata) if metadata else EMPTY  # the block takes a copy of its own
        if not self.suspended:
            self.open = False
            self.text = None

    def become(self, outcome: ToolResultBlock) -> None:
        """Take an outcome from outside as it is; one that does not say how it ended has succeeded."""
        self.restart(outcome.name)
        self.parts += [WholeDraft(part) for part in outcome.output]
        running = outcome.state is ToolResultState.RUNNING
        self.end(ToolResultState.SUCCESS if running else outcome.state, outcome.metadata)

    def block(self) -> ContentBlock:
        if self._block is not None:
            return self._block
        block = ToolResultBlock(
            self.id,
            self.name or (self.call.name if self.call is not None else ""),
            tuple([part.block() for part in self.parts]),
            self.metadata,
            self.state or ToolResultState.RUNNING,
        )
        if not self.open:
            self._block = block
        return block
