"""What only the log on a Redis server does."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterator
from uuid import uuid4

import pytest
import redis

from agentscope_rx.errors import ConfigurationError, LogAppendError, LogReadError
from agentscope_rx.log import START, RedisEventLog, StreamKey
from tests.log.logs import ANN, deltas, events_of, gap_of
from tests.redis_server import CutsAnswers, RedisServer


@pytest.fixture
def prefix() -> str:
    return uuid4().hex


@pytest.fixture
def log(redis_server: RedisServer, prefix: str) -> Iterator[RedisEventLog]:
    log = RedisEventLog(redis_server.url, prefix=prefix, max_len=4, ttl=60)
    yield log
    asyncio.run(log.close())


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_server.url) as client:
        yield client


@pytest.mark.asyncio
async def test_keys_and_ids_are_as_documented_and_end_some_time(
    log: RedisEventLog, client: redis.Redis, prefix: str
) -> None:
    stream = f"{prefix}:{{u-ann}}:monday"
    cursors = [cursor for event in deltas(10) for cursor in await log.append(ANN, [event])]
    async with asyncio.timeout(10):
        while client.xlen(stream) > 5:
            await asyncio.sleep(0.01)

    assert set(client.scan_iter(f"{prefix}*")) == {stream.encode(), f"{stream}:base".encode()}
    assert [id.decode() for id, _ in client.xrange(stream)] == cursors[-client.xlen(stream) :]
    assert all(0 < client.ttl(key) <= 60 for key in client.scan_iter(f"{prefix}*"))
    await log.delete(ANN)
    assert list(client.scan_iter(f"{prefix}*")) == []


@pytest.mark.asyncio
async def test_a_batch_whose_answer_was_lost_is_sent_again_and_written_once(
    redis_server: RedisServer, prefix: str
) -> None:
    between = CutsAnswers(redis_server.port)
    log = RedisEventLog(f"redis://127.0.0.1:{between.port}/0", prefix=prefix)
    cursors = await log.append(ANN, deltas(3), after=START)
    records = await log.read(ANN)
    await log.close()
    between.close()

    assert between.cut == 1
    assert events_of(records) == deltas(3)
    assert [record.cursor for record in records] == list(cursors)


@pytest.mark.asyncio
async def test_events_that_the_server_has_dropped_are_a_gap_of_which_nothing_is_known(
    log: RedisEventLog, client: redis.Redis, prefix: str
) -> None:
    cursors = await log.append(ANN, deltas(4))
    client.xtrim(f"{prefix}:{{u-ann}}:monday", maxlen=2, approximate=False)

    for after in (START, *cursors[:2]):
        records = await log.read(ANN, after)
        assert gap_of(records).snapshots == ()
        assert events_of(records[1:]) == deltas(2, first=3)


@pytest.mark.asyncio
async def test_one_connection_reads_for_all_who_follow(
    log: RedisEventLog, client: redis.Redis, prefix: str
) -> None:
    before = len(client.client_list())
    keys = [StreamKey("ann", str(number % 10)) for number in range(100)]
    followers = [log.follow(key) for key in keys]
    waiting = [asyncio.ensure_future(anext(pages)) for pages in followers]
    await asyncio.sleep(0.1)
    for key in set(keys):
        await log.append(key, deltas(2))
    for pages in await asyncio.gather(*waiting):
        assert events_of(pages) == deltas(2)

    assert len(client.client_list()) - before <= 6
    assert len([one for one in client.client_list() if one["cmd"] == "xread"]) == 1


@pytest.mark.asyncio
async def test_a_server_that_does_not_answer_is_an_error_of_ours() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    log = RedisEventLog(f"redis://127.0.0.1:{port}/0", retry=None)

    for use in (log.read(ANN), log.end(ANN), anext(log.follow(ANN))):
        with pytest.raises(LogReadError, match="could not be read: ConnectionError"):
            await use
    for use in (log.append(ANN, deltas(1)), log.delete(ANN)):
        with pytest.raises(LogAppendError, match=r"could not be (written|deleted): ConnectionError"):
            await use
    await log.close()


@pytest.mark.asyncio
async def test_a_key_of_another_type_is_an_error(
    log: RedisEventLog, client: redis.Redis, prefix: str
) -> None:
    client.set(f"{prefix}:{{u-ann}}:monday", "text")

    with pytest.raises(LogReadError, match="WRONGTYPE"):
        await log.read(ANN)
    with pytest.raises(LogAppendError, match="WRONGTYPE"):
        await log.append(ANN, deltas(1))


def test_a_wrong_address_is_refused_where_it_is_given() -> None:
    with pytest.raises(ConfigurationError, match="'http://x' is no address of Redis: Redis URL must"):
        RedisEventLog("http://x")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)

    with pytest.raises(ConfigurationError, match=r"pip install 'agentscope_rx\[redis\]'"):
        RedisEventLog()
