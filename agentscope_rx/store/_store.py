"""What a store of sessions does."""

from __future__ import annotations

import os
from reprlib import repr as short_repr
from typing import Final, Protocol, final

from attrs import field, frozen

from agentscope_rx._check import a, a_str, a_str_or_none
from agentscope_rx._storage import joined
from agentscope_rx.errors import StateConflictError
from agentscope_rx.state import AgentState

__all__ = ["ABSENT", "AgentStateStore", "StateKey", "Versioned", "check_version", "new_version"]

ABSENT: Final = ""
"""The version of what is not stored."""


@final
@frozen(order=True)
class StateKey:
    """Whose state: names of any characters and of any length.

    Attributes:
        user_id: the user; None where there is only one, which no user is called.
        session_id: the conversation.
        agent_name: the agent, of which each has a state of its own in a conversation.
    """

    user_id: str | None = field(validator=a_str_or_none, converter=joined, order=lambda user: user or "")
    session_id: str = field(validator=a_str, converter=joined)
    agent_name: str = field(validator=a_str, converter=joined)

    def __str__(self) -> str:
        user = "" if self.user_id is None else f" of user {short_repr(self.user_id)}"
        return f"session {short_repr(self.session_id)}{user} with agent {short_repr(self.agent_name)}"


@final
@frozen
class Versioned:
    """A state as it is stored.

    Attributes:
        state: the state.
        version: what to `save` the next one over; it never comes again, also not after a `delete`.
    """

    state: AgentState = field(validator=a(AgentState))
    version: str = field(validator=a_str)


class AgentStateStore(Protocol):
    """Keeps the states of sessions.

    May be used from any event loop, thread and process at once. Cancelling a method that waits leaves open
    whether it still happens, but never half of it.

    Errors: `StateError` of all methods of a store that is closed.
    """

    async def load(self, key: StateKey) -> Versioned | None:
        """Return what is stored; None only if nothing was stored, or it was deleted.

        Errors: `StateLoadError` if it cannot be reached or read.
        """
        ...

    async def save(
        self, key: StateKey, state: AgentState, expected: str | None, *, durable: bool = True
    ) -> str:
        """Store a state in the place of the one of version `expected`, and return its version.

        1. `ABSENT` as `expected` means that nothing is stored; None means whatever is stored.
        2. When it returns, no kill of a process undoes it; with `durable`, no loss of power either, as far
           as the store can say. Where it fails, the state before is stored, or this one, and nothing else.

        Errors: `StateConflictError` if another version is stored; `StateSaveError` if it cannot be written;
        `ConfigurationError` if the state is of another session.
        """
        ...

    async def delete(self, key: StateKey) -> bool:
        """Remove what is stored, also if it cannot be read; say whether there was anything.

        Errors: `StateSaveError`.
        """
        ...

    async def list_sessions(self, user_id: str | None) -> tuple[StateKey, ...]:
        """Return what is stored of a user, in order; None is the one that has no id.

        Errors: `StateLoadError`.
        """
        ...

    async def close(self) -> None:
        """Wait for what has begun, and let go of files, threads and connections; may be called again."""
        ...


def new_version() -> str:
    """Make a version; by chance and not by counting, so that it is unique also after a delete.

    Made before it is written, so that a save that is sent again is known again.
    """
    return os.urandom(8).hex()


def check_version(key: StateKey, expected: str | None, found: str) -> None:
    """Refuse to store over a version that was not expected.

    Errors: `StateConflictError`.
    """
    if expected is None or expected == found:
        return
    if found == ABSENT:
        happened = "it was deleted since it was loaded"
    elif expected == ABSENT:
        happened = "it is there already"
    else:
        happened = "somebody else has saved it since it was loaded"
    raise StateConflictError(
        f"{key} was not saved: {happened}. Load it and begin again, or save over it with the conflict policy "
        "'overwrite'",
        expected=expected,
        found=found,
    )
