"""The state of a session while a call works on it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from inspect import iscoroutine
from typing import final

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.state._agent_state import AgentState

__all__ = ["SessionState"]


@final
class SessionState:
    """Holds the state of one session during one call; hooks and tools read and change it here.

    `ctx.get(SessionState)` in a hook, or a parameter of this type in a tool. What a call leaves in it is
    saved with the session. The context and the checkpoint are the fold's: the call writes them over.

    1. `value` is a frozen snapshot.
    2. `update` replaces it, also from a tool's thread; changes are applied one after the other, none is lost.
    """

    def __init__(self, value: AgentState) -> None:
        self._lock = threading.Lock()
        self._value = value

    @property
    def value(self) -> AgentState:
        """The state as it is now."""
        return self._value

    def update(self, change: Callable[[AgentState], AgentState]) -> AgentState:
        """Replace the state by what `change` makes of it, and return that.

        Errors: what `change` raises; `ConfigurationError` if it returns no state. Then nothing is replaced.
        """
        with self._lock:
            changed = change(self._value)
            if not isinstance(changed, AgentState):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
                raise _refused(changed)
            self._value = changed
            return changed

    def __repr__(self) -> str:
        return f"SessionState({self._value!r})"


def _refused(changed: object) -> ConfigurationError:
    if iscoroutine(changed):
        changed.close()  # pyright: ignore[reportUnknownMemberType] - it is of no type that is known
        return ConfigurationError("the change of a state is an async function; give a plain one")
    return ConfigurationError(
        f"the change of a state returned {changed!r}; return an AgentState, as evolve(state, summary='…')"
    )
