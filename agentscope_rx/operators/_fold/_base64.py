"""Base64 from its chunks (R15): chunks padded one by one, or one text that was cut anywhere."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from typing import Final

__all__ = ["join_base64"]

_WHOLE: Final = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII
).fullmatch
_PART: Final = re.compile(r"([A-Za-z0-9+/]+)(={0,2})", re.ASCII)
_BLANK: Final = re.compile(r"[ \t\r\n]+")


def join_base64(text: str) -> str:
    """Return the standard base64 of the bytes that concatenated chunks stand for.

    1. Blanks carry no bits.
    2. The text starts again after each padded quad.
    3. At the end, whole bytes are kept, whether the padding came or not.
    4. What is no base64 comes back verbatim.
    """
    packed = _BLANK.sub("", text)
    if _WHOLE(packed):
        return packed[:-4] + b64encode(b64decode(packed[-4:])).decode("ascii")  # the last bits may be stray
    parts: list[bytes] = []
    position, end = 0, len(packed)
    for match in _PART.finditer(packed):
        if match.start() != position:
            return text
        body, padding = match.groups()
        position = match.end()
        missing = -len(body) % 4
        if position == end and not padding and missing == 3:
            body, missing = body[:-1], 0
        if missing == 3 or (len(padding) != missing and (position != end or len(padding) > missing)):
            return text
        parts.append(b64decode(body + "=" * missing))
    return b64encode(b"".join(parts)).decode("ascii") if position == end else text
