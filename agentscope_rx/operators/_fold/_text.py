"""Text that grows (R7)."""

from __future__ import annotations

__all__ = ["Chunked"]


class Chunked:
    """Text from chunks: a delta costs one append to `chunks`.

    Whoever derives from it sets `chunks` to an empty list and `_read` to -1 itself: the call of one more
    initializer would be a twentieth of all that a small block costs.
    """

    __slots__ = ("_read", "chunks")

    chunks: list[str]
    _read: int

    @property
    def has_grown(self) -> bool:
        """Whether there is more than `read` has seen."""
        return self._read != len(self.chunks)

    def read(self) -> str:
        """Return the text so far, and take note that it has been read."""
        text = "".join(self.chunks)
        if not text.isascii():
            text = _whole(text)
        if self._read > 0:  # whoever reads again while the text grows does not join the same chunks again
            self.chunks[:] = (text,)
        self._read = len(self.chunks)
        return text

    def text(self) -> str:
        """Return the text so far."""
        return _whole("".join(self.chunks))

    def replace(self, text: str) -> None:
        """Let another text stand in its place."""
        self.chunks[:] = (text,)
        self._read = -1


def _whole(text: str) -> str:
    """Make one character again of a surrogate pair that was cut between two chunks."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
