"""Replies whose process is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import pytest
import reactivex as rx
from attrs import evolve

from agentscope_rx.errors import LogConflictError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    ConfirmResult,
    RequireUserConfirmEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.log import InMemoryEventLog, recover
from agentscope_rx.message import ToolCallState, ToolResultBlock, ToolResultState, ToolUseBlock, open_calls
from agentscope_rx.operators import to_msg, well_formed
from tests.log.logs import ANN, KINDS, Backend, deltas, events_of, make, read_all, text_reply
from tests.streams import reply


@pytest.fixture(params=KINDS)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    yield from make(request.param, request)


def call(id: str, result: bool = False) -> list[AgentEvent]:
    ids = "r1", id, "search"
    events: list[AgentEvent] = [ToolCallStartEvent(*ids), ToolCallEndEvent(*ids)]
    if result:
        events += [ToolResultStartEvent(*ids), ToolResultTextDeltaEvent(*ids, "found")]
    return events


START_EVENT = AgentStartEvent("monday", "r1", "friend")


async def recovered(events: Sequence[AgentEvent]) -> list[AgentEvent]:
    log = InMemoryEventLog()
    await log.append(ANN, events)
    ended = await recover(log, ANN)
    added = events_of(await read_all(log))[len(events) :]
    assert added == [event for each in ended for event in each.events]
    assert await recover(log, ANN) == ()
    return added


@pytest.mark.asyncio
@pytest.mark.parametrize("seed", range(12))
async def test_wherever_a_reply_is_cut_off_it_ends_well(seed: int) -> None:
    events = [event for event in reply(seed) if not event.source]
    for cut in range(1, len(events)):
        before = events[:cut]
        added = await recovered(before)
        if isinstance(before[-1], AgentEndEvent):
            assert added == []
            continue
        end = added[-1]
        assert isinstance(end, AgentEndEvent)
        assert end.error is not None
        assert end.error.type == "ProcessLostError"
        message = await rx.from_iterable([*before, *added]).pipe(well_formed(), to_msg())
        assert {c.state for c in open_calls(message)} <= {ToolCallState.ASKING, ToolCallState.SUBMITTED}


@pytest.mark.asyncio
async def test_what_has_ended_and_what_is_not_there_needs_nothing() -> None:
    assert await recovered(text_reply(3)) == []
    assert await recover(InMemoryEventLog(), ANN) == ()


@pytest.mark.asyncio
async def test_calls_without_a_result_get_one_and_a_result_that_is_open_ends() -> None:
    added = await recovered([START_EVENT, *call("c1", result=True), *call("c2")])
    kinds = [(type(event), getattr(event, "tool_call_id", "")) for event in added]

    assert kinds == [
        (ToolResultEndEvent, "c1"),
        (ToolResultStartEvent, "c2"),
        (ToolResultTextDeltaEvent, "c2"),
        (ToolResultEndEvent, "c2"),
        (AgentEndEvent, ""),
    ]
    ends = [event for event in added if isinstance(event, ToolResultEndEvent)]
    assert {end.state for end in ends} == {ToolResultState.INTERRUPTED}


@pytest.mark.asyncio
async def test_a_call_that_asks_can_still_be_answered_and_one_that_was_allowed_cannot_run_twice() -> None:
    asked = ToolUseBlock("c1", "search", {}, state=ToolCallState.ASKING)
    asking: list[AgentEvent] = [START_EVENT, *call("c1"), RequireUserConfirmEvent("r1", [asked])]
    allowed = UserConfirmResultEvent("r1", [ConfirmResult(True, asked)])

    (end,) = await recovered(asking)
    assert isinstance(end, AgentEndEvent)
    message = await rx.from_iterable([*asking, end]).pipe(to_msg())
    assert [c.state for c in open_calls(message)] == [ToolCallState.ASKING]
    added = await recovered([*asking, allowed])
    message = await rx.from_iterable([*asking, allowed, *added]).pipe(to_msg())
    assert [block.state for block in message.get_content_blocks(ToolResultBlock)] == [
        ToolResultState.INTERRUPTED
    ]
    assert open_calls(message) == ()


@pytest.mark.asyncio
async def test_subagents_end_before_who_has_called_them() -> None:
    child = [evolve(event, source="main/child") for event in text_reply(2, "child")[:-1]]
    added = await recovered([START_EVENT, *call("c1"), *child])

    assert [(event.source, type(event).__name__) for event in added] == [
        ("main/child", "AgentEndEvent"),
        (None, "ToolResultStartEvent"),
        (None, "ToolResultTextDeltaEvent"),
        (None, "ToolResultEndEvent"),
        (None, "AgentEndEvent"),
    ]


@pytest.mark.asyncio
async def test_a_reply_whose_beginning_is_not_kept_ends_as_well(backend: Backend) -> None:
    log, events = backend.open(max_len=4), text_reply(40)[:-2]
    for event in events:
        await log.append(ANN, [event])
    (ended,) = await recover(log, ANN)

    assert [type(event).__name__ for event in ended.events] == ["TextBlockEndEvent", "AgentEndEvent"]
    assert ended.reply.message == await rx.from_iterable([*events, *ended.events]).pipe(to_msg())
    assert await recover(backend.open(), ANN) == ()


@pytest.mark.asyncio
async def test_of_many_that_recover_one_does(backend: Backend) -> None:
    logs = [backend.open() for _ in range(3)]
    await logs[0].append(ANN, text_reply(5)[:-1])
    ended = await asyncio.gather(*(recover(log, ANN) for log in logs * 3))

    assert sorted(map(len, ended)) == [0] * 8 + [1]
    assert events_of(await read_all(logs[0]))[-1] == max(ended)[0].events[-1]


class Alive(InMemoryEventLog):
    """Somebody writes between what recovery reads and what it writes."""

    async def append(self, key, events, *, after=None):  # type: ignore[no-untyped-def, override]
        if after is not None:
            await super().append(key, deltas(1))
        return await super().append(key, events, after=after)


@pytest.mark.asyncio
async def test_a_process_that_still_writes_is_not_gone() -> None:
    log = Alive()
    await log.append(ANN, text_reply(5)[:-2])

    with pytest.raises(LogConflictError):
        await recover(log, ANN)
    assert not any(isinstance(event, AgentEndEvent) for event in events_of(await read_all(log)))
