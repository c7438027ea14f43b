"""A state as a JSON document, and what may go wrong with it."""

from __future__ import annotations

from typing import Any, cast

from agentscope_rx import _json, wire
from agentscope_rx.errors import ConfigurationError, StateLoadError, StateSaveError, WireError
from agentscope_rx.state import AgentState
from agentscope_rx.store._store import StateKey

__all__ = ["check_owner", "damaged", "parse_document", "read_document", "write_document"]


def check_owner(key: StateKey, state: AgentState) -> None:
    """Refuse a state of another session.

    Errors: `ConfigurationError`.
    """
    own = StateKey(state.user_id, state.session_id, key.agent_name)
    if own != key:
        raise ConfigurationError(f"the state is of {own}; it cannot be saved as {key}")


def write_document(key: StateKey, state: AgentState, **more: str) -> bytes:
    """Write a state as JSON, with some members more.

    Errors: `ConfigurationError` for a state of another session, `StateSaveError` for what JSON cannot hold.
    """
    check_owner(key, state)
    try:
        return _json.dumps(wire.to_dict(state) | more, finite=True)
    except (WireError, _json.JSONError) as error:
        raise StateSaveError(f"{key} cannot be saved: {error}") from None


def parse_document(key: StateKey, text: bytes | str) -> dict[str, Any]:
    """Read JSON text as an object.

    Errors: `StateLoadError`.
    """
    try:
        members = _json.loads(text)
    except _json.JSONError as error:
        raise damaged(key, error) from None
    if not isinstance(members, dict):
        raise damaged(key, "it is no JSON object")
    return cast("dict[str, Any]", members)


def read_document(key: StateKey, members: dict[str, Any]) -> AgentState:
    """Read a state.

    Errors: `StateLoadError`, also for a state of another session.
    """
    try:
        state = wire.from_dict(AgentState, members)
    except WireError as error:
        raise damaged(key, error) from None
    own = StateKey(state.user_id, state.session_id, key.agent_name)
    if own != key:
        raise damaged(key, f"it is the state of {own}")
    return state


def damaged(key: StateKey, problem: object) -> StateLoadError:
    """Return the error for what is stored but cannot be read."""
    return StateLoadError(f"what is stored of {key} is damaged: {problem}. Repair it, or `delete` it")
