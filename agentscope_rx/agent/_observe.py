"""Messages that a session only takes in. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import evolve

from agentscope_rx.agent._input import given
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import Msg
from agentscope_rx.state import AgentState

__all__ = ["observable", "observing"]


def observable(msgs: str | Msg | Sequence[Msg]) -> tuple[Msg, ...]:
    """Return the messages that are to be observed.

    Errors: `ConfigurationError` for something else, and for answers to a paused reply.
    """
    found = given(msgs)
    if found.answers is not None:
        raise ConfigurationError(f"observe got {msgs!r}, which answers a reply; give answers to call(…)")
    return found.msgs


def observing(msgs: Sequence[Msg]) -> Callable[[AgentState], AgentState]:
    """Return the change of a state that takes messages in: at the end, and none twice."""

    def observed(state: AgentState) -> AgentState:
        new = {msg.id: msg for msg in reversed(msgs)}
        for msg in state.context:
            new.pop(msg.id, None)
        return evolve(state, context=(*state.context, *reversed(new.values()))) if new else state

    return observed
