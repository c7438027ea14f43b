"""What must hold of a call, of a reply over all its calls, and of a conversation at rest."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import reactivex as rx
from reactivex import operators as ops

from agentscope_rx import event as ev, wire
from agentscope_rx.event import AgentEvent
from agentscope_rx.message import (
    AssistantMessage,
    ContentBlock,
    GenerateReason,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.operators import to_msg, well_formed
from agentscope_rx.state import AgentState

__all__ = [
    "asking",
    "check_reasons",
    "check_round_trips",
    "check_stream",
    "fold",
    "grows_into",
    "keys",
    "open_calls",
    "outside",
    "unfinished",
]


def check_stream(
    events: Sequence[AgentEvent],
    error: Exception | None,
    *,
    whole: bool,
    harmed: bool = False,
    children: bool = True,
) -> None:
    """Check the laws that hold of one call's stream alone.

    A stream that is not `whole` was left, so that its end is missing. In one that is `harmed` events may come
    twice. Without `children` a hook may have lost events of subagents.
    """
    first, last = events[0], events[-1]
    assert isinstance(first, ev.AgentStartEvent), f"L2: the first event is {first!r}"
    own = [event for event in events if not event.source]
    ends = [event for event in own if isinstance(event, ev.AgentEndEvent)]
    assert ends in ([], [last]), f"L2: AgentEnd is not the last: {events!r}"
    assert sum(isinstance(event, ev.AgentStartEvent) for event in own) == 1, "L2: two AgentStarts"
    if whole:
        assert ends, f"L2: the last event is {last!r}, the error {error!r}"
        assert (ends[0].error is None) == (error is None), f"L2: {ends[0]!r}, but the error is {error!r}"
    told = own if harmed or error is not None or not children else events
    broken: list[Exception] = []
    rest: rx.Observable[AgentEvent] = rx.empty() if whole else rx.never()
    rx.from_iterable(told).pipe(ops.concat(rest), well_formed()).subscribe(on_error=broken.append)
    assert broken == [], f"L2: {broken[0]}: {events!r}"
    replies = {event.reply_id for event in own if isinstance(event, ev.ReplyEvent)}
    assert replies == {first.reply_id}, f"L3: the replies are {replies}"
    ids = [event.id for event in events]
    assert harmed or len(set(ids)) == len(ids), f"the ids are not unique: {Counter(ids).most_common(2)}"


def check_round_trips(events: Iterable[AgentEvent], others: Iterable[str]) -> None:
    """Check that the events survive the wire, and say nothing of other sessions."""
    marks = [mark.encode() for mark in others]
    for event in events:
        text = wire.dumps_event(event)
        if isinstance(event, ev.UnknownEvent):
            continue
        assert wire.loads_event(text) == event, f"the wire changes {event!r} into {wire.loads_event(text)!r}"
        lower = text.lower()
        assert not any(mark in lower for mark in marks), f"an event is another session's: {event!r}"


def fold(events: Iterable[AgentEvent], seed: Mapping[str, Any] | None = None) -> AssistantMessage:
    """Return the message of a reply's events."""
    messages: list[AssistantMessage] = []
    rx.from_iterable(events).pipe(to_msg(seed=seed)).subscribe(messages.append)
    return messages[0]


def grows_into(seen: Msg, stored: Msg) -> bool:
    """Return whether a message may have been an earlier state of another."""
    if len(seen.content) > len(stored.content):
        return False
    return all(map(_grows_into, seen.content, stored.content))


def _grows_into(seen: ContentBlock, stored: ContentBlock) -> bool:
    match seen, stored:
        case (TextBlock(text=before), TextBlock(text=after)):
            return after.startswith(before)
        case (ThinkingBlock(thinking=before), ThinkingBlock(thinking=after)):
            return after.startswith(before)
        case (ToolUseBlock(), ToolUseBlock()) | (ToolResultBlock(), ToolResultBlock()):
            return seen.id == stored.id and seen.name == stored.name
        case _:
            return seen == stored


def check_reasons(end: ev.AgentEndEvent, message: AssistantMessage) -> None:
    """Check that a call ends for a reason that fits where its reply stands."""
    waiting = asking(message), outside(message)
    match end.generate_reason:
        case GenerateReason.PERMISSION_ASKING:
            assert waiting[0], f"nothing asks: {message!r}"
        case GenerateReason.TOOL_SUSPENDED:
            assert waiting[1], f"nothing waits: {message!r}"
            assert not waiting[0], f"what asks is {waiting[0]!r}: {message!r}"
        case GenerateReason.MODEL_STOP | GenerateReason.MAX_ITERATIONS | GenerateReason.INTERRUPTED:
            assert not open_calls(message), f"{end!r}, but calls are open: {message!r}"
        case None:
            assert end.error is not None, f"no reason, and no error: {end!r}"
            assert not open_calls(message), f"{end!r}, but calls are open: {message!r}"
        case _:
            pass
    assert message.generate_reason == end.generate_reason, f"{message!r} ended for {end!r}"


def unfinished(state: AgentState) -> AssistantMessage | None:
    """Return the reply that is to be gone on with."""
    if state.checkpoint is None:
        return None
    found = [msg for msg in state.context if msg.id == state.reply_id]
    assert len(found) == 1, f"the reply {state.reply_id} is there {len(found)} times"
    [reply] = found
    assert isinstance(reply, AssistantMessage)
    return reply


def open_calls(message: AssistantMessage) -> list[ToolUseBlock]:
    """Return the calls that have no final result."""
    settled = {
        result.id
        for result in message.get_content_blocks(ToolResultBlock)
        if result.state is not ToolResultState.RUNNING
    }
    return [call for call in message.get_content_blocks(ToolUseBlock) if call.id not in settled]


def asking(message: AssistantMessage) -> list[ToolUseBlock]:
    """Return the calls that wait for the human."""
    return [call for call in open_calls(message) if call.state is ToolCallState.ASKING]


def outside(message: AssistantMessage) -> list[ToolUseBlock]:
    """Return the calls that wait for their outcome, and no longer for the human."""
    suspended = {result.id for result in message.get_content_blocks(ToolResultBlock) if result.is_suspended}
    return [
        call
        for call in open_calls(message)
        if call.state is not ToolCallState.ASKING
        and (call.state is ToolCallState.SUBMITTED or call.id in suspended)
    ]


def keys(message: AssistantMessage) -> Iterator[tuple[str, ToolUseBlock, ToolResultBlock]]:
    """Give the calls that have a key, with their results."""
    results = {result.id: result for result in message.get_content_blocks(ToolResultBlock)}
    for call in message.get_content_blocks(ToolUseBlock):
        key = call.input.get("key")
        if isinstance(key, str) and call.id in results:
            yield key, call, results[call.id]
