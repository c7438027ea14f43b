"""Events in Redis Streams: the log of many machines."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

from agentscope_rx._storage import Threads, connect, encode, encode_user, failing
from agentscope_rx.errors import LogAppendError, LogError, LogReadError
from agentscope_rx.event import AgentEvent
from agentscope_rx.log._follow import Follower, check_limit
from agentscope_rx.log._log import LIMIT, MAX_LEN, TTL, check_end, check_limits, encoded
from agentscope_rx.log._page import PAGE_BYTES, Found, page
from agentscope_rx.log._records import START, Logged, Record, StreamKey, is_cursor, make_cursor
from agentscope_rx.log._redis_append import Append, Appends
from agentscope_rx.log._redis_scripts import CONDENSE, END, READ
from agentscope_rx.log._replies import condensed
from agentscope_rx.log._tail import Tail, Tails
from agentscope_rx.log._watch import Watch

__all__ = ["RedisEventLog"]

_THREADS: Final = 4
_BLOCK: Final = 1_000
"""Milliseconds that the one who reads for all waits for news."""

_AT_ONCE: Final = 512
_FIRST: Final = "0-0"


class RedisEventLog:
    """Keeps the events of each stream in a Redis stream, `<prefix>:{<user>}:<session>`; an entry's id is its
    cursor.

    1. Batches that come while the connection is busy are sent together. One that is sent again, since its
       answer was lost, is written once.
    2. One connection reads what is new in all streams that somebody in this process follows, for all of them.
    3. What was acknowledged survives what the server's configuration says: with `appendonly yes` and
       `appendfsync always` a kill and a loss of power, with `everysec` all but the last second or two.
       Cursors of what was lost are known as such.
    4. Of what is older, `<prefix>:{<user>}:<session>:base` keeps what it has come to.

    For one server, with replicas or without, and no cluster. Needs the extra `redis`.
    """

    def __init__(
        self,
        url: str = "redis://localhost:6379/0",
        *,
        prefix: str = "agentscope:log",
        max_len: int = MAX_LEN,
        ttl: float | None = TTL,
        **options: Any,
    ) -> None:
        """Keep events on the server at `url`; connects when it is needed.

        Of each stream about `max_len` events are kept, and a stream `ttl` seconds after its last. `options`
        are those of `redis.Redis.from_url`, as `password`, `socket_timeout` or `ssl_ca_certs`.

        Errors: `ConfigurationError` without the extra, or if the client refuses `url`.
        """
        check_limits(max_len, ttl)
        who = "RedisEventLog"
        self._client, self._error = connect(who, url, options, protocol=2)
        self._follows, _ = connect(who, url, options, protocol=2, socket_timeout=10.0)
        self._max_len = max_len
        self._prefix = prefix
        self._threads = Threads(_THREADS, "agentscope-rx-log-redis", LogError, "log")
        self._appends = Appends(who, url, options, 0 if ttl is None else max(1, int(ttl * 1e3)))
        self._condensing: set[StreamKey] = set()
        self._read_script = self._client.register_script(READ)
        self._end_script = self._client.register_script(END)
        self._condense_script = self._client.register_script(CONDENSE)
        self._tails = Tails(are_ready=False)
        self._positions: WeakKeyDictionary[Tail, str] = WeakKeyDictionary()
        self._bell = f"{prefix}:bell:{os.urandom(8).hex()}"
        self._rung = _FIRST
        self._watch = Watch("agentscope-rx-log-follow", self._tails, self._look, 0.0)

    async def append(
        self, key: StreamKey, events: Sequence[AgentEvent], *, after: str | None = None
    ) -> tuple[str, ...]:
        """Write events behind each other, and return their cursors."""
        data = encoded(events)
        if not data:
            if after is not None:
                check_end(key, after, await self.end(key))
            return ()
        with failing(LogAppendError, f"{key} could not be written", self._error):
            answer = await self._appends.append(Append(self._keys(key), data, after))
        if isinstance(answer, bytes):
            check_end(key, after, answer.decode())
            return ()
        time, first, length = map(int, answer)
        if length > self._max_len + self._max_len // 4 and key not in self._condensing:
            self._condensing.add(key)
            self._threads.submit(self._condense, key)
        return tuple(make_cursor(time, number) for number in range(first, first + len(data)))

    async def read(self, key: StreamKey, after: str = START, limit: int = LIMIT) -> tuple[Record, ...]:
        """Return what is kept after a cursor."""
        check_limit(limit)
        cursor = after if after == START or is_cursor(after) else "?"
        return page(after, await self._ask(key, self._find, key, cursor, limit))

    def follow(self, key: StreamKey, after: str = START, *, limit: int = LIMIT) -> Follower:
        """Read what is kept after a cursor, and then whatever comes."""
        return Follower(partial(self._subscribe, key), self.read, key, after, limit)

    async def end(self, key: StreamKey) -> str:
        """Return the cursor of the last event."""
        return (await self._ask(key, self._end_script, self._keys(key))).decode()

    async def delete(self, key: StreamKey) -> bool:
        """Remove a stream; say whether there was one."""
        with failing(LogAppendError, f"{key} could not be deleted", self._error):
            found = await self._threads.run(self._client.delete, *self._keys(key))
        tail = self._tails.get(key)
        if tail is not None:
            tail.clear()
        return bool(found)

    async def close(self) -> None:
        """Wait for what has begun, close the connections, and end the threads."""
        thread = self._watch.end()
        with suppress(LogError, self._error):
            await self._threads.run(self._ring)
        if thread is not None:
            await asyncio.to_thread(thread.join)
        await self._appends.close()
        await self._threads.close(self._close)
        self._tails.clear()

    def _close(self) -> None:
        for client in (self._client, self._follows):
            client.close()

    def _keys(self, key: StreamKey) -> list[str]:
        stream = f"{self._prefix}:{{{encode_user(key.user_id)}}}:{encode(key.session_id)}"
        return [stream, f"{stream}:base"]

    async def _ask(self, key: StreamKey, ask: Callable[..., Any], *args: Any) -> Any:
        with failing(LogReadError, f"{key} could not be read", self._error):
            return await self._threads.run(ask, *args)

    def _find(self, key: StreamKey, cursor: str, limit: int, condensate: bool = False) -> Found:
        arguments = [cursor, limit, PAGE_BYTES, int(condensate)]
        known, base, condensed_, entries = self._read_script(self._keys(key), arguments)
        events = [Logged(id.decode(), event) for id, event in entries]
        return Found(bool(known), events, base.decode(), condensed_)

    def _condense(self, key: StreamKey) -> None:
        # Whatever fails here is tried again at the next event.
        try:
            with suppress(self._error, OSError):
                while (count := self._client.xlen(self._keys(key)[0]) - self._max_len) > 0:
                    base = self._find(key, "?", 1).base
                    found = self._find(key, base, count, condensate=True)
                    if not found.known or not found.events:
                        return
                    end = found.events[-1].cursor
                    new = condensed(found.condensate, found.events)
                    if not self._condense_script(self._keys(key), [base, end, new]):
                        return
        finally:
            self._condensing.discard(key)

    async def _subscribe(self, key: StreamKey) -> Tail:
        tail = self._tails.of(key)
        self._watch.begin()
        while not tail.is_ready:
            mark = tail.mark
            await self._ask(key, self._ring)  # fails where the one who reads for all fails
            if not tail.is_ready:
                await tail.changed(mark)
        return tail

    def _ring(self) -> None:
        with self._client.pipeline(transaction=False) as both:
            both.xadd(self._bell, {"for": "new"}, maxlen=1, approximate=False)
            both.expire(self._bell, 60)
            both.execute()

    def _look(self) -> None:
        """Wait for what is new, and tell those who follow; the one who reads for all."""
        tails = {self._keys(key)[0].encode(): tail for key, tail in self._tails.all().items()}
        self._begin(tails)
        positions = {name: self._positions[tail] for name, tail in tails.items()}
        streams = positions | {self._bell.encode(): self._rung}
        for name, entries in self._follows.xread(streams, count=_AT_ONCE, block=_BLOCK) or ():
            last = entries[-1][0].decode()
            if name not in tails:
                self._rung = last
                continue
            tails[name].offer([Logged(id.decode(), fields[b"event"]) for id, fields in entries])
            self._positions[tails[name]] = last

    def _begin(self, tails: dict[bytes, Tail]) -> None:
        """Find out what is the last event where somebody has begun to follow: from there on we tell."""
        new = [(name, tail) for name, tail in tails.items() if tail not in self._positions]
        if not new:
            return
        with self._follows.pipeline(transaction=False) as all_:
            for name, _ in new:
                all_.xrevrange(name, count=1)
            found = all_.execute()
        for (_, tail), entries in zip(new, found, strict=True):
            self._positions[tail] = entries[0][0].decode() if entries else _FIRST
            tail.is_ready = True
            tail.wake()
