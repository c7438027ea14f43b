"""What every log of events does, on each of them."""

from __future__ import annotations

import asyncio
import gc
import itertools
import random
import threading
from collections.abc import Iterator
from typing import Any
from weakref import ref

import pytest
import reactivex as rx

from agentscope_rx import wire
from agentscope_rx.errors import ConfigurationError, LogConflictError, LogError, WireError
from agentscope_rx.event import CustomEvent
from agentscope_rx.log import START, EventLog, Gap, Logged, Record, StreamKey
from agentscope_rx.operators import ReplyFold, to_msg
from tests.log.logs import (
    ANN,
    KINDS,
    LASTING,
    Backend,
    delta,
    deltas,
    events_of,
    gap_of,
    logged,
    make,
    read_all,
    take,
    text_reply,
)
from tests.samples import EVENTS


@pytest.fixture(params=KINDS)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    yield from make(request.param, request)


@pytest.fixture(params=LASTING)
def lasting(request: pytest.FixtureRequest) -> Iterator[Backend]:
    yield from make(request.param, request)


@pytest.fixture
def log(backend: Backend) -> EventLog:
    return backend.open()


# What was written is read.


@pytest.mark.asyncio
async def test_every_event_is_read_as_it_was_written_by_another_log(backend: Backend) -> None:
    cursors = await backend.open().append(ANN, EVENTS)
    records = await backend.open().read(ANN)

    assert events_of(records[:-1]) == list(EVENTS[:-1])
    assert [record.cursor for record in records] == list(cursors)
    assert [logged(record).data for record in records] == [wire.dumps_event(event) for event in EVENTS]


@pytest.mark.asyncio
async def test_what_is_read_after_a_cursor_is_what_was_written_after_it(log: EventLog) -> None:
    events = deltas(10)
    cursors: list[str] = []
    for batch in (events[:1], events[1:4], events[4:]):
        cursors += await log.append(ANN, batch)

    assert len(set(cursors)) == 10
    for place, cursor in enumerate(cursors, 1):
        assert events_of(await log.read(ANN, cursor)) == events[place:]
    assert await log.end(ANN) == cursors[-1]


@pytest.mark.asyncio
async def test_pages_have_the_events_that_fit(log: EventLog) -> None:
    events = deltas(10)
    await log.append(ANN, events)

    assert events_of(await log.read(ANN, limit=3)) == events[:3]
    assert events_of(await read_all(log, limit=3)) == events
    large = [CustomEvent("large", {"text": "x" * 400_000}) for _ in range(5)]
    end = await log.end(ANN)
    await log.append(ANN, large)
    assert len(await log.read(ANN, end)) == 2
    assert events_of(await read_all(log, after=end)) == large


@pytest.mark.asyncio
async def test_a_stream_that_nobody_has_written_is_empty(log: EventLog) -> None:
    assert await log.read(ANN) == ()
    assert await log.end(ANN) == START
    assert await log.delete(ANN) is False
    assert await log.append(ANN, []) == ()
    assert await log.append(ANN, [], after=START) == ()
    assert await log.read(ANN) == ()


@pytest.mark.asyncio
async def test_streams_are_apart_whatever_they_are_called(log: EventLog) -> None:
    keys = [
        StreamKey(user, session)
        for user in (None, "", "ann", "Ann", "u-ann", "a:b", "{ann}", "é", "anonymous")
        for session in ("", "monday", "a:base", "b/c", "..", "\ud800", "x" * 300)
    ]
    for number, key in enumerate(keys):
        await log.append(key, [delta(number)])

    for number, key in enumerate(keys):
        assert events_of(await log.read(key)) == [delta(number)]


@pytest.mark.asyncio
async def test_events_that_cannot_be_encoded_are_refused_and_none_is_written(log: EventLog) -> None:
    with pytest.raises(WireError):
        await log.append(ANN, [delta(1), CustomEvent("bad", {"value": object()})])

    assert await log.read(ANN) == ()


@pytest.mark.asyncio
async def test_a_page_without_room_is_refused(log: EventLog) -> None:
    with pytest.raises(ConfigurationError, match="limit=0 reads nothing"):
        await log.read(ANN, limit=0)
    with pytest.raises(ConfigurationError, match="limit=0 reads nothing"):
        log.follow(ANN, limit=0)


@pytest.mark.parametrize("options", [{"max_len": 0}, {"ttl": 0.0}])
def test_a_log_that_would_keep_nothing_is_refused(backend: Backend, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="keeps nothing"):
        backend.open(**options)


# Behind the end that is expected.


