"""What was acknowledged is there, whoever is killed and when."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from agentscope_rx.errors import LogError
from agentscope_rx.log import START, EventLog, Logged, RedisEventLog, StreamKey
from agentscope_rx.operators import ReplyFold
from tests.log.child import CUTS, EVENTS
from tests.log.logs import ANN, LASTING, Backend, delta, deltas, events_of, make, read_all, take
from tests.redis_server import RedisServer, server_command

ROOT: Final = Path(__file__).parent.parent.parent


@pytest.fixture(params=LASTING)
def lasting(request: pytest.FixtureRequest) -> Iterator[Backend]:
    yield from make(request.param, request)


def killed(backend: Backend, mode: str) -> dict[str, int]:
    """How often each session was acknowledged."""
    command = [sys.executable, "-m", "tests.log.child", mode, backend.kind, backend.place]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert (child.returncode, child.stderr) == (0, "")
    return {name: int(count) for name, count in (line.split() for line in child.stdout.splitlines())}


def test_a_process_that_is_killed_between_any_two_lines_has_written_all_or_nothing(lasting: Backend) -> None:
    acknowledged = killed(lasting, "at every line")

    async def found(log: EventLog, name: str) -> int:
        """How many of the batches there are; each of them whole."""
        key, fold = StreamKey("ann", name), ReplyFold("r1")
        for record in await read_all(log, key):
            if isinstance(record, Logged):
                fold.apply(record.decode())
            else:
                (snapshot,) = record.snapshots
                fold = ReplyFold("r1", seed=snapshot.checkpoint)
        whole = [ReplyFold("r1") for _ in CUTS]
        for wanted, cut in zip(whole, CUTS, strict=True):
            for event in EVENTS[:cut]:
                wanted.apply(event)
        await log.append(key, deltas(1), after=await log.end(key))
        return [wanted.message() for wanted in whole].index(fold.message())

    async def look() -> list[int]:
        log = lasting.open()
        return [await found(log, name) - count for name, count in acknowledged.items()]

    assert len(acknowledged) >= 30
    assert set(asyncio.run(look())) == {0, 1}, "some are killed before it is written, some behind"


def test_a_process_that_is_killed_at_any_time_has_lost_nothing(lasting: Backend) -> None:
    acknowledged = killed(lasting, "at any time")

    async def look() -> None:
        log = lasting.open()
        for name, count in acknowledged.items():
            events = events_of(await read_all(log, StreamKey("ann", name)))
            assert events == deltas(len(events))
            assert len(events) - count in (0, 1)

    asyncio.run(look())
    assert sum(acknowledged.values()) > 10, "they had time to write something"


def test_a_server_that_is_killed_has_what_it_acknowledged_and_followers_go_on(tmp_path: Path) -> None:
    server_command()
    server = RedisServer(tmp_path)
    acknowledged: list[str] = []
    broken = threading.Event()

    async def write_and_follow() -> None:
        log = RedisEventLog(server.url)
        following = asyncio.ensure_future(take(log, 10**9))
        try:
            while True:
                acknowledged.extend(await log.append(ANN, [delta(len(acknowledged) + 1)]))
        except LogError:
            broken.set()
        with pytest.raises(LogError, match="could not be read: ConnectionError"):
            await following
        await log.close()

    async def look() -> None:
        log = RedisEventLog(server.url)
        records = await read_all(log)
        assert [record.cursor for record in records[: len(acknowledged)]] == acknowledged
        assert len(records) - len(acknowledged) in (0, 1)
        middle = len(acknowledged) // 2
        assert events_of(await take(log, len(records) - middle, after=acknowledged[middle - 1])) == deltas(
            len(records) - middle, first=middle + 1
        )
        await log.close()

    worker = threading.Thread(target=asyncio.run, args=(write_and_follow(),))
    worker.start()
    try:
        while len(acknowledged) < 50 and worker.is_alive():
            worker.join(0.01)
        server.kill()
        assert broken.wait(30)
        worker.join(30)
        server.start()
        asyncio.run(look())
    finally:
        server.kill()
        worker.join()


def test_a_server_that_comes_back_is_followed_on(tmp_path: Path) -> None:
    server_command()
    server = RedisServer(tmp_path)

    async def run() -> None:
        log = RedisEventLog(server.url)
        await log.append(ANN, deltas(3))
        pages = log.follow(ANN, START)
        assert len(await anext(pages)) == 3
        port = server.port
        server.kill()
        server.start()
        assert server.port == port
        cursor = pages.cursor
        await log.append(ANN, deltas(2, first=4))
        while True:
            try:
                records = await anext(pages)
                break
            except LogError:
                pages = log.follow(ANN, cursor)
        while len(records) < 2:
            records += await anext(pages)
        assert events_of(records) == deltas(2, first=4)
        await log.close()

    try:
        asyncio.run(run())
    finally:
        server.kill()
