"""The one rule by which neighbouring deltas become one: `coalesce()` and slow readers both follow it."""

from __future__ import annotations

from attrs import evolve

from agentscope_rx.event import (
    AgentEvent,
    BlockEvent,
    DataBlockDeltaEvent,
    TextBlockDeltaEvent,
    ThinkingBlockDeltaEvent,
    ToolCallDeltaEvent,
    ToolEvent,
    ToolResultDataDeltaEvent,
    ToolResultTextDeltaEvent,
)

__all__ = ["merge"]


def merge(earlier: object, later: object, *, limit: int | None = None) -> AgentEvent | None:
    """Return the one delta that says what two neighbouring ones say, or None if there is none.

    1. Two deltas of one block of one reply and source become one: texts and base64 texts are joined.
    2. It has the later one's id and time; its metadata is both, the later one's first.
    3. Of two with the same id the later is a copy: the earlier stays.
    4. An address or a whole block is never joined; nor is base64 of a tool without a `block_id`, since
       each of those is a block of its own.
    5. No joined text is longer than `limit` characters, so that many merges cost no more than the text.

    Folding the result gives the same message as folding both.
    """
    match earlier, later:
        case (
            (TextBlockDeltaEvent() as a, TextBlockDeltaEvent() as b)
            | (ThinkingBlockDeltaEvent() as a, ThinkingBlockDeltaEvent() as b)
            | (ToolCallDeltaEvent() as a, ToolCallDeltaEvent() as b)
            | (ToolResultTextDeltaEvent() as a, ToolResultTextDeltaEvent() as b)
        ) if _same_place(a, b):
            if a.id and a.id == b.id:
                return a
            if limit is None or len(a.delta) + len(b.delta) <= limit:
                return evolve(b, delta=a.delta + b.delta, metadata={**a.metadata, **b.metadata})
        case (DataBlockDeltaEvent() as a, DataBlockDeltaEvent() as b) | (
            ToolResultDataDeltaEvent(block=None) as a,
            ToolResultDataDeltaEvent(block=None) as b,
        ) if _same_place(a, b) and a.url is None and b.url is None:
            if a.id and a.id == b.id:
                return a
            known = a.media_type or b.media_type
            if (b.media_type or known) == known and (limit is None or len(a.data) + len(b.data) <= limit):
                both = {**a.metadata, **b.metadata}
                return evolve(b, data=a.data + b.data, media_type=known, metadata=both)
        case _:
            pass
    return None


def _same_place(a: BlockEvent | ToolEvent, b: BlockEvent | ToolEvent) -> bool:
    if a.source != b.source or a.reply_id != b.reply_id:
        return False
    if isinstance(a, BlockEvent):
        return isinstance(b, BlockEvent) and a.block_id == b.block_id
    if isinstance(b, BlockEvent) or a.tool_call_id != b.tool_call_id:
        return False
    if isinstance(a, ToolResultDataDeltaEvent):
        return isinstance(b, ToolResultDataDeltaEvent) and a.block_id == b.block_id != ""
    return True