@pytest.mark.asyncio
async def test_what_expects_another_end_is_not_written(log: EventLog) -> None:
    (first,) = await log.append(ANN, [delta(1)], after=START)
    (second,) = await log.append(ANN, [delta(2)], after=first)

    for wrong in (START, first):
        for events in ([delta(3)], []):
            with pytest.raises(LogConflictError, match="session 'monday' of user 'ann'") as caught:
                await log.append(ANN, events, after=wrong)
            assert (caught.value.expected, caught.value.found) == (wrong, second)
    assert events_of(await log.read(ANN)) == deltas(2)


@pytest.mark.asyncio
async def test_of_many_that_expect_the_same_end_one_writes(backend: Backend) -> None:
    logs = [backend.open() for _ in range(4)]
    outcomes = await asyncio.gather(
        *(log.append(ANN, [delta(n)], after=START) for n, log in enumerate(logs * 4)), return_exceptions=True
    )

    written = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    assert len(written) == 1
    assert all(isinstance(outcome, LogConflictError | tuple) for outcome in outcomes)
    assert len(await logs[0].read(ANN)) == 1


# What is not kept.


@pytest.mark.asyncio
async def test_what_is_not_kept_is_a_gap_with_what_it_has_come_to(backend: Backend) -> None:
    log, events = backend.open(max_len=20), text_reply(95)
    cursors = [cursor for event in events for cursor in await log.append(ANN, [event])]
    whole = await rx.from_iterable(events).pipe(to_msg())
    await settled(log)

    kept = len(events_of(await log.read(ANN, cursors[-21])))
    assert kept == 20
    for after in (START, cursors[0], cursors[50]):
        records = await read_all(log, after=after, limit=7)
        gap = gap_of(records)
        assert gap.after == after
        assert gap.cursor in cursors[60:80]
        (snapshot,) = gap.snapshots
        assert (snapshot.source, snapshot.reply_id, snapshot.running) == (None, "r1", True)
        assert [type(start).__name__ for start in snapshot.open] == ["TextBlockStartEvent"]
        rest = events_of(records[1:])
        before = events[: len(events) - len(rest)]
        assert snapshot.message == await rx.from_iterable(before).pipe(to_msg())
        assert await rx.from_iterable(rest).pipe(to_msg(seed=snapshot.checkpoint)) == whole
        assert events_of(await read_all(log, after=gap.cursor)) == rest


async def settled(log: EventLog) -> None:
    """Wait until what is too old has gone."""
    while True:
        first, *_ = await log.read(ANN)
        if isinstance(first, Gap) and len(await read_all(log)) <= 1 + 25:
            return
        await asyncio.sleep(0.01)


UNKNOWN = ("1-1", "x", "-", "1700000000000000-1", "9" * 30 + "-1", "07-1", "1-1\n", "é")


@pytest.mark.asyncio
@pytest.mark.parametrize("cursor", UNKNOWN)
async def test_a_cursor_that_is_none_of_the_stream_is_a_gap_and_then_everything(
    log: EventLog, cursor: str
) -> None:
    assert await log.read(ANN, cursor) == (Gap(cursor, START),)
    await log.append(ANN, deltas(3))
    records = await log.read(ANN, cursor)

    assert gap_of(records) == Gap(cursor, START)
    assert events_of(records[1:]) == deltas(3)


@pytest.mark.asyncio
async def test_a_cursor_of_another_session_is_a_gap(log: EventLog) -> None:
    other = StreamKey("bob", "monday")
    cursors = await log.append(other, deltas(3))
    await log.append(ANN, deltas(3, first=10))

    assert gap_of(await log.read(ANN, cursors[1])).snapshots == ()
    assert events_of((await log.read(ANN, cursors[1]))[1:]) == deltas(3, first=10)


@pytest.mark.asyncio
async def test_a_cursor_of_what_was_deleted_is_a_gap_also_where_there_is_more_again(
    log: EventLog,
) -> None:
    cursors = await log.append(ANN, deltas(3))
    assert await log.delete(ANN) is True
    assert await log.read(ANN) == ()
    again = await log.append(ANN, deltas(5, first=10))

    assert not set(cursors) & set(again)
    for cursor in cursors:
        records = await log.read(ANN, cursor)
        assert gap_of(records) == Gap(cursor, START)
        assert events_of(records[1:]) == deltas(5, first=10)


@pytest.mark.asyncio
async def test_a_stream_that_nobody_writes_is_dropped(backend: Backend) -> None:
    log = backend.open(ttl=0.2)
    cursors = await log.append(ANN, deltas(3))
    other = StreamKey("bob", "monday")
    async with asyncio.timeout(20):
        while await log.end(ANN) != START:
            await log.append(other, deltas(1))
            await asyncio.sleep(0.02)

    assert await log.read(ANN, cursors[-1]) == (Gap(cursors[-1], START),)
    assert len(await log.read(other)) > 1


