"""Strict JSON: a fast path, and the standard library for what it refuses (lone surrogates).

Strict means: one value, no trailing text, no NaN or infinity, the last of repeated keys wins, integers of
any size stay integers.
"""

from __future__ import annotations

import json
from math import isinf
from typing import Any, NoReturn, cast

import msgspec

__all__ = ["dumps", "loads", "loads_object"]

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(number: str) -> float:
    value = float(number)
    if isinf(value):
        raise ValueError(f"{number} is out of range")
    return value


def _decode_with_surrogates(text: bytes | str) -> Any:
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogatepass")  # json.loads would take UTF-16 and UTF-32, too
    return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def loads(text: bytes | str) -> Any:
    """Parse one JSON value; raise `ValueError` if it is not exactly that, or nested too deeply."""
    try:
        try:
            return _decode(text)
        except ValueError:
            return _decode_with_surrogates(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def loads_object(text: str) -> dict[str, Any] | None:
    """Parse a JSON object; None if the text is anything else."""
    try:
        value = loads(text)
    except ValueError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def dumps(value: Any) -> bytes:
    """Write a JSON value as UTF-8; lone surrogates go out as escapes."""
    try:
        return _encode(value)
    except (UnicodeError, OverflowError, TypeError):
        return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
