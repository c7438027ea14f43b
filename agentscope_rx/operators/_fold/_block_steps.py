"""Text, thinking and data blocks, and hints: a group each (R5–R7, R13, R15, R20)."""

from __future__ import annotations

from typing import Final

from agentscope_rx.event import (
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    HintBlockEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
)
from agentscope_rx.message import HintBlock, TextBlock, ThinkingBlock
from agentscope_rx.operators._fold._drafts import DataDraft, TextDraft, WholeDraft
from agentscope_rx.operators._fold._state import FoldState

__all__ = ["BLOCK_STEPS"]


def start_text(state: FoldState, event: TextBlockStartEvent) -> None:
    if event.block_id not in state.text or not _goes_on(state.text[event.block_id], state.model_call):
        draft = state.text[event.block_id] = TextDraft(TextBlock, state.model_call)
        state.blocks.append(draft)


def add_text(state: FoldState, event: TextBlockDeltaEvent) -> None:
    draft = state.text.get(event.block_id)
    if draft is not None:
        draft.chunks.append(event.delta)


def end_text(state: FoldState, event: TextBlockEndEvent) -> None:
    draft = state.text.pop(event.block_id, None)
    if draft is not None:
        draft.end(event.metadata)


def start_thinking(state: FoldState, event: ThinkingBlockStartEvent) -> None:
    if event.block_id not in state.thinking or not _goes_on(state.thinking[event.block_id], state.model_call):
        draft = state.thinking[event.block_id] = TextDraft(ThinkingBlock, state.model_call)
        state.blocks.append(draft)


def add_thinking(state: FoldState, event: ThinkingBlockDeltaEvent) -> None:
    draft = state.thinking.get(event.block_id)
    if draft is not None:
        draft.chunks.append(event.delta)


def end_thinking(state: FoldState, event: ThinkingBlockEndEvent) -> None:
    draft = state.thinking.pop(event.block_id, None)
    if draft is not None:
        draft.end(event.metadata)


def start_data(state: FoldState, event: DataBlockStartEvent) -> None:
    if event.block_id not in state.data or not _goes_on(state.data[event.block_id], state.model_call):
        id = event.block_id or f"data-{len(state.blocks) + 1}"
        draft = state.data[event.block_id] = DataDraft(id, event.media_type, state.model_call)
        state.blocks.append(draft)


def add_data(state: FoldState, event: DataBlockDeltaEvent) -> None:
    draft = state.data.get(event.block_id)
    if draft is not None:
        draft.add(event.data, event.url, event.media_type)


def end_data(state: FoldState, event: DataBlockEndEvent) -> None:
    draft = state.data.pop(event.block_id, None)
    if draft is not None:
        draft.end(event.metadata)


def add_hint(state: FoldState, event: HintBlockEvent) -> None:
    state.blocks.append(WholeDraft(HintBlock(event.block_id, event.hint, event.hint_source)))


def _goes_on(known: TextDraft | DataDraft, model_call: int) -> bool:
    """Return whether a Start is a repetition; one of a later model call closes what had no End."""
    known.final = known.model_call != model_call
    return not known.final


BLOCK_STEPS: Final = {
    TextBlockStartEvent: start_text,
    TextBlockDeltaEvent: add_text,
    TextBlockEndEvent: end_text,
    ThinkingBlockStartEvent: start_thinking,
    ThinkingBlockDeltaEvent: add_thinking,
    ThinkingBlockEndEvent: end_thinking,
    DataBlockStartEvent: start_data,
    DataBlockDeltaEvent: add_data,
    DataBlockEndEvent: end_data,
    HintBlockEvent: add_hint,
}
