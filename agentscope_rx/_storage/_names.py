"""Names of any characters as texts that file systems, databases and people can bear.

Lower-case letters, digits, `_` and `-` stand for themselves, and every other byte of the name's UTF-8 is `%`
and two digits: no separator, no dot, nothing that another case, another Unicode form or a reserved word could
confuse.
"""

from __future__ import annotations

from hashlib import sha256
from string import ascii_lowercase, digits
from typing import Any, Final
from urllib.parse import unquote_to_bytes

__all__ = ["decode", "encode", "encode_user", "is_shortened", "joined", "shorten"]

_PLAIN: Final = frozenset(ascii_lowercase + digits + "_-")
_LONGEST: Final = 64
"""Of a part of a file's name: two and what we add are below the 143 bytes of encrypted file systems."""


def encode(name: str) -> str:
    """Write a name; different names are written differently."""
    return "".join(character if character in _PLAIN else _escaped(character) for character in name)


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))


def decode(text: str) -> str:
    """Read what `encode` wrote."""
    return unquote_to_bytes(text).decode("utf-8", "surrogatepass")


def encode_user(user_id: str | None) -> str:
    """Write a user's name, or that there is none."""
    return "anonymous" if user_id is None else f"u-{encode(user_id)}"


def shorten(text: str) -> str:
    """Keep the beginning of a long encoded name and a hash of it; `~` is in no encoded name."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[:23]}~{sha256(text.encode('ascii')).hexdigest()[:40]}"


def is_shortened(text: str) -> bool:
    """Whether a text is only the beginning of a name."""
    return "~" in text


def joined(name: Any) -> Any:
    """Make one character of the two halves of one, which JSON cannot tell from it."""
    if not isinstance(name, str) or not any("\ud800" <= character <= "\udbff" for character in name):
        return name
    return name.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
