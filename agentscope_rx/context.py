"""What one agent call knows about whom it serves; passed explicitly to every hook and tool."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeAlias, TypeVar, final

from attrs import field, frozen

from agentscope_rx._repr import Brief
from agentscope_rx.message import FrozenDict

__all__ = ["Place", "RuntimeContext", "at_work_for", "places_of_this_tool"]

T = TypeVar("T")

Place: TypeAlias = tuple[int, str | None, str | None]
"""A session of one agent object: its identity, the user, the session."""


@final
@frozen
class RuntimeContext(Brief):
    """Whom a call serves, and what the application wants its hooks and tools to have.

    Attributes:
        session_id: the conversation; None is the agent's default one.
        user_id: the user; None where there is only one.
        attributes: by name, anything.
        objects: values that tools and hooks get by their type: `ctx.get(Database)`.
        inside: the sessions whose calls wait for this one; kept by the agents, so that a call that would
            wait for itself is an error and not a deadlock.
    """

    session_id: str | None = None
    user_id: str | None = None
    attributes: Mapping[str, Any] = field(factory=FrozenDict, converter=FrozenDict, hash=False, repr=False)
    objects: tuple[Any, ...] = field(default=(), converter=tuple, hash=False, repr=False)
    inside: frozenset[Place] = field(default=frozenset(), kw_only=True, eq=False, repr=False)

    def get(self, cls: type[T]) -> T | None:
        """Return the object of exactly that type, else the first of a subtype, else None."""
        exact = next((item for item in self.objects if type(item) is cls), None)
        return exact if exact is not None else next((i for i in self.objects if isinstance(i, cls)), None)


_places: Final[ContextVar[frozenset[Place]]] = ContextVar("agentscope_rx_places", default=frozenset())


@contextmanager
def at_work_for(ctx: RuntimeContext) -> Generator[None]:
    """Mark the tasks and threads that are started in the block: the sessions of `ctx` wait for them."""
    token = _places.set(_places.get() | ctx.inside)
    try:
        yield
    finally:
        _places.reset(token)


def places_of_this_tool() -> frozenset[Place]:
    """Return the sessions that wait for the tool whose code this is; none outside of tools."""
    return _places.get()
