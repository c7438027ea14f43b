"""`agentscope-rx replay`: events in, the message of each reply out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO, Final, Literal

import click
from reactivex import Observable
from reactivex.subject import Subject

from agentscope_rx import operators as agent_ops, wire
from agentscope_rx._frames import DEFAULT_LIMIT, SSEReader
from agentscope_rx.errors import WireError
from agentscope_rx.event import AgentEvent, UnknownEvent
from agentscope_rx.message import Msg

__all__ = ["read_events", "replay"]

_BOM: Final = b"\xef\xbb\xbf"
_SSE_FIELD: Final = re.compile(rb"(data|event|id|retry)?:|(data|event|id|retry)\r?$")


@click.command(short_help="Make messages of events.")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--scope",
    type=click.Choice(["reply", "call"]),
    default="reply",
    show_default=True,
    help="What makes a message: the events of one reply id, or (servers in Java) of one call.",
)
@click.option("--snapshots", is_flag=True, help="Print the message so far after every event.")
@click.option(
    "--max-line",
    type=click.IntRange(min=1),
    default=DEFAULT_LIMIT,
    show_default=True,
    metavar="BYTES",
    help="The longest line to read.",
)
def replay(file: BinaryIO, scope: Literal["reply", "call"], snapshots: bool, max_line: int) -> None:
    """Read events from FILE (- is standard input), and print the message of each reply as one JSON line.

    FILE holds one event a line as JSON, or is a stream of server-sent events. A reply that does not end is
    printed as far as it came; events of types that are not known here are passed over.
    """
    events: Subject[AgentEvent] = Subject()
    messages(events, scope, snapshots=snapshots).subscribe(_print, lambda _: None)
    try:
        for event in _known(read_events(_lines(file, max_line), limit=max_line)):
            events.on_next(event)
        events.on_completed()
    except WireError as error:
        events.on_error(error)  # prints what is still open
        raise click.ClickException(str(error)) from error


def _known(events: Iterable[AgentEvent]) -> Iterator[AgentEvent]:
    """Leave out what is not known, which changes no message; where that is all, FILE is something else."""
    unknown: UnknownEvent | None = None
    known = False
    for event in events:
        if isinstance(event, UnknownEvent):
            unknown = unknown or event
        else:
            known = True
            yield event
    if unknown is not None and not known:
        raise click.ClickException(
            f"no line is an event that is known here; the first type is {unknown.raw.get('type')!r}"
        )


def messages(
    events: Observable[AgentEvent], scope: Literal["reply", "call"], *, snapshots: bool
) -> Observable[Msg]:
    """Fold events into what is printed."""
    if snapshots:
        return events.pipe(agent_ops.snapshots(scope=scope)).map(lambda snapshot: snapshot.message)
    return events.pipe(agent_ops.to_msgs(scope=scope))


def _print(message: Msg) -> None:
    click.echo(wire.dumps_msg(message))


def _lines(file: BinaryIO, limit: int) -> Iterator[bytes]:
    """Read line by line, and of a line that is too long no more than shows it."""
    return iter(lambda: file.readline(limit + len(b"\r\n")), b"")


def read_events(lines: Iterable[bytes], *, limit: int = DEFAULT_LIMIT) -> Iterator[AgentEvent]:
    """Read events from JSON lines or from server-sent events, whichever the first line is of.

    Errors: `WireError`; its path begins with the number of the line, of an event of several lines the first.
    """
    numbered = enumerate(lines, 1)
    head = next(((number, line) for number, line in numbered if line.strip()), None)
    if head is None:
        return
    limits = wire.Limits(size=limit)
    texts = _sse_texts if _SSE_FIELD.match(head[1].removeprefix(_BOM)) else _json_texts
    for number, text in texts(chain([head], numbered), limit):
        try:
            yield wire.loads_event(text, limits=limits)
        except WireError as error:
            raise _at(number, error) from error


def _json_texts(numbered: Iterable[tuple[int, bytes]], limit: int) -> Iterator[tuple[int, bytes]]:
    for number, line in numbered:
        text = (line.removeprefix(_BOM) if number == 1 else line).strip()
        if len(text) > limit:
            raise _at(number, WireError(f"longer than {limit} bytes: {text[:40]!r}…"))
        if text:
            yield number, text


def _sse_texts(numbered: Iterable[tuple[int, bytes]], limit: int) -> Iterator[tuple[int, str]]:
    reader = SSEReader(limit=limit)
    first = None
    for number, line in numbered:
        first = first or number
        try:
            frames = reader.feed(line)
        except WireError as error:
            raise _at(number, error) from error
        yield from ((first, frame.data) for frame in frames if frame.data.strip())
        if not line.strip():
            first = None
    yield from ((first or 0, frame.data) for frame in reader.close() if frame.data.strip())


def _at(number: int, error: WireError) -> WireError:
    return WireError(error.problem, f"line {number}, {error.path}")
