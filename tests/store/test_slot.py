"""One call's hold on the state of its session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentscope_rx.errors import ConfigurationError, StateConflictError, StateSaveError
from agentscope_rx.state import AgentState
from agentscope_rx.store import ABSENT, ConflictPolicy, InMemoryAgentStateStore, StateKey, StateSlot
from tests.store.backends import ANN, a_state


class Slow(InMemoryAgentStateStore):
    """Saves when it is told to, and writes down what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.failures: list[Exception] = []
        self.saves: list[tuple[int, bool]] = []

    async def save(
        self, key: StateKey, state: AgentState, expected: str | None, *, durable: bool = True
    ) -> str:
        self.saves.append((state.cur_iter, durable))
        await self.go.wait()
        if self.failures:
            raise self.failures.pop()
        return await super().save(key, state, expected, durable=durable)


async def count_of(store: InMemoryAgentStateStore) -> int:
    stored = await store.load(ANN)
    return -1 if stored is None else stored.state.cur_iter


@pytest.mark.asyncio
async def test_a_call_loads_and_saves_and_so_does_the_next() -> None:
    store = InMemoryAgentStateStore()
    for number in range(3):
        slot = StateSlot(store, ANN)
        state = await slot.load()
        assert (None if state is None else state.cur_iter) == (number * 2 or None)
        await slot.save(a_state(ANN, number * 2 + 1))
        await slot.save(a_state(ANN, number * 2 + 2))

    assert await count_of(store) == 6


@pytest.mark.asyncio
async def test_somebody_else_in_between_is_a_conflict_until_it_is_loaded_again() -> None:
    store = InMemoryAgentStateStore()
    slot = StateSlot(store, ANN)
    await slot.load()
    await store.save(ANN, a_state(ANN, 7), ABSENT)

    for _ in range(2):
        with pytest.raises(StateConflictError):
            await slot.save(a_state(ANN, 1))
    assert await count_of(store) == 7
    assert await slot.load() == a_state(ANN, 7)
    await slot.save(a_state(ANN, 8))


@pytest.mark.asyncio
@pytest.mark.parametrize("policy", [ConflictPolicy.OVERWRITE, "overwrite"])
async def test_overwrite_saves_over_anything(policy: Any) -> None:
    store = InMemoryAgentStateStore()
    slot = StateSlot(store, ANN, policy)
    await store.save(ANN, a_state(ANN, 7), ABSENT)
    await slot.save(a_state(ANN, 1))

    assert await count_of(store) == 1


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="on_conflict='merge'; give 'fail' or 'overwrite'"):
        StateSlot(InMemoryAgentStateStore(), ANN, "merge")


@pytest.mark.asyncio
async def test_saves_are_done_in_order_one_at_a_time() -> None:
    store = Slow()
    slot = StateSlot(store, ANN)
    saves = [asyncio.ensure_future(slot.save(a_state(ANN, n), durable=n == 3)) for n in (1, 2, 3)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert store.saves == [(1, False)]
    store.go.set()
    await asyncio.gather(*saves)

    assert store.saves == [(1, False), (2, False), (3, True)]
    assert await count_of(store) == 3


@pytest.mark.asyncio
async def test_who_waits_may_be_cancelled_and_the_next_save_is_no_conflict() -> None:
    store = Slow()
    slot = StateSlot(store, ANN)
    first = asyncio.ensure_future(slot.save(a_state(ANN, 1)))
    await asyncio.sleep(0)
    first.cancel()
    last = asyncio.ensure_future(slot.save(a_state(ANN, 2)))
    await asyncio.sleep(0)
    store.go.set()
    await last

    assert first.cancelled()
    assert [number for number, _ in store.saves] == [1, 2]
    assert await count_of(store) == 2


@pytest.mark.asyncio
async def test_a_save_that_failed_does_not_stop_the_next() -> None:
    store = Slow()
    store.go.set()
    store.failures.append(StateSaveError("disk full"))
    slot = StateSlot(store, ANN)
    with pytest.raises(StateSaveError, match="disk full"):
        await slot.save(a_state(ANN, 1))
    await slot.save(a_state(ANN, 2))

    assert await count_of(store) == 2


@pytest.mark.asyncio
async def test_a_store_that_gives_up_has_failed_and_cancels_nobody() -> None:
    class GivesUp(InMemoryAgentStateStore):
        async def save(self, *args: Any, **options: Any) -> str:
            raise asyncio.CancelledError

    with pytest.raises(StateSaveError, match="the store gave up"):
        await StateSlot(GivesUp(), ANN).save(a_state())


@pytest.mark.asyncio
@pytest.mark.parametrize("how", ["it fails", "it is cancelled"])
async def test_what_a_save_has_stored_whose_answer_was_lost_is_no_conflict(how: str) -> None:
    class Forgetful(InMemoryAgentStateStore):
        lost = 1

        async def save(self, *args: Any, **options: Any) -> str:
            version = await super().save(*args, **options)
            if self.lost:
                self.lost -= 1
                raise OSError("the line broke") if how == "it fails" else asyncio.CancelledError
            return version

    store = Forgetful()
    slot = StateSlot(store, ANN)
    with pytest.raises(OSError if how == "it fails" else StateSaveError):
        await slot.save(a_state(ANN, 1))
    await slot.save(a_state(ANN, 2))
    assert await count_of(store) == 2

    store.lost = 2
    for number in (3, 4):
        with pytest.raises((OSError, StateSaveError)):
            await slot.save(a_state(ANN, number))
    await slot.save(a_state(ANN, 5))
    assert await count_of(store) == 5

    store.lost = 1
    with pytest.raises((OSError, StateSaveError)):
        await slot.save(a_state(ANN, 6))
    await store.save(ANN, a_state(ANN, 70), None)
    with pytest.raises(StateConflictError):
        await slot.save(a_state(ANN, 8))
    assert await count_of(store) == 70
