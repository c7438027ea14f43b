"""The text of a tool call's arguments, made strict JSON where it can be read in one way only.

Rules, so that what goes out is a prefix of what comes in but for these:

1. An empty object may be a placeholder: it is held back until more comes or the text ends. If another
   object follows, that one is meant.
2. Values after the whole object that are no objects are dropped.
3. Raw control characters in strings are escaped.

Nothing is closed and nothing invented: from the first character that no JSON object has at its place, and
where two objects stand side by side, the text passes as it came.
"""

from __future__ import annotations

import json
import re
from typing import Final, NoReturn

__all__ = ["Arguments"]

_BLANKS: Final = " \t\n\r"
_BLANK_RUN: Final = re.compile(r"[ \t\n\r]*")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]*')
_SCALAR_RUN: Final = re.compile(r"[-+.0-9A-Za-z]*")
_SCALAR: Final = re.compile(r"true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_CLOSERS: Final = {"{": "}", "[": "]"}
_BACKSLASH: Final = 5  # a backslash was read; 4 … 1: so many digits of a \u escape are still to come


class _Object:
    """One JSON object, read character by character; the text may be cut anywhere."""

    __slots__ = ("_escape", "_expect", "_scalar", "_stack", "_string", "bare", "broken", "closed")

    def __init__(self) -> None:
        self.bare = True
        """Whether there has been nothing but braces and blanks."""
        self.closed = False
        self.broken = False
        self._stack: list[str] = []
        self._expect = "object"
        self._scalar = ""
        self._string = False
        self._escape = 0

    def feed(self, text: str) -> tuple[str, str]:
        """Read on; return the text with its control characters escaped, and what was not read.

        What is left over follows the closed object, or begins with what breaks it.
        """
        out: list[str] = []
        start = at = 0
        while at < len(text) and not self.closed and not self.broken:
            if self._string and not self._escape:
                at = _PLAIN.match(text, at).end()  # type: ignore[union-attr] - it matches the empty string
                if at < len(text) and text[at] < " ":
                    out += text[start:at], json.dumps(text[at])[1:-1]
                    start = at = at + 1
                    continue
            elif not self._string and self._expect == "scalar":
                end = _SCALAR_RUN.match(text, at).end()  # type: ignore[union-attr] - it matches the empty string
                self._scalar += text[at:end]
                at = end
                if at < len(text):
                    self._end_scalar()
                continue
            if at < len(text):
                self._read(text[at])
                at += not self.broken
        out.append(text[start:at])
        return "".join(out), text[at:]

    def _end_scalar(self) -> None:
        self.broken = _SCALAR.fullmatch(self._scalar) is None
        self._scalar, self._expect = "", "next"

    def _read(self, char: str) -> None:
        if self._string:
            self._read_in_string(char)
        elif char in _BLANKS:
            return
        elif char in "}]":
            self._close(char)
        elif char == '"' and self._expect in ("key", "first key", "value", "first item"):
            self._string, self.bare = True, False
            self._expect = "colon" if self._expect.endswith("key") else "next"
        elif char == ":" and self._expect == "colon":
            self._expect = "value"
        elif char == "," and self._expect == "next":
            self._expect = "key" if self._stack[-1] == "}" else "value"
        elif char == "{" and self._expect in ("object", "value", "first item"):
            self._stack.append("}")
            self._expect = "first key"
        elif char == "[" and self._expect in ("value", "first item"):
            self._stack.append("]")
            self._expect = "first item"
        elif self._expect in ("value", "first item") and _SCALAR_RUN.fullmatch(char):
            self._scalar, self._expect = char, "scalar"
        else:
            self.broken = True

    def _read_in_string(self, char: str) -> None:
        if self._escape == _BACKSLASH:
            self._escape = 4 if char == "u" else 0
            self.broken = char not in 'u"\\/bfnrt'
        elif self._escape:
            self._escape -= 1
            self.broken = char not in _HEX
        elif char == "\\":
            self._escape = _BACKSLASH
        else:
            self._string = False

    def _close(self, char: str) -> None:
        allowed = ("next", "first key" if char == "}" else "first item")
        if not self._stack or self._stack[-1] != char or self._expect not in allowed:
            self.broken = True
            return
        self._stack.pop()
        self._expect = "next"
        self.closed = not self._stack


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON value")


_VALUES: Final = json.JSONDecoder(parse_constant=_refuse, strict=False)  # control characters may be raw


def _are_stray_values(text: str) -> bool:
    """Whether a text is blank, or nothing but JSON values that are no objects."""
    at = _behind_blanks(text, 0)
    while at < len(text):
        try:
            value, at = _VALUES.raw_decode(text, at)
        except (ValueError, RecursionError):
            return False
        if isinstance(value, dict):
            return False
        at = _behind_blanks(text, at)
    return True


def _behind_blanks(text: str, at: int) -> int:
    return _BLANK_RUN.match(text, at).end()  # type: ignore[union-attr] - it matches the empty string


class Arguments:
    """The arguments of one call as they stream: fragments in, fragments of strict JSON out."""

    __slots__ = ("_held", "_object", "_placeholder", "_stray", "_tail", "begun", "broken")

    def __init__(self) -> None:
        self.begun = False
        """Whether there has been any text."""
        self.broken = False
        """Whether the text is no JSON object and passes as it comes."""
        self._object = _Object()
        self._placeholder = ""
        self._held = ""
        self._tail: list[str] = []
        self._stray = False
        """Whether the first thing that follows the object is none."""

    @property
    def whole(self) -> bool:
        """Whether the text is an object already."""
        return self._object.closed and not self.broken

    @property
    def empty(self) -> bool:
        """Whether there is nothing, or nothing but an empty object."""
        return self._object.bare and not self.broken

    def feed(self, fragment: str) -> str:
        """Take the next characters; return those that may go out now."""
        self.begun = self.begun or bool(fragment.strip())
        if self.broken:
            return fragment
        if self._object.closed:
            return self._follow(fragment)
        text, rest = self._object.feed(fragment)
        self._held += text
        if not self._object.bare:
            self._placeholder = ""
        if self._object.broken:
            return self._give_up(rest)
        if self._object.bare:
            return self._follow(rest) if self._object.closed else ""
        text, self._held = self._held, ""
        if rest:
            self._follow(rest)
        return text

    def finish(self) -> str:
        """Return what was held back and counts, now that there is no more."""
        if self.broken or not self.begun:
            return ""
        tail = "".join(self._tail)
        if not self._object.closed:
            return self._placeholder + self._held
        if _are_stray_values(tail):
            return self._held
        return self._give_up("")

    def _follow(self, text: str) -> str:
        """Hold back what follows a whole object, unless that was a placeholder and here is the real one."""
        self._tail.append(text)
        opening = text.lstrip(_BLANKS)[:1]
        if not opening or self._stray or self._placeholder or not self._object.bare:
            return ""
        if opening != "{":
            self._stray = True
            return ""
        text = "".join(self._tail)
        self._placeholder = self._held
        self._object, self._held, self._tail = _Object(), "", []
        return self.feed(text)

    def _give_up(self, rest: str) -> str:
        self.broken = True
        return self._placeholder + self._held + "".join(self._tail) + rest
