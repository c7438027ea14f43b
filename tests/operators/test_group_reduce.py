from __future__ import annotations

from typing import Any

import pytest
import reactivex

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.operators import group_reduce
from tests.operators.marbles import ERROR, Stage, messages


def letter(item: str) -> str:
    return item[0].lower()


def joined(state: str, item: str) -> str:
    return state + item


def ends(item: str) -> bool:
    return item.isupper()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("-a-a-A-|     ", "-----x-|     "),
        ("-a-b-B-A-----|", "-------(x,y)-|"),
        ("-a-A-a-A-|   ", "---x---x-|   "),
        ("-a-b-|       ", "-----(x,y,|) "),
        ("-|           ", "-|           "),
        ("-a-A-b-#     ", "---x---#     "),
    ],
)
def test_groups_are_folded_and_emitted_in_order_of_opening(source: str, expected: str) -> None:
    stage = Stage({"a": "a", "b": "b", "A": "A", "B": "B"})
    events = stage.cold(source.strip())

    made = stage.run(events.pipe(group_reduce(letter, joined, until=ends)))

    shape = [(tick, kind) for tick, kind, _ in made]
    assert shape == [(tick, kind) for tick, kind, _ in messages(expected.strip(), {})]


def through(items: list[Any], *arguments: Any, **named: Any) -> list[Any]:
    made: list[Any] = []
    reactivex.from_iterable(items).pipe(group_reduce(*arguments, **named)).subscribe(made.append, made.append)
    return made


def test_without_a_seed_the_first_item_is_the_state() -> None:
    assert through(["a1", "b1", "a2"], letter, joined) == ["a1a2", "b1"]


def test_a_seed_is_made_for_each_group_and_may_be_changed_in_place() -> None:
    def add(items: list[str], item: str) -> list[str]:
        items.append(item)
        return items

    assert through(["a1", "b1", "a2"], letter, add, seed=list) == [["a1", "a2"], ["b1"]]


def test_the_item_that_ends_a_group_belongs_to_it_and_the_key_may_come_again() -> None:
    assert through(["a", "A", "a", "A", "a"], letter, joined, until=ends) == ["aA", "aA", "a"]


def test_a_group_of_one_item_that_ends_it_is_emitted_at_once() -> None:
    assert through(["A", "B"], letter, joined, until=ends) == ["A", "B"]


def test_any_hashable_value_is_a_key_none_too() -> None:
    assert through([1, "x", 2], lambda item: item if item == "x" else None, lambda a, b: a + b) == [3, "x"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"key": "not a function"},
        {"fold": None},
        {"seed": []},
        {"until": True},
    ],
)
def test_what_is_no_function_is_refused_at_the_call(arguments: dict[str, Any]) -> None:
    good: dict[str, Any] = {"key": letter, "fold": joined}

    with pytest.raises(ConfigurationError, match=next(iter(arguments))):
        group_reduce(**(good | arguments))


@pytest.mark.parametrize("broken", ["key", "fold", "seed", "until"])
def test_what_a_function_raises_ends_the_stream_and_releases_the_source(broken: str) -> None:
    stage = Stage()
    source = stage.cold("-a-a-b-|")

    def fail(*_: object) -> Any:
        raise ERROR

    functions: dict[str, Any] = {
        "key": lambda _: 1,
        "fold": lambda a, _: a,
        "seed": list,
        "until": lambda _: False,
    }
    made = stage.run(source.pipe(group_reduce(**(functions | {broken: fail}))))

    assert made == messages("-#")
    assert stage.windows(source) == [(0, 1)]
