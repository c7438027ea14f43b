"""What the API wants back of a block, and where it is kept: in the block's metadata."""

from __future__ import annotations

from typing import Final

__all__ = ["CALL_MEMBERS", "CITATIONS", "REDACTED", "SERVER_BLOCK", "SIGNATURE", "is_server_block"]

SIGNATURE: Final = "signature"
"""Of thinking; empty, if a server sent the thinking that wants no signature."""

REDACTED: Final = "redacted_thinking"
"""Of thinking without text: thinking that only the API can read."""

SERVER_BLOCK: Final = "server_block"
"""Of thinking without text: a call of a tool that the API runs itself, or what came of it."""

CITATIONS: Final = "citations"
"""Of text: where it is from. For whoever shows it; the API does not want it back."""

CALL_MEMBERS: Final = ("caller", "toolset_name")
"""Of a call: members of its block beside those that every call has."""


def is_server_block(kind: str) -> bool:
    """Return whether blocks of a type are those of tools that the API runs itself."""
    return kind == "server_tool_use" or (kind.endswith("_tool_result") and kind != "tool_result")