# Following.


@pytest.mark.asyncio
async def test_a_follower_gets_what_there_is_and_what_comes(log: EventLog) -> None:
    cursors = await log.append(ANN, deltas(3))
    async with log.follow(ANN, cursors[0]) as pages:
        assert events_of(await anext(pages)) == deltas(2, first=2)
        waiting = asyncio.ensure_future(anext(pages))
        await asyncio.sleep(0.02)
        assert not waiting.done()
        written = await log.append(ANN, deltas(2, first=4))
        assert events_of(await waiting) == deltas(2, first=4)
        assert pages.cursor == written[-1]
        assert pages.behind == 0


@pytest.mark.asyncio
async def test_who_follows_a_stream_that_is_not_there_yet_gets_all_of_it(log: EventLog) -> None:
    async with log.follow(ANN) as pages:
        first = asyncio.ensure_future(anext(pages))
        await asyncio.sleep(0.02)
        await log.append(ANN, deltas(2))
        assert events_of(await first) == deltas(2)


@pytest.mark.asyncio
async def test_what_another_log_writes_is_followed(lasting: Backend) -> None:
    reader, writer = lasting.open(), lasting.open()
    async with reader.follow(ANN) as pages:
        for number in range(1, 6):
            await writer.append(ANN, [delta(number)])
            assert events_of(await anext(pages)) == [delta(number)]


@pytest.mark.asyncio
async def test_who_follows_what_is_deleted_gets_a_gap_and_what_comes_then(backend: Backend) -> None:
    log, other = backend.open(), backend.open()
    await log.append(ANN, deltas(3))
    async with log.follow(ANN) as pages:
        assert len(await anext(pages)) == 3
        cursor = pages.cursor
        await other.delete(ANN)
        await other.append(ANN, deltas(5, first=10))
        records: list[Record] = []
        while len(records) < 6:
            records += await anext(pages)
    gap = next(record for record in records if isinstance(record, Gap))
    assert gap == Gap(cursor, START)
    assert events_of(record for record in records if isinstance(record, Logged)) == deltas(5, first=10)


@pytest.mark.asyncio
@pytest.mark.parametrize("turns", [0, 1, 2, 5, 1000])
async def test_a_follower_that_is_closed_ends_and_so_does_who_waits_for_it(log: EventLog, turns: int) -> None:
    pages = log.follow(ANN)
    waiting = asyncio.ensure_future(anext(pages, None))
    for _ in range(turns):
        await asyncio.sleep(0)
    await pages.aclose()

    assert await asyncio.wait_for(waiting, 20) is None
    assert [page async for page in pages] == []


@pytest.mark.asyncio
async def test_a_wait_that_is_cancelled_loses_nothing(log: EventLog) -> None:
    records: list[Record] = []
    async with log.follow(ANN) as pages:
        for number in range(1, 20):
            waiting = asyncio.ensure_future(anext(pages))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            records += [] if waiting.cancelled() else waiting.result()
            await log.append(ANN, [delta(number)])
        while len(records) < 19:
            records += await anext(pages)
        assert events_of(records) == deltas(19)


@pytest.mark.asyncio
async def test_many_follow_one_writer_and_each_gets_everything_once(log: EventLog) -> None:
    events = deltas(200)
    followers = [asyncio.ensure_future(take(log, 200)) for _ in range(30)]
    for event in events:
        await log.append(ANN, [event])

    for records in await asyncio.wait_for(asyncio.gather(*followers), 30):
        assert events_of(records) == events


@pytest.mark.asyncio
async def test_readers_share_the_bytes(log: EventLog) -> None:
    """But for the first, which each reads for itself."""
    async with log.follow(ANN) as one, log.follow(ANN) as other, asyncio.timeout(20):
        for number in itertools.count(1):
            await log.append(ANN, [delta(number)])
            (left,), (right,) = await anext(one), await anext(other)
            if logged(left).data is logged(right).data and number > 1:
                break


