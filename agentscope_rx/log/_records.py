"""What a log gives its readers, and how it names streams and places in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from reprlib import repr as short_repr
from typing import Any, Final, TypeAlias, final

from attrs import field, frozen

from agentscope_rx import wire
from agentscope_rx._check import a_str, a_str_or_none
from agentscope_rx._storage import joined
from agentscope_rx.event import AgentEvent
from agentscope_rx.message import AssistantMessage
from agentscope_rx.operators import ReplyFold

__all__ = [
    "START",
    "Gap",
    "Logged",
    "Record",
    "Snapshot",
    "StreamKey",
    "is_cursor",
    "make_cursor",
    "number_of",
    "time_of",
]

START: Final = ""
"""The cursor before the first event of a stream."""

_CURSOR: Final = re.compile(r"[1-9][0-9]{0,17}-[1-9][0-9]{0,17}")


@final
@frozen(order=True)
class StreamKey:
    """Whose events: those of all calls in one session of a user, of whatever agent, in order.

    A reply is found in it by its `reply_id`, the events of a subagent by their `source`.

    Attributes:
        user_id: the user; None where there is only one, which no user is called.
        session_id: the conversation.
    """

    user_id: str | None = field(validator=a_str_or_none, converter=joined, order=lambda user: user or "")
    session_id: str = field(validator=a_str, converter=joined)

    def __str__(self) -> str:
        user = "" if self.user_id is None else f" of user {short_repr(self.user_id)}"
        return f"the events of session {short_repr(self.session_id)}{user}"


@final
@frozen
class Logged:
    """An event as it is written.

    Attributes:
        cursor: names its place: what to read on after.
        data: the event as JSON, encoded once for all readers.
    """

    cursor: str
    data: bytes = field(repr=False)

    def decode(self) -> AgentEvent:
        """Read the event.

        Errors: `WireError` if what is written is damaged.
        """
        return wire.loads_event(self.data, limits=wire.UNLIMITED)


@final
@frozen
class Snapshot:
    """What a reply has become by events that are not kept any more.

    Attributes:
        source: the subagent that it is of; None at the top level.
        reply_id: the reply.
        checkpoint: a seed: `to_msg(seed=checkpoint)` goes on from it with the events that follow. Of a
            subagent, with those that `by_source(source)` gives.
        open: the Starts that have no End yet, in order.
        running: whether it has begun and not ended.
    """

    source: str | None
    reply_id: str
    checkpoint: Mapping[str, Any] = field(repr=False)
    open: tuple[AgentEvent, ...] = field(default=(), repr=False)
    running: bool = False

    @property
    def message(self) -> AssistantMessage:
        """The message so far."""
        return ReplyFold(self.reply_id, seed=self.checkpoint).message()


@final
@frozen
class Gap:
    """Events that were asked for are not there any more; in their place, what they have come to.

    Attributes:
        after: the cursor that was asked for.
        cursor: the place that the snapshots are of, and that whatever follows goes on from; `START` if there
            are none: then all that is kept follows.
        snapshots: of each source the newest reply, and those that have not ended; in order of beginning.
            Empty where nothing is known.
    """

    after: str
    cursor: str
    snapshots: tuple[Snapshot, ...] = ()


Record: TypeAlias = Logged | Gap
"""What readers get."""


def make_cursor(time: int, number: int) -> str:
    """Name the place of an event: microseconds at which its batch was written, and its number, from 1.

    The number counts on without a hole. The time tells streams apart that are written over: if a log loses
    its end, or is deleted and begins again, no cursor comes again.
    """
    return f"{time}-{number}"


def is_cursor(text: str) -> bool:
    """Whether a text is of the form of a cursor."""
    return _CURSOR.fullmatch(text) is not None


def number_of(cursor: str) -> int:
    """Return the number of an event; 0 before the first."""
    return int(cursor.rpartition("-")[2] or 0)


def time_of(cursor: str) -> int:
    """Return when an event was written; 0 before the first."""
    return int(cursor.partition("-")[0] or 0)
