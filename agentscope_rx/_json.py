"""Strict JSON: a fast path, and the standard library for what it refuses (lone surrogates).

Strict means: one value, no trailing text, no NaN or infinity, the last of repeated keys wins, integers of
any size stay integers.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

import msgspec

__all__ = ["dumps", "loads", "loads_object"]

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def loads(text: bytes | str) -> Any:
    """Parse one JSON value; raise `ValueError` if it is not exactly that."""
    try:
        return _decode(text)
    except (ValueError, UnicodeError):
        value = json.loads(text, parse_constant=_refuse_constant)
    # The standard library reads 1E400 as infinity; the fast path had refused it.
    if _has_infinity(value):
        raise ValueError("a number is out of range")
    return value


def loads_object(text: str) -> dict[str, Any] | None:
    """Parse a JSON object; None if the text is anything else."""
    try:
        value = loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def dumps(value: Any) -> bytes:
    """Write a JSON value as UTF-8; lone surrogates go out as escapes."""
    try:
        return _encode(value)
    except (UnicodeError, OverflowError, TypeError):
        return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def _has_infinity(value: Any) -> bool:
    if isinstance(value, float):
        return value in (float("inf"), float("-inf"))
    if isinstance(value, dict):
        return any(_has_infinity(item) for item in value.values())
    if isinstance(value, list):
        return any(_has_infinity(item) for item in value)
    return False
