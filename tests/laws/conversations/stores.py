"""A store whose states are JSON, and which takes its time."""

import asyncio

from agentscope_rx import wire
from agentscope_rx.state import AgentState
from agentscope_rx.store import ABSENT, StateKey, Versioned

__all__ = ["JsonStore"]


class JsonStore:
    """Keeps each state as the bytes that another process would read."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._states: dict[StateKey, tuple[bytes, int]] = {}

    async def load(self, key: StateKey) -> Versioned | None:
        """Read what is stored."""
        await asyncio.sleep(self._delay)
        if key not in self._states:
            return None
        text, version = self._states[key]
        return Versioned(wire.loads(AgentState, text, wire.UNLIMITED), str(version))

    async def save(
        self, key: StateKey, state: AgentState, expected: str | None, *, durable: bool = True
    ) -> str:
        """Write a state, if `expected` is the version that is stored."""
        text = wire.dumps(state)
        await asyncio.sleep(self._delay)
        _, version = self._states.get(key, (b"", 0))
        if expected is not None and expected != (str(version) if version else ABSENT):
            raise AssertionError(f"{key} has version {version}, not {expected}")
        self._states[key] = text, version + 1
        return str(version + 1)

    async def delete(self, key: StateKey) -> bool:
        """Remove what is stored."""
        return self._states.pop(key, None) is not None

    async def list_sessions(self, user_id: str | None) -> tuple[StateKey, ...]:
        """Return what is stored of a user."""
        return tuple(sorted(key for key in self._states if key.user_id == user_id))

    async def close(self) -> None:
        """Forget everything."""
        self._states.clear()
