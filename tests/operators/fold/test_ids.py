from __future__ import annotations

from random import Random

import pytest

from agentscope_rx import _json
from agentscope_rx.identity import new_emitter
from agentscope_rx.operators._fold._ids import Ids


def taken(ids: list[str]) -> Ids:
    seen = Ids()
    for id in ids:
        seen.add(id)
    return seen


@pytest.mark.parametrize("seed", range(20))
def test_an_id_is_new_once_in_whatever_order_they_come(seed: int) -> None:
    random = Random(seed)
    names = [f"{random.choice(('e', 'x-', 'a0'))}{random.randint(0, 120)}" for _ in range(300)]
    seen = Ids()

    assert [seen.add(name) for name in names] == [name not in names[:at] for at, name in enumerate(names)]
    assert len(seen) == len(set(names))


def test_the_empty_id_is_always_new() -> None:
    seen = Ids()

    assert [seen.add(""), seen.add("b"), seen.add(""), seen.add("a"), seen.add("")] == [True] * 5


@pytest.mark.parametrize("seed", range(20))
def test_ids_are_saved_and_loaded(seed: int) -> None:
    random = Random(seed)
    names = [f"{random.choice(('e', 'x-0', '', 'é'))}{random.randint(0, 99)}" for _ in range(100)]
    names += ["no count", "e007", "x--", "9" * 40, "e1/2"]
    saved = _json.loads(_json.dumps(taken(names).save()))
    loaded = Ids.load(saved)

    assert [loaded.add(name) for name in names] == [False] * len(names)
    assert loaded.add("another")


def test_the_ids_of_a_call_are_one_run() -> None:
    emitter = new_emitter()
    names = [f"{emitter.prefix}{emitter.next()}" for _ in range(1_000)]
    Random(1).shuffle(names)

    saved = taken(names).save()
    assert list(saved["runs"]) == [emitter.prefix]
    assert len(saved["runs"][emitter.prefix]) == 1
    assert saved["single"] == []


def test_copies_grow_apart() -> None:
    seen = taken(["a", "c"])
    twin = seen.copy()

    assert twin.add("b")
    assert seen.add("b")
    assert not twin.add("a")
