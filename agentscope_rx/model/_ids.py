"""The ids of one reply's blocks and tool calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import final

from agentscope_rx.identity import new_id

__all__ = ["ReplyIds"]


@final
class ReplyIds:
    """Names for the blocks and tool calls of one reply; shared by the model calls of an agent call.

    Args:
        blocks: how many blocks of each kind the reply has already, if it is resumed.
        calls: the ids of the calls that it has already.
    """

    __slots__ = ("_blocks", "_calls")

    def __init__(self, blocks: Mapping[str, int] | None = None, calls: Iterable[str] = ()) -> None:
        self._blocks = dict(blocks or {})
        self._calls = set(calls)

    def block(self, kind: str) -> str:
        """Return the next block id of a kind: `text-1`, `text-2`, …"""
        number = self._blocks[kind] = self._blocks.get(kind, 0) + 1
        return f"{kind}-{number}"

    def call(self, provider_id: str = "") -> str:
        """Return the provider's id of a call, with a number behind it if it came before; else a new one."""
        # Providers want a call's id back, and some take letters, digits, `_` and `-` only.
        wanted = provider_id or f"call_{new_id().replace('.', '_')}"
        call_id, number = wanted, 1
        while call_id in self._calls:
            number += 1
            call_id = f"{wanted}-{number}"
        self._calls.add(call_id)
        return call_id

    def __repr__(self) -> str:
        return f"ReplyIds({self._blocks!r}, {sorted(self._calls)!r})"
