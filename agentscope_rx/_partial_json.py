"""A JSON object that is still being written, as far as it is known: pure, incremental, in linear time."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias, final

from agentscope_rx._json import DEEPEST, JSONError, loads

__all__ = ["PartialInput"]

_Container: TypeAlias = dict[str, Any] | list[Any]

_BLANKS: Final = re.compile(r"[ \t\n\r]*")
_PLAIN: Final = re.compile(r'[^"\\]*')
_SCALAR: Final = re.compile(r"[-+.0-9A-Za-z]*")
_NUMBER: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_LITERALS: Final = frozenset({"true", "false", "null"})
_ESCAPES: Final = {
    '"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_HEX: Final = frozenset("0123456789abcdefABCDEF")


@final
class PartialInput:
    """Arguments of a tool call as they stream: fragments in, the object as far as it is known out.

    ```python
    partial = PartialInput()
    for event in events:  # the ToolCallDeltaEvents of one call
        partial.feed(event.delta)
        show(partial.value)
    ```

    1. A text is there as far as it is written, but for an escape, or half a character, that is not whole.
       A number is there when something follows it; a key, when its value begins.
    2. What was there stays, and only grows: texts get longer, lists and objects get members. Only a key that
       comes a second time starts again.
    3. Once the object is whole, it is what a JSON parser makes of the text.
    4. From the first character on that no JSON object has at its place (`broken`), nothing is added.

    It is to be looked at: whether a call can run is for `ToolUseBlock.input` and `input_error` to say.

    Attributes:
        whole: whether the object has ended, and nothing but blanks follows it.
        broken: whether the text is no JSON object, whatever else comes.
    """

    __slots__ = (
        "_escape",
        "_expect",
        "_high",
        "_is_key",
        "_key",
        "_root",
        "_scalar",
        "_stack",
        "_text",
        "broken",
        "whole",
    )

    def __init__(self, text: str = "") -> None:
        self.whole = False
        self.broken = False
        self._root: dict[str, Any] = {}
        self._stack: list[_Container] = []
        self._expect = "object"
        self._key = ""
        self._is_key = False
        self._text: list[str] | None = None
        """The parts of the string that is being read; None outside of strings."""
        self._escape = ""
        self._high = ""
        self._scalar = ""
        self.feed(text)

    @property
    def value(self) -> dict[str, Any]:
        """The object as far as it is known; the next `feed` changes it, so copy what is to be kept."""
        if self._text is not None and not self._is_key:
            text = "".join(self._text)
            self._text = [text]
            self._put(text, again=True)
        return self._root

    def feed(self, fragment: str) -> None:
        """Take the next characters."""
        at = 0
        while at < len(fragment) and not self.broken:
            if self._text is not None:
                at = self._read_string(self._text, fragment, at)
            elif self._scalar:
                at = self._read_scalar(fragment, at)
            else:
                at = self._read_token(fragment, at)

    def _read_token(self, text: str, at: int) -> int:
        at = _BLANKS.match(text, at).end()  # type: ignore[union-attr] - it matches the empty string
        if at == len(text):
            return at
        char, expect = text[at], self._expect
        begins_value = expect in ("value", "first item")
        if char == '"' and (begins_value or expect in ("key", "first key")):
            self._text, self._is_key = [], not begins_value
            if begins_value:
                self._put("")
        elif char in "{[" and (begins_value or (char == "{" and expect == "object")):
            self._open(char)
        elif (
            char in "}]" and self._stack and expect in ("next", "first key" if char == "}" else "first item")
        ):
            self._close(char)
        elif char == "," and expect == "next":
            self._expect = "key" if isinstance(self._stack[-1], dict) else "value"
        elif char == ":" and expect == "colon":
            self._expect = "value"
        elif begins_value and (char == "-" or (char.isascii() and char.isalnum())):
            self._scalar = char
        else:
            self._break()
        return at + 1

    def _open(self, char: str) -> None:
        if len(self._stack) >= DEEPEST:
            self._break()
            return
        container: _Container = {} if char == "{" else []
        if self._stack:
            self._put(container)
        else:
            assert isinstance(container, dict)
            self._root = container
        self._stack.append(container)
        self._expect = "first key" if char == "{" else "first item"

    def _close(self, char: str) -> None:
        if isinstance(self._stack[-1], dict) != (char == "}"):
            self._break()
            return
        self._stack.pop()
        self.whole = not self._stack
        self._expect = "next" if self._stack else "nothing"

    def _read_scalar(self, text: str, at: int) -> int:
        end = _SCALAR.match(text, at).end()  # type: ignore[union-attr] - it matches the empty string
        self._scalar += text[at:end]
        if end < len(text) or self._scalar in _LITERALS:
            self._end_scalar()
        return end

    def _end_scalar(self) -> None:
        scalar, self._scalar = self._scalar, ""
        try:
            if scalar not in _LITERALS and _NUMBER.fullmatch(scalar) is None:
                raise JSONError("this is no value")
            self._put(loads(scalar))
        except JSONError:
            self._break()
        else:
            self._expect = "next"

    def _read_string(self, parts: list[str], text: str, at: int) -> int:
        if self._escape:
            self._read_escape(parts, text[at])
            return at + 1
        end = _PLAIN.match(text, at).end()  # type: ignore[union-attr] - it matches the empty string
        if end > at:
            self._add(parts, text[at:end])
        if end == len(text):
            return end
        if text[end] == "\\":
            self._escape = "\\"
        else:
            self._end_string(parts)
        return end + 1

    def _end_string(self, parts: list[str]) -> None:
        self._add(parts, "")
        text = "".join(parts)
        self._text = None
        if self._is_key:
            self._key, self._expect = text, "colon"
        else:
            self._put(text, again=True)
            self._expect = "next"

    def _read_escape(self, parts: list[str], char: str) -> None:
        self._escape += char
        begun = self._escape[1]
        if begun != "u":
            self._escape = ""
            if begun in _ESCAPES:
                self._add(parts, _ESCAPES[begun])
            else:
                self._break()
        elif len(self._escape) > 2 and char not in _HEX:
            self._break()
        elif len(self._escape) == 6:
            unit, self._escape = int(self._escape[2:], 16), ""
            self._add_unit(parts, unit)

    def _add_unit(self, parts: list[str], unit: int) -> None:
        """Add a character; the first half of one waits for the other."""
        if self._high and 0xDC00 <= unit <= 0xDFFF:
            high, self._high = ord(self._high), ""
            parts.append(chr(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00)))
        elif 0xD800 <= unit <= 0xDBFF:
            self._add(parts, "")
            self._high = chr(unit)
        else:
            self._add(parts, chr(unit))

    def _add(self, parts: list[str], text: str) -> None:
        parts.append(self._high + text)
        self._high = ""

    def _put(self, value: Any, *, again: bool = False) -> None:
        container = self._stack[-1]
        if isinstance(container, dict):
            container[self._key] = value
        elif again:
            container[-1] = value
        else:
            container.append(value)

    def _break(self) -> None:
        self.broken, self.whole = True, False
