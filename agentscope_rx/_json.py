"""Strict JSON: a fast path, and the standard library for what it refuses.

Strict means: one value and no text behind it, UTF-8, no NaN and no number beyond a double's range; the last
of repeated keys counts, integers of any size stay integers, and lone surrogates survive as escapes.

msgspec or orjson: measured side by side on text deltas (µs per event, median of 9 rounds), orjson writes a
dict in 0.11 and msgspec in 0.17, and both read one in 0.27 to 0.36. What decides is that msgspec goes from
and to typed structs: the struct made and written 0.20, the dict made and written by orjson 0.29; read with
its types checked 0.18. It makes the schemas of tools, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any, Final, NoReturn, cast

import msgspec

__all__ = ["TOO_DEEP", "JSONError", "dumps", "is_deeper", "loads", "loads_object", "step"]

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode

TOO_DEEP: Final = "nested too deeply"

DEEPEST: Final = 190
"""Levels of a tool call's arguments; with a message and an event around them, the wire lets 200 through."""


class JSONError(ValueError):
    """Text that is no strict JSON, or a value that JSON cannot hold; `path` is where, as `$.a[1]`."""

    def __init__(self, problem: str, path: str = "$") -> None:
        super().__init__(problem, path)
        self.problem = problem
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


def loads(text: bytes | str) -> Any:
    """Parse one JSON value.

    Errors: `JSONError` if the text is not exactly one, or is nested too deeply.
    """
    try:
        try:
            return _decode(text)
        except ValueError:
            return _loads_slowly(text)
    except RecursionError:
        raise JSONError(TOO_DEEP) from None


def loads_object(text: str) -> dict[str, Any] | None:
    """Parse a JSON object; None if the text is anything else, or so deep that it could not be passed on."""
    try:
        value = loads(text)
    except JSONError:
        return None
    if not isinstance(value, dict):
        return None
    deep = text.count("{") + text.count("[") > DEEPEST and is_deeper(value, DEEPEST)
    return None if deep else cast("dict[str, Any]", value)


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether a parsed value has more objects and arrays inside one another; without recursion."""
    level, depth = _containers([value]), 0
    while level and depth < levels:
        level = [inner for item in level for inner in _containers(_members(item))]
        depth += 1
    return bool(level)


def _containers(items: Iterable[Any]) -> list[Any]:
    return [item for item in items if isinstance(item, dict | list)]


def _members(container: Any) -> Iterable[Any]:
    return cast("dict[str, Any]", container).values() if isinstance(container, dict) else container


def dumps(value: Any, *, finite: bool = False) -> bytes:
    """Write a JSON value as UTF-8; a lone surrogate makes the whole text ASCII with escapes.

    `finite` says that the caller has already looked for NaN.

    Errors: `JSONError` for NaN, an infinite number, an object that JSON does not know, or a circle.
    """
    try:
        try:
            encoded = _encode(value)
        except (ValueError, TypeError, OverflowError):
            return _dumps_slowly(value)
        # msgspec writes NaN as null.
        infinite = not finite and b"null" in encoded and _holds_infinite(value)
        return _dumps_slowly(value) if infinite else encoded
    except RecursionError:
        raise JSONError(TOO_DEEP) from None


def step(key: str | int) -> str:
    """Write one step of a path: `.name`, `[0]`, `["any text"]`."""
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if key.isidentifier() else f"[{json.dumps(key)}]"


class _Refused:
    """Stands in a parsed value for a number that strict JSON does not have."""

    def __init__(self, text: str) -> None:
        self.text = text


def _loads_slowly(text: bytes | str) -> Any:
    refused: list[_Refused] = []

    def refuse(number: str) -> _Refused:
        refused.append(_Refused(number))
        return refused[-1]

    def finite(number: str) -> float | _Refused:
        value = float(number)
        return value if isfinite(value) else refuse(number)

    try:
        # `json.loads` would guess the encoding of bytes, and skip a byte order mark.
        decoded = text if isinstance(text, str) else str(text, "utf-8", "surrogatepass")
        value = json.loads(decoded, parse_constant=refuse, parse_float=finite)
    except ValueError as error:
        raise JSONError(f"not JSON: {error}") from None
    if refused:
        raise JSONError(f"{refused[0].text} is no JSON number", _path_of(refused[0], value))
    return value


def _path_of(wanted: object, value: Any) -> str:
    """Say where in a parsed value an object is (`$` if a repeated key has hidden it)."""
    stack: list[tuple[str, Any]] = [("$", value)]
    while stack:
        path, item = stack.pop()
        if item is wanted:
            return path
        if isinstance(item, dict):
            stack += [(path + step(key), member) for key, member in cast("dict[str, Any]", item).items()]
        elif isinstance(item, list):
            stack += [(path + step(i), member) for i, member in enumerate(cast("list[Any]", item))]
    return "$"


def _dumps_slowly(value: Any) -> bytes:
    def refuse(item: object) -> NoReturn:
        raise TypeError(f"a {type(item).__name__} is no JSON value")

    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"), default=refuse).encode("ascii")
    except (ValueError, TypeError) as error:
        raise JSONError(str(error)) from None


def _holds_infinite(value: Any) -> bool:
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if type(item) is float and not isfinite(item):
            return True
        if isinstance(item, dict):
            stack.extend(cast("dict[Any, Any]", item).values())
        elif isinstance(item, list | tuple):
            stack.extend(cast("list[Any]", item))
    return False
