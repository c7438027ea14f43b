"""Streams of bytes cut into lines and server-sent events: pure, incremental, in linear time.

To the WHATWG text: UTF-8 always, lines end with LF, CR or CRLF and nothing else, comments are ignored,
`data` lines are joined by LF. The network may cut anywhere, also inside a character or a CRLF.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, cast, final

from agentscope_rx.errors import ConfigurationError, WireError

__all__ = ["DEFAULT_LIMIT", "BodyReader", "Frame", "FrameReader", "LineReader", "NDJSONReader", "SSEReader"]

DEFAULT_LIMIT: Final = 16 * 2**20
"""Bytes that a line, and the data of one event, may have."""

_LINE_END: Final = re.compile(rb"\r\n?|\n")
_BOM: Final = b"\xef\xbb\xbf"
_COLON: Final = ord(":")


@final
class LineReader:
    """Bytes in, whole lines out, without their ends: for `NDJSONReader` and `SSEReader`.

    Args:
        limit: bytes that a line may have; None for no limit.

    Errors: `WireError` where a line is longer; the reader cannot be used any more.
    """

    __slots__ = ("_after_cr", "_first", "_limit", "_parts", "_size")

    def __init__(self, *, limit: int | None = DEFAULT_LIMIT) -> None:
        if limit is not None and limit < 1:
            raise ConfigurationError(f"limit={limit!r} lets nothing through; give bytes ≥ 1, or None")
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._first = True
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; return the lines that they end."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            unified = chunk.replace(b"\r\n", b"\n")
            lines = _LINE_END.split(chunk) if b"\r" in unified else unified.split(b"\n")
        else:
            lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines and (self._parts or self._first):
            self._hold(lines[0])
            lines[0] = self._end()
        if self._limit is not None and len(chunk) > self._limit:
            for line in lines:
                self._check(line)
        if rest:
            self._hold(rest)
        return lines

    def close(self) -> list[bytes]:
        """Return the last line, if it came without an end."""
        return [self._end()] if self._parts else []

    def _hold(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._limit is not None and self._size > self._limit:
            self._check(b"".join(self._parts))

    def _check(self, line: bytes) -> None:
        if self._limit is not None and len(line) > self._limit:
            raise WireError(f"a line is longer than {self._limit} bytes: {line[:80]!r}…")

    def _end(self) -> bytes:
        line = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        return line


class Frame(NamedTuple):
    """One server-sent event, one line of NDJSON, or a whole body.

    Attributes:
        data: its data lines, joined by LF; the line; the body.
        event: its type; empty if it has none.
        id: the last id that was given, by it or before it.
        complete: whether a blank line ended it; False if the stream ended instead.
    """

    data: str
    event: str = ""
    id: str = ""
    complete: bool = True


_frame = cast("Callable[[type[Frame], tuple[str, str, str, bool]], Frame]", tuple.__new__)  # pyright: ignore
"""Makes a frame of all its values in a third of the time that its class takes."""


class FrameReader(Protocol):
    """Bytes in, frames out."""

    def feed(self, chunk: bytes) -> list[Frame]:
        """Take the next bytes; return the frames that they complete."""
        ...

    def close(self) -> list[Frame]:
        """Return what the end of the stream completes, or leaves incomplete."""
        ...


@final
class NDJSONReader:
    """Bytes in, a frame for each line that is not blank.

    Args:
        limit: bytes that a line may have; None for no limit.

    Errors: `WireError` where there are more; the reader cannot be used any more.
    """

    __slots__ = ("_lines",)

    def __init__(self, *, limit: int | None = DEFAULT_LIMIT) -> None:
        self._lines = LineReader(limit=limit)

    def feed(self, chunk: bytes) -> list[Frame]:
        """Take the next bytes; return the lines that they end."""
        return [Frame(line.decode("utf-8", "replace")) for line in self._lines.feed(chunk) if line.strip()]

    def close(self) -> list[Frame]:
        """Return the last line, if it came without an end; it is marked incomplete."""
        lines = (line.decode("utf-8", "replace") for line in self._lines.close() if line.strip())
        return [Frame(line, complete=False) for line in lines]


@final
class BodyReader:
    """Bytes in, one frame with all of them at the end: for what is no stream.

    Args:
        limit: bytes that it may have; None for no limit.

    Errors: `WireError` where there are more.
    """

    __slots__ = ("_body", "_limit")

    def __init__(self, *, limit: int | None = DEFAULT_LIMIT) -> None:
        self._body = bytearray()
        self._limit = limit

    def feed(self, chunk: bytes) -> list[Frame]:
        """Take the next bytes."""
        self._body += chunk
        if self._limit is not None and len(self._body) > self._limit:
            raise WireError(f"the answer is longer than {self._limit} bytes")
        return []

    def close(self) -> list[Frame]:
        """Return the body."""
        return [Frame(self._body.decode("utf-8", "replace"))]


@final
class SSEReader:
    """Bytes in, server-sent events out.

    Attributes:
        last_event_id: of the last complete frame, also of one without data; where a reader may resume.
        retry: milliseconds that the server wants a reader to wait before it connects again; None if it
            did not say.

    Args:
        limit: bytes that a line, and the data of an event, may have; None for no limit.

    Errors: `WireError` where there are more; the reader cannot be used any more.
    """

    __slots__ = (
        "_data", "_event", "_event_line", "_event_name", "_id", "_limit", "_lines", "_size", "last_event_id",
        "retry",
    )  # fmt: skip

    def __init__(self, *, limit: int | None = DEFAULT_LIMIT, last_event_id: str = "") -> None:
        self._lines = LineReader(limit=limit)
        self._limit = limit
        self._data: list[str] = []
        self._size = 0
        self._event = self._event_name = ""
        self._event_line = b""
        self._id = last_event_id
        self.last_event_id = last_event_id
        self.retry: int | None = None

    def feed(self, chunk: bytes) -> list[Frame]:
        """Take the next bytes; return the events that they complete."""
        frames: list[Frame] = []
        for line in self._lines.feed(chunk):
            if line:
                if line == self._event_line:
                    self._event = self._event_name
                elif not self._data and line[:5] == b"data:":  # no longer than a line may be
                    self._data.append(line[6 if line[5:6] == b" " else 5 :].decode("utf-8", "replace"))
                    self._size = len(line)
                elif line[0] != _COLON:  # a comment
                    self._field(line)
            else:
                self.last_event_id = self._id
                if self._data:
                    frames.append(self._end(complete=True))
                else:
                    self._event = ""
        return frames

    def close(self) -> list[Frame]:
        """Return the event that the end of the stream left without its blank line, marked incomplete.

        The WHATWG text drops it. A reader that can resume should, too; it is for those who cannot.
        """
        for line in self._lines.close():
            if line:
                self._field(line)
        return [self._end(complete=False)] if self._data else []

    def _field(self, line: bytes) -> None:
        name, _, rest = line.partition(b":")
        value = rest.removeprefix(b" ").decode("utf-8", "replace")
        match name:
            case b"data":
                self._add(value, len(line))
            case b"event":
                self._event = self._event_name = value
                self._event_line = line
            case b"id" if "\0" not in value:
                self._id = value
            case b"retry" if rest.removeprefix(b" ").isdigit():
                self.retry = int(value)
            case _:
                pass

    def _add(self, data: str, size: int) -> None:
        self._data.append(data)
        self._size += size
        if self._limit is not None and self._size > self._limit:
            raise WireError(f"an event is longer than {self._limit} bytes: {self._data[0][:80]!r}…")

    def _end(self, *, complete: bool) -> Frame:
        frame = _frame(Frame, ("\n".join(self._data), self._event, self._id, complete))
        self._data, self._event, self._size = [], "", 0
        return frame
