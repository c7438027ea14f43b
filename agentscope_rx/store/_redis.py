"""Sessions in Redis, for agents on many machines."""

from __future__ import annotations

from typing import Any, Final

from agentscope_rx._storage import Threads, connect, decode, encode, encode_user, failing
from agentscope_rx.errors import StateError, StateLoadError, StateSaveError
from agentscope_rx.state import AgentState
from agentscope_rx.store._document import damaged, parse_document, read_document, write_document
from agentscope_rx.store._store import StateKey, Versioned, check_version, new_version

__all__ = ["RedisAgentStateStore"]

_THREADS: Final = 8

# KEYS: the state, the user's list; ARGV: entry of the list, version, document, and the one that is expected.
# Returns the version that is stored then. A save that the client sent twice, since the connection broke
# before the answer, finds its own, and is as good as done.
_SAVE: Final = """
local found = redis.call('HGET', KEYS[1], 'version') or ''
if ARGV[4] and found ~= ARGV[4] then
    return found
end
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'state', ARGV[3])
return ARGV[2]
"""
_DELETE: Final = """
redis.call('SREM', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1])
"""


class RedisAgentStateStore:
    """Keeps each state in a hash of its own, `<prefix>:{<user>}:<session>:<agent>`.

    1. Compare and set are one script on the server. The keys of one user are in one slot of a cluster.
    2. What was acknowledged survives what the server's configuration says: with `appendonly yes` and
       `appendfsync always` a kill and a loss of power, with `everysec` all but the last second or two, on one
       server. `durable` changes nothing.
    3. The server must not evict: a state that it has dropped is an error when it is loaded.

    States are Java's `AgentState` as JSON text, with `checkpoint` added. What there is of a user is in the
    set `<prefix>:{<user>}`. Needs the extra `redis`.
    """

    def __init__(
        self, url: str = "redis://localhost:6379/0", *, prefix: str = "agentscope:state", **options: Any
    ) -> None:
        """Keep states on the server at `url`; connects when it is needed.

        `options` are those of `redis.Redis.from_url`, as `password`, `socket_timeout` or `ssl_ca_certs`.

        Errors: `ConfigurationError` without the extra, or if the client refuses `url`.
        """
        self._client, self._error = connect("RedisAgentStateStore", url, options)
        self._save_script = self._client.register_script(_SAVE)
        self._delete_script = self._client.register_script(_DELETE)
        self._prefix = prefix
        self._threads = Threads(_THREADS, "agentscope-rx-redis", StateError, "store")

    async def load(self, key: StateKey) -> Versioned | None:
        """Return what is stored, if anything is."""
        with failing(StateLoadError, f"{key} could not be loaded", self._error):
            return await self._threads.run(self._load, key)

    async def save(
        self, key: StateKey, state: AgentState, expected: str | None, *, durable: bool = True
    ) -> str:
        """Store a state, if `expected` is the version that is stored."""
        del durable
        with failing(StateSaveError, f"{key} could not be saved", self._error):
            return await self._threads.run(self._save, key, state, expected)

    async def delete(self, key: StateKey) -> bool:
        """Remove what is stored; say whether there was anything."""
        with failing(StateSaveError, f"{key} could not be deleted", self._error):
            return await self._threads.run(self._delete, key)

    async def list_sessions(self, user_id: str | None) -> tuple[StateKey, ...]:
        """Return what is stored of a user."""
        with failing(StateLoadError, f"sessions of user {user_id!r} could not be listed", self._error):
            return await self._threads.run(self._list, user_id)

    async def close(self) -> None:
        """Wait for what has begun, close the connections, and end the threads."""
        await self._threads.close()
        self._client.close()

    def _keys(self, key: StateKey) -> tuple[list[str], str]:
        """Return the keys that the scripts are given, and the entry in the list."""
        entry = f"{encode(key.session_id)}:{encode(key.agent_name)}"
        sessions = self._list_key(key.user_id)
        return [f"{sessions}:{entry}", sessions], entry

    def _list_key(self, user_id: str | None) -> str:
        return f"{self._prefix}:{{{encode_user(user_id)}}}"

    def _load(self, key: StateKey) -> Versioned | None:
        (state, sessions), entry = self._keys(key)
        with self._client.pipeline(transaction=True) as both:
            both.hmget(state, "version", "state")
            both.sismember(sessions, entry)
            (version, text), listed = both.execute()
        if version is None and text is None:
            if listed:
                raise StateLoadError(
                    f"the server has dropped what was stored of {key}; set its maxmemory-policy to noeviction"
                )
            return None
        if version is None or text is None:
            raise damaged(key, "half of it is missing")
        return Versioned(read_document(key, parse_document(key, text)), version.decode(errors="replace"))

    def _save(self, key: StateKey, state: AgentState, expected: str | None) -> str:
        version, document = new_version(), write_document(key, state)
        keys, entry = self._keys(key)
        condition = [] if expected is None else [expected]
        found = self._save_script(keys, [entry, version, document, *condition]).decode()
        if found != version:
            check_version(key, expected, found)
        return version

    def _delete(self, key: StateKey) -> bool:
        keys, entry = self._keys(key)
        return bool(self._delete_script(keys, [entry]))

    def _list(self, user_id: str | None) -> tuple[StateKey, ...]:
        entries = (entry.decode().split(":") for entry in self._client.smembers(self._list_key(user_id)))
        return tuple(sorted(StateKey(user_id, *map(decode, entry)) for entry in entries))
