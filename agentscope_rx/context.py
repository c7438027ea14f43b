"""What one agent call knows about whom it serves; passed explicitly to every hook and tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, final

from attrs import field, frozen

from agentscope_rx._repr import Brief
from agentscope_rx.message import FrozenDict

__all__ = ["RuntimeContext"]

T = TypeVar("T")


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
    inside: frozenset[tuple[int, str | None, str | None]] = field(
        default=frozenset(), kw_only=True, eq=False, repr=False
    )

    def get(self, cls: type[T]) -> T | None:
        """Return the object of exactly that type, else the first of a subtype, else None."""
        exact = next((item for item in self.objects if type(item) is cls), None)
        return exact if exact is not None else next((i for i in self.objects if isinstance(i, cls)), None)
