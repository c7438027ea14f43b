"""What only the store on a Redis server does."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import redis

from agentscope_rx.errors import ConfigurationError, StateError, StateLoadError, StateSaveError
from agentscope_rx.store import ABSENT, RedisAgentStateStore
from tests.redis_server import CutsAnswers, RedisServer, server_command
from tests.store.backends import ANN, a_state


@pytest.fixture
def prefix() -> str:
    return uuid4().hex


@pytest.fixture
def store(redis_server: RedisServer, prefix: str) -> Iterator[RedisAgentStateStore]:
    store = RedisAgentStateStore(redis_server.url, prefix=prefix)
    yield store
    asyncio.run(store.close())


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_server.url) as client:
        yield client


@pytest.mark.asyncio
async def test_keys_are_as_documented_and_leave_nothing_behind(
    store: RedisAgentStateStore, client: redis.Redis, prefix: str
) -> None:
    version = await store.save(ANN, a_state(), ABSENT)
    mine, state = f"{prefix}:{{u-ann}}", f"{prefix}:{{u-ann}}:monday:friend"

    assert set(client.scan_iter(f"{prefix}*")) == {mine.encode(), state.encode()}
    assert client.smembers(mine) == {b"monday:friend"}
    assert client.hget(state, "version") == version.encode()
    await store.delete(ANN)
    assert list(client.scan_iter(f"{prefix}*")) == []


@pytest.mark.asyncio
async def test_a_save_whose_answer_was_lost_is_sent_again_and_is_no_conflict(
    redis_server: RedisServer, prefix: str
) -> None:
    between = CutsAnswers(redis_server.port)
    store = RedisAgentStateStore(f"redis://127.0.0.1:{between.port}/0", prefix=prefix)
    version = await store.save(ANN, a_state(ANN, 1), ABSENT)
    stored = await store.load(ANN)
    await store.close()
    between.close()

    assert between.cut == 1
    assert stored is not None
    assert (stored.version, stored.state) == (version, a_state(ANN, 1))


@pytest.mark.asyncio
async def test_a_state_that_the_server_has_evicted_is_an_error_and_no_empty_session(
    store: RedisAgentStateStore, client: redis.Redis, prefix: str
) -> None:
    await store.save(ANN, a_state(), ABSENT)
    client.delete(f"{prefix}:{{u-ann}}:monday:friend")

    with pytest.raises(StateLoadError, match="set its maxmemory-policy to noeviction"):
        await store.load(ANN)


@pytest.mark.asyncio
async def test_half_a_state_or_another_type_is_damage(
    store: RedisAgentStateStore, client: redis.Redis, prefix: str
) -> None:
    key = f"{prefix}:{{u-ann}}:monday:friend"
    await store.save(ANN, a_state(), ABSENT)
    client.hdel(key, "version")
    with pytest.raises(StateLoadError, match="half of it is missing"):
        await store.load(ANN)
    client.delete(key)
    client.set(key, "text")
    with pytest.raises(StateLoadError, match="WRONGTYPE"):
        await store.load(ANN)
    with pytest.raises(StateSaveError, match="WRONGTYPE"):
        await store.save(ANN, a_state(), None)
    assert await store.delete(ANN) is True


@pytest.mark.asyncio
async def test_a_server_that_does_not_answer_is_an_error_of_ours() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    store = RedisAgentStateStore(f"redis://127.0.0.1:{port}/0", retry=None)

    for use in (store.load(ANN), store.list_sessions("ann")):
        with pytest.raises(StateLoadError, match=r"could not be (loaded|listed): ConnectionError"):
            await use
    for use in (store.save(ANN, a_state(), ABSENT), store.delete(ANN)):
        with pytest.raises(StateSaveError, match=r"could not be (saved|deleted): ConnectionError"):
            await use
    await store.close()


def test_a_wrong_address_is_refused_where_it_is_given() -> None:
    with pytest.raises(ConfigurationError, match="'http://x' is no address of Redis: Redis URL must"):
        RedisAgentStateStore("http://x")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)

    with pytest.raises(ConfigurationError, match=r"pip install 'agentscope_rx\[redis\]'"):
        RedisAgentStateStore()


def test_a_killed_server_has_all_that_was_acknowledged(tmp_path: Path) -> None:
    server_command()
    server = RedisServer(tmp_path)
    acknowledged: list[int] = []

    async def save_until_it_dies() -> None:
        store = RedisAgentStateStore(server.url, retry=None)
        version = ABSENT
        try:
            while True:
                version = await store.save(ANN, a_state(ANN, len(acknowledged) + 1), version)
                acknowledged.append(len(acknowledged) + 1)
        except StateError:
            await store.close()

    async def look() -> int:
        store = RedisAgentStateStore(server.url)
        stored = await store.load(ANN)
        await store.close()
        return 0 if stored is None else stored.state.cur_iter

    worker = threading.Thread(target=asyncio.run, args=(save_until_it_dies(),))
    worker.start()
    try:
        while len(acknowledged) < 50 and worker.is_alive():
            worker.join(0.01)
        server.kill()
        worker.join()
        server.start()
        assert asyncio.run(look()) in (acknowledged[-1], acknowledged[-1] + 1)
    finally:
        server.kill()
