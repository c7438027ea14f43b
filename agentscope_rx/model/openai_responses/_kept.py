"""What the API wants back of an item, and where it is kept: in the metadata of the item's block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentscope_rx.model._chunks import Json

__all__ = ["CALL", "CITATIONS", "PHASE", "REASONING", "SERVER", "call_members", "reasoning_item"]

REASONING: Final = "reasoning_item"
"""Of thinking: the whole item, as it came."""

SERVER: Final = "server"
"""Of thinking: whose it is. No other server can read it, and some refuse what they cannot read."""

PHASE: Final = "phase"
"""Of text: whether it is a remark on the way, or the answer."""

CITATIONS: Final = "citations"
"""Of text: where it is from. For whoever shows it; the API does not want it back."""

CALL: Final = "function_call"
"""Of a call: members of its item beside those that every call has."""

_ITEM: Final = ("type", "id", "summary", "content", "encrypted_content")
_CALL: Final = ("caller", "namespace")


def reasoning_item(item: Mapping[str, Any]) -> Json | None:
    """Return a finished reasoning item as it goes back; None if there is no use in it.

    The server that does not store it can do nothing with an id, and with a summary.
    """
    usable = item.get("encrypted_content") or item.get("content")
    if not usable or item.get("status") in ("in_progress", "incomplete"):
        return None
    kept = {key: item[key] for key in _ITEM if item.get(key) not in (None, [])}
    return {**kept, "summary": item.get("summary") or []}


def call_members(item: Mapping[str, Any]) -> Json:
    """Return what only some calls have, as the namespace of their tool."""
    return {key: item[key] for key in _CALL if item.get(key) is not None}
