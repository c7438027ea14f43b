"""Halves of characters: what a provider cut in the middle of a surrogate pair is joined again."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["Halves"]

_HALF: Final = re.compile("[\ud800-\udfff]")


class Halves:
    """Holds back a trailing high surrogate until its other half comes.

    A half that stays alone becomes U+FFFD, so that every text that goes out can be written as UTF-8.
    """

    __slots__ = ("_high",)

    def __init__(self) -> None:
        self._high = ""

    def feed(self, text: str) -> str:
        """Take the next characters; return those that may go out now."""
        if not self._high and (text.isascii() or _HALF.search(text) is None):
            return text
        text, self._high = self._high + text, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._high = text[:-1], text[-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def finish(self) -> str:
        """Return what stands for a half whose other half never came."""
        high, self._high = self._high, ""
        return "\N{REPLACEMENT CHARACTER}" if high else ""
