"""One call's hold on the state of its session."""

from __future__ import annotations

import asyncio

from agentscope_rx._repr import Name
from agentscope_rx.errors import ConfigurationError, StateConflictError, StateSaveError
from agentscope_rx.state import AgentState
from agentscope_rx.store._store import ABSENT, AgentStateStore, StateKey

__all__ = ["ConflictPolicy", "StateSlot"]


class ConflictPolicy(Name):
    """What to do if somebody else has saved a session since it was loaded: fail, or save over it."""

    FAIL = "fail"
    OVERWRITE = "overwrite"


class StateSlot:
    """Loads and saves the state of one session, and knows the version; one for each call, on one event loop.

    1. Saves happen one after the other, in the order in which they were asked for.
    2. Whoever waits for a save may be cancelled: it still happens, and the next one knows its version.
    3. A save that failed, or was cancelled itself, may have happened all the same: what it has stored is no
       conflict for the next one.
    """

    def __init__(
        self, store: AgentStateStore, key: StateKey, on_conflict: ConflictPolicy | str = ConflictPolicy.FAIL
    ) -> None:
        try:
            self._policy = ConflictPolicy(on_conflict)
        except ValueError:
            raise ConfigurationError(f"on_conflict={on_conflict!r}; give 'fail' or 'overwrite'") from None
        self.key = key
        self.version = ABSENT
        self._store = store
        self._newest: asyncio.Task[None] | None = None
        self._doubtful: list[AgentState] = []

    async def load(self) -> AgentState | None:
        """Return what is stored, if anything is.

        Errors: `StateLoadError`.
        """
        stored = await self._store.load(self.key)
        self.version = ABSENT if stored is None else stored.version
        return None if stored is None else stored.state

    async def save(self, state: AgentState, *, durable: bool = True) -> None:
        """Store the state in the place of what was loaded or saved last; under `overwrite`, of anything.

        Errors: `StateConflictError`, `StateSaveError`.
        """
        saving = asyncio.ensure_future(self._after(self._newest, state, durable))
        self._newest = saving
        try:
            await asyncio.shield(saving)
        except asyncio.CancelledError as cancelled:
            waiting = asyncio.current_task()
            if saving.cancelled() and (waiting is None or not waiting.cancelling()):  # the store's doing
                raise StateSaveError(f"{self.key} was not saved: the store gave up") from cancelled
            raise

    async def _after(self, earlier: asyncio.Task[None] | None, state: AgentState, durable: bool) -> None:
        if earlier is not None:
            await asyncio.wait([earlier])
        try:
            self.version = await self._save(state, durable)
        except BaseException:
            self._doubtful.append(state)
            raise
        self._doubtful.clear()

    async def _save(self, state: AgentState, durable: bool) -> str:
        if self._policy is ConflictPolicy.OVERWRITE:
            return await self._store.save(self.key, state, None, durable=durable)
        try:
            return await self._store.save(self.key, state, self.version, durable=durable)
        except StateConflictError:
            stored = await self._store.load(self.key) if self._doubtful else None
            if stored is None or stored.state not in self._doubtful:
                raise
            return await self._store.save(self.key, state, stored.version, durable=durable)
