"""The state of a session while a call works on it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from attrs import evolve

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.state import AgentState, SessionState


def test_a_snapshot_stays_as_it_was_when_the_state_is_changed() -> None:
    state = SessionState(AgentState("s"))
    before = state.value
    after = state.update(lambda now: evolve(now, summary="short"))
    assert (before.summary, after.summary, state.value.summary) == ("", "short", "short")


def test_changes_from_many_threads_are_all_applied() -> None:
    state = SessionState(AgentState("s"))

    def count() -> None:
        for _ in range(500):
            state.update(lambda now: evolve(now, cur_iter=now.cur_iter + 1))

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert state.value.cur_iter == 4_000


async def waiting(state: AgentState) -> AgentState:
    return state


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda _: None, "returned None; return an AgentState"),
        (lambda state: state.context, "returned (); return an AgentState"),
        (waiting, "is an async function; give a plain one"),
        (lambda state: evolve(state, context=("hi",)), "context holds 'hi', which is no Msg"),
        (lambda state: evolve(state, context=None), "context is None"),
        (lambda state: evolve(state, cur_iter="3"), "cur_iter is '3'; give an int"),
        (lambda state: evolve(state, checkpoint=[]), "checkpoint is []; give Mapping or None"),
    ],
    ids=["nothing", "a part", "async", "a text as a message", "no context", "a text as a number", "a list"],
)
def test_a_change_that_gives_no_state_is_refused_and_changes_nothing(change: Any, words: str) -> None:
    state = SessionState(before := AgentState("s"))
    with pytest.raises(ConfigurationError) as caught:
        state.update(change)

    assert words in str(caught.value)
    assert state.value is before
