"""The state of a session while a call works on it."""

from __future__ import annotations

import threading

from attrs import evolve

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
