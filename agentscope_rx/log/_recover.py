"""The end of replies whose process is gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, final

from attrs import evolve, frozen

from agentscope_rx.errors import LogConflictError, ProcessLostError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    ErrorInfo,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.event.grammar import end_of
from agentscope_rx.log._log import EventLog
from agentscope_rx.log._records import START, Logged, Snapshot, StreamKey
from agentscope_rx.log._replies import Replies, Reply
from agentscope_rx.message import ToolCallState, ToolResultState, open_calls

__all__ = ["Recovered", "endings", "recover"]

_LOST: Final = "the process that the call ran in is gone; what had happened is kept"
_RESULT: Final = (
    "Error: the process in which this call ran is gone; whether it has done something is not known"
)
_WAITING: Final = frozenset({ToolCallState.ASKING, ToolCallState.SUBMITTED})


@final
@frozen
class Recovered:
    """A reply that has been ended.

    Attributes:
        events: what was written to end it.
        reply: what it has become, at its new end.
    """

    events: tuple[AgentEvent, ...]
    reply: Snapshot


async def recover(log: EventLog, key: StreamKey) -> tuple[Recovered, ...]:
    """End the replies of a stream that have begun and not ended, and return them: the innermost first.

    Only for whoever knows that no process works on the session any more. Of several that try, one succeeds.

    1. What is open of a reply ends: its blocks, its model call, its calls.
    2. A call without a result gets one, INTERRUPTED; one that a human, or somebody outside, was asked about
       stays open, so that it can still be answered.
    3. `AgentEndEvent` carries the error, a `ProcessLostError`. Subagents end before who has called them.

    Errors: `LogConflictError` if somebody writes to the stream: the process is not gone. Those of the log.
    """
    replies, end = await _replies(log, key)
    ended = endings(replies)
    if not ended:
        return ()
    try:
        await log.append(key, [event for each in ended for event in each.events], after=end)
    except LogConflictError:
        again, _ = await _replies(log, key)
        if any(reply.running for reply in again):
            raise
        return ()
    return ended


async def _replies(log: EventLog, key: StreamKey) -> tuple[Replies, str]:
    replies, cursor = Replies(), START
    while page := await log.read(key, cursor):
        for record in page:
            if isinstance(record, Logged):
                replies.take(record.decode())
            else:
                replies = Replies(record.snapshots)
        cursor = page[-1].cursor
    return replies, cursor


def endings(replies: Replies) -> tuple[Recovered, ...]:
    """End the replies that have not ended, those that began last first; pure, but for new ids and times."""
    running = [reply for reply in replies if reply.running]
    return tuple(_ended(reply) for reply in reversed(running))


def _ended(reply: Reply) -> Recovered:
    events = tuple(_taken(reply))
    return Recovered(events, reply.snapshot())


def _taken(reply: Reply) -> Iterator[AgentEvent]:
    for part in (_ends, _results, _end):
        for event in part(reply):
            given = evolve(event, source=reply.source) if reply.source else event
            reply.take(given)
            yield given


def _ends(reply: Reply) -> Sequence[AgentEvent]:
    order = sorted(reply.open.items(), key=lambda item: item[0][0])
    return [end_of(kind, start, ToolResultState.INTERRUPTED) for (kind, _), start in order]


def _results(reply: Reply) -> Iterator[AgentEvent]:
    for call in open_calls(reply.fold.message()):
        if call.state not in _WAITING:
            ids = reply.reply_id, call.id, call.name
            yield ToolResultStartEvent(*ids)
            yield ToolResultTextDeltaEvent(*ids, _RESULT)
            yield ToolResultEndEvent(*ids, ToolResultState.INTERRUPTED)


def _end(reply: Reply) -> Sequence[AgentEvent]:
    error = ErrorInfo(ProcessLostError.__name__, _LOST)
    return [AgentEndEvent(reply.reply_id, error=error)]
