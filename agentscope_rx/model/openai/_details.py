"""Reasoning as OpenRouter has it, `reasoning_details`: pieces that go back whole. Pure.

A piece is text, a summary, or encrypted, and comes in fragments; the signature of a text comes last, also
long after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from agentscope_rx.model._chunks import Json, as_object, as_str

__all__ = ["DETAILS", "joined", "text_of"]

DETAILS: Final = "reasoning_details"
"""In a message, a delta, and the metadata of thinking."""

_GROWING: Final = ("text", "summary", "data")


def text_of(details: Iterable[Any]) -> str:
    """Return what can be read of fragments."""
    return "".join(
        as_str(detail.get("text")) or as_str(detail.get("summary")) for detail in map(as_object, details)
    )


def joined(fragments: Iterable[Any]) -> list[Json]:
    """Return the pieces that fragments are of.

    Fragments of one index and one type are one piece. Those without an index are one if they follow one
    another, and are to be read: what is encrypted comes whole.
    """
    pieces: list[Json] = []
    by_index: dict[tuple[str, str], Json] = {}
    for fragment in map(as_object, fragments):
        if not fragment:
            continue
        kind, index = as_str(fragment.get("type")), fragment.get("index")
        key = (kind, str(index))
        piece = by_index.get(key) if index is not None else _last(pieces, kind)
        if piece is None:
            piece = dict(fragment)
            pieces.append(piece)
            if index is not None:
                by_index[key] = piece
        else:
            _grow(piece, fragment)
    return pieces


def _last(pieces: list[Json], kind: str) -> Json | None:
    last = pieces[-1] if pieces else {}
    goes_on = last.get("index") is None and as_str(last.get("type")) == kind
    return last if goes_on and not last.get("signature") and "data" not in last else None


def _grow(piece: Json, fragment: Json) -> None:
    for key, value in fragment.items():
        if key in _GROWING and isinstance(value, str):
            piece[key] = as_str(piece.get(key)) + value
        elif value is not None:
            piece[key] = value