def test_loops_and_threads_may_share_a_log(backend: Backend) -> None:
    log = backend.open()
    read: list[list[Any]] = []

    async def follow() -> None:
        read.append(events_of(await take(log, 50)))

    async def write() -> None:
        for number in range(1, 51):
            await log.append(ANN, [delta(number)])

    threads = [threading.Thread(target=asyncio.run, args=(work(),)) for work in (follow, follow, write)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert read == [deltas(50)] * 2


# No hole and no double, at any timing.


@pytest.mark.asyncio
@pytest.mark.parametrize("seed", range(8))
async def test_whenever_followers_come_and_go_each_event_comes_once(backend: Backend, seed: int) -> None:
    """Writers, and readers that come, stop, resume at their cursor and dawdle, in an order by chance."""
    chance = random.Random(seed)
    logs = [backend.open(max_len=10_000) for _ in range(2)]
    total = 150

    async def write() -> None:
        number = 1
        while number <= total:
            batch = deltas(min(chance.randint(1, 4), total + 1 - number), number)
            await chance.choice(logs).append(ANN, batch)
            number += len(batch)
            if chance.random() < 0.5:
                await asyncio.sleep(chance.choice((0, 0, 0.001)))

    async def follow() -> list[Record]:
        records: list[Record] = []
        while len(records) < total:
            after = records[-1].cursor if records else START
            async with chance.choice(logs).follow(ANN, after, limit=chance.choice((1, 3, 1000))) as pages:
                for _ in range(chance.randint(1, 20)):
                    records += await anext(pages)
                    if chance.random() < 0.3:
                        await asyncio.sleep(chance.choice((0, 0.001, 0.003)))
                    if len(records) >= total:
                        break
        return records

    async with asyncio.timeout(60):
        _, *read = await asyncio.gather(write(), *(follow() for _ in range(5)))
    for records in read:
        assert events_of(records) == deltas(total)


@pytest.mark.asyncio
@pytest.mark.parametrize("seed", range(4))
async def test_however_little_is_kept_every_reader_ends_with_the_same_message(
    backend: Backend, seed: int
) -> None:
    """Readers that fall behind get gaps; what the snapshots and the rest fold to is what was written."""
    chance = random.Random(seed)
    log, events = backend.open(max_len=8), text_reply(200)
    whole = await rx.from_iterable(events).pipe(to_msg())

    async def write() -> None:
        for event in events:
            await log.append(ANN, [event])
            if chance.random() < 0.1:
                await asyncio.sleep(0.001)
        over.set()

    over = asyncio.Event()

    async def follow(late: bool) -> tuple[Any, int]:
        if late:
            await over.wait()
        fold, gaps = ReplyFold("r1"), 0
        async with log.follow(ANN, limit=2) as pages:
            async for page in pages:
                for record in page:
                    if isinstance(record, Logged):
                        fold.apply(record.decode())
                    else:
                        gaps += 1
                        (snapshot,) = record.snapshots
                        fold = ReplyFold("r1", seed=snapshot.checkpoint)
                if fold.complete:
                    return fold.message(), gaps
                await asyncio.sleep(chance.choice((0, 0, 0.01)))
        raise AssertionError

    async with asyncio.timeout(60):
        _, *read = await asyncio.gather(write(), *(follow(late) for late in (False, False, False, True)))
    assert [message for message, _ in read] == [whole] * 4
    assert sum(gaps for _, gaps in read) > 0


# Memory and the end.


@pytest.mark.asyncio
async def test_a_reader_that_stops_keeps_nothing(log: EventLog) -> None:
    async with log.follow(ANN, limit=5) as stopped:
        await log.append(ANN, deltas(1))
        await anext(stopped)
        for first in range(2, 5_000, 500):
            await log.append(ANN, deltas(500, first))
        records: list[Record] = []
        while len(records) < 5_000:
            records += await anext(stopped)
        assert events_of(records) == deltas(5_000, first=2)


@pytest.mark.asyncio
async def test_what_nobody_follows_any_more_is_let_go(log: EventLog) -> None:
    async with log.follow(ANN) as pages:
        await log.append(ANN, deltas(1))
        await anext(pages)
        tail = ref(log._tails.of(ANN))  # type: ignore[attr-defined]
        assert tail() is not None
    del pages
    async with asyncio.timeout(10):
        while tail() is not None:
            gc.collect()
            await asyncio.sleep(0.05)


@pytest.mark.asyncio
async def test_a_log_that_is_closed_says_so_also_to_who_follows(backend: Backend) -> None:
    log = backend.open()
    await log.append(ANN, deltas(1))
    pages = log.follow(ANN)
    await anext(pages)
    waiting = asyncio.ensure_future(anext(pages))
    await asyncio.sleep(0.02)
    await log.close()
    await log.close()

    with pytest.raises(LogError, match="the log is closed; make another one"):
        await asyncio.wait_for(waiting, 5)
    for use in (log.append(ANN, deltas(1)), log.read(ANN), log.end(ANN), log.delete(ANN)):
        with pytest.raises(LogError, match="the log is closed; make another one"):
            await use
