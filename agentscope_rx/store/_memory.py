"""Sessions in the memory of the process."""

from __future__ import annotations

from threading import Lock

from agentscope_rx.errors import StateError
from agentscope_rx.state import AgentState
from agentscope_rx.store._document import check_owner
from agentscope_rx.store._store import ABSENT, StateKey, Versioned, check_version, new_version

__all__ = ["InMemoryAgentStateStore"]


class InMemoryAgentStateStore:
    """Keeps states as they are, which costs nothing, until the process or the store ends.

    Shared by several agents, or by one that is made again and again, it is what the others are in tests.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._states: dict[StateKey, Versioned] | None = {}

    @property
    def _stored(self) -> dict[StateKey, Versioned]:
        if self._states is None:
            raise StateError("the store is closed; make another one")
        return self._states

    async def load(self, key: StateKey) -> Versioned | None:
        """Return what is stored, if anything is."""
        return self._stored.get(key)

    async def save(
        self, key: StateKey, state: AgentState, expected: str | None, *, durable: bool = True
    ) -> str:
        """Store a state, if `expected` is the version that is stored."""
        del durable
        check_owner(key, state)
        with self._lock:
            before = self._stored.get(key)
            check_version(key, expected, ABSENT if before is None else before.version)
            self._stored[key] = after = Versioned(state, new_version())
        return after.version

    async def delete(self, key: StateKey) -> bool:
        """Remove what is stored; say whether there was anything."""
        with self._lock:
            return self._stored.pop(key, None) is not None

    async def list_sessions(self, user_id: str | None) -> tuple[StateKey, ...]:
        """Return what is stored of a user."""
        with self._lock:
            return tuple(sorted(key for key in self._stored if key.user_id == user_id))

    async def close(self) -> None:
        """Forget everything."""
        self._states = None
