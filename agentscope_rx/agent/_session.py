"""One conversation of an agent, and one call's stay in it."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

from agentscope_rx.agent._adopt import adopted
from agentscope_rx.agent._gate import Gate
from agentscope_rx.agent._run import Run
from agentscope_rx.context import RuntimeContext
from agentscope_rx.state import AgentState, SessionState
from agentscope_rx.store import StateKey, StateSlot

__all__ = ["Session", "Sessions", "Stay"]


class Session:
    """One conversation: its gate, its state as it was last known here, and the call that runs.

    Attributes:
        gate: calls come in one after the other.
        state: what it remembers; where there is a store, the newest that this process has seen.
        inside: who has its turn, until what it has made is kept.
    """

    def __init__(self, state: AgentState) -> None:
        self.gate = Gate()
        self.state = state
        self.inside: Stay | None = None


class Sessions:
    """The sessions of an agent by user and id.

    With a `limit` only the newest are remembered, and those that somebody holds; without one, all are. Two
    names that a store cannot tell apart are one session.

    Attributes:
        fresh: makes the state of a session that has just begun.
    """

    def __init__(self, fresh: Callable[[RuntimeContext], AgentState], limit: int | None) -> None:
        self.fresh = fresh
        self._lock = threading.Lock()
        self._held: WeakValueDictionary[StateKey, Session] = WeakValueDictionary()
        self._remembered: deque[Session] = deque(maxlen=limit)

    def get(self, ctx: RuntimeContext) -> Session:
        """Return the session of a context; a new one, if there is none."""
        key = StateKey(ctx.user_id, ctx.session_id or "", "")
        with self._lock:
            session = self._held.get(key)
            if session is None:
                session = self._held[key] = Session(self.fresh(ctx))
                self._remembered.append(session)
            return session


class Stay:
    """One call's stay in a session: it has the state, and keeps what becomes of it.

    Attributes:
        loop: the event loop that it lives on.
        state: the session's state while the call stays.
    """

    def __init__(self, session: Session, slot: StateSlot | None, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.state = SessionState(session.state)
        self.slot = slot
        self._session = session
        self._run: Run | None = None
        self._wanted: list[Callable[[Run | None], None]] = []
        self._before = session.state
        self.write: Callable[[], Awaitable[None]] | None = None if slot is None else self._write

    def enter(self) -> None:
        """Take the state as the call before has left it."""
        self._session.inside = self
        self._before = self._session.state
        self.state = SessionState(self._before)

    async def load(self, fresh: AgentState) -> None:
        """Bring the state from its slot; `fresh`, if there is none.

        Errors: `StateLoadError`.
        """
        assert self.slot is not None
        self._before = await self.slot.load() or fresh
        self._session.state = self._before
        self.state = SessionState(adopted(self._before))

    def with_run(self, action: Callable[[Run | None], None]) -> None:
        """Do something with the call that works in here, once it does; with None, if none ever has.

        On the loop of the stay only.
        """
        if self._run is None:
            self._wanted.append(action)
        else:
            action(self._run)

    def begin(self, run: Run) -> None:
        """Let a call work on the state."""
        self._run = run
        self._tell(run)

    def keep(self) -> None:
        """Keep the state in memory, and let nobody reach the call any more."""
        self._session.state = self._newest
        self._session.inside = None

    @property
    def writes_itself(self) -> bool:
        """Whether it is a call over a store, of which only what comes late is stored behind its end."""
        return self.slot is not None and self._run is not None

    def left(self, unsaved: Exception | None) -> None:
        """Say that the session is free again; to those who came late, that it could not be stored."""
        run = self._run
        if run is not None and unsaved is not None:
            run.over.on_error(unsaved)
        elif run is not None:
            run.over.on_next(run.last)
            run.over.on_completed()
        self._tell(None)

    def _tell(self, run: Run | None) -> None:
        wanted, self._wanted = self._wanted, []
        for action in wanted:
            action(run)

    async def _write(self) -> None:
        if self._run is not None:
            await self._run.write()
        elif self.slot is not None and self._newest is not self._before:
            await self.slot.save(self._newest)

    @property
    def reply_id(self) -> str | None:
        """The reply that the call works on, once it does."""
        return None if self._run is None else self._run.reply_id

    @property
    def _newest(self) -> AgentState:
        return self.state.value if self._run is None else self._run.saved()
