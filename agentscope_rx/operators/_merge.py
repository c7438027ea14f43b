"""The one rule by which neighbouring deltas become one: `coalesce()` and slow readers both follow it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from attrs import evolve

from agentscope_rx.event import (
    AgentEvent,
    DataBlockDeltaEvent,
    TextBlockDeltaEvent,
    ThinkingBlockDeltaEvent,
    ToolCallDeltaEvent,
    ToolResultDataDeltaEvent,
    ToolResultTextDeltaEvent,
)

__all__ = ["DELTAS", "Delta", "joined", "joins", "merge"]

TextDelta: TypeAlias = (
    TextBlockDeltaEvent | ThinkingBlockDeltaEvent | ToolCallDeltaEvent | ToolResultTextDeltaEvent
)
DataDelta: TypeAlias = DataBlockDeltaEvent | ToolResultDataDeltaEvent
Delta: TypeAlias = TextDelta | DataDelta
"""An event that adds to a block."""

DELTAS: Final = (
    TextBlockDeltaEvent,
    ThinkingBlockDeltaEvent,
    ToolCallDeltaEvent,
    ToolResultTextDeltaEvent,
    DataBlockDeltaEvent,
    ToolResultDataDeltaEvent,
)


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
    if not isinstance(earlier, DELTAS) or not isinstance(later, DELTAS) or not joins(earlier, later):
        return None
    if earlier.id and earlier.id == later.id:
        return earlier
    if limit is not None and len(_text(earlier)) + len(_text(later)) > limit:
        return None
    return joined((earlier, later))


def joins(earlier: Delta, later: Delta) -> bool:
    """Return whether two neighbouring deltas add to the same text of the same block."""
    a: Any = earlier
    b: Any = later
    if type(a) is not type(b) or a.reply_id != b.reply_id or a.source != b.source:
        return False
    match b:
        case TextBlockDeltaEvent() | ThinkingBlockDeltaEvent():
            return a.block_id == b.block_id
        case ToolCallDeltaEvent() | ToolResultTextDeltaEvent():
            return a.tool_call_id == b.tool_call_id
        case DataBlockDeltaEvent():
            return a.block_id == b.block_id and _both_base64(a, b)
        case _:
            whole = a.block is not None or b.block is not None
            same = a.tool_call_id == b.tool_call_id and a.block_id == b.block_id != ""
            return same and not whole and _both_base64(a, b)


def _both_base64(a: DataDelta, b: DataDelta) -> bool:
    if a.url is not None or b.url is not None:
        return False
    return not a.media_type or not b.media_type or a.media_type == b.media_type


def joined(deltas: Sequence[Delta]) -> Delta:
    """Return one delta for several, each of which joins the one before it."""
    last: Any = deltas[-1]
    if len(deltas) == 1:
        return last
    text = "".join([_text(delta) for delta in deltas])
    metadata = {key: value for delta in deltas for key, value in delta.metadata.items()}
    if isinstance(last, DataBlockDeltaEvent | ToolResultDataDeltaEvent):
        types = (getattr(delta, "media_type", None) for delta in deltas)
        media_type = next((known for known in types if known), None)
        return evolve(last, data=text, metadata=metadata, media_type=media_type)
    return evolve(last, delta=text, metadata=metadata)


def _text(delta: Any) -> str:
    return delta.data if isinstance(delta, DataBlockDeltaEvent | ToolResultDataDeltaEvent) else delta.delta
