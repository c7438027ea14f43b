"""Text from its chunks (R7)."""

from __future__ import annotations

__all__ = ["join"]


def join(chunks: list[str]) -> str:
    """Concatenate; a surrogate pair that was cut between two chunks is one character again.

    What is no string adds nothing. A lone surrogate stays as it is.
    """
    try:
        text = "".join(chunks)
    except TypeError:
        text = "".join(chunk for chunk in chunks if isinstance(chunk, str))  # pyright: ignore[reportUnnecessaryIsInstance] - constructors do not check types
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
