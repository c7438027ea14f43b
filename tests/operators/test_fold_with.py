from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.operators import reduce_with, scan_with
from tests.operators.marbles import Stage, messages


def add(total: int, number: int) -> int:
    return total + number


@pytest.mark.parametrize(
    ("operator", "source", "expected"),
    [
        (reduce_with(int, add), "-1-2-3-|", "-------(6,|)"),
        (reduce_with(int, add), "-|", "-(0,|)"),  # the seed of an empty source
        (reduce_with(int, add), "-1-#", "---#"),
        (reduce_with(int, add), "-1-", "----"),
        (scan_with(int, add), "-1-2-3-|", "-1-3-6-|"),
        (scan_with(int, add), "-|", "-|"),  # the seed itself is not emitted
        (scan_with(int, add), "-1-2-#", "-1-3-#"),
    ],
)
def test_items_are_folded_from_the_seed(operator: Any, source: str, expected: str) -> None:
    stage = Stage({})

    assert stage.run(stage.cold(source).pipe(operator)) == messages(expected, {})


@pytest.mark.parametrize("make", [reduce_with, scan_with])
def test_a_seed_that_is_changed_in_place_is_made_anew_for_each_subscription(make: Any) -> None:
    made: list[list[int]] = []

    def seed() -> list[int]:
        made.append([])
        return made[-1]

    def append(seen: list[int], item: int) -> list[int]:
        seen.append(item)
        return seen

    stage = Stage({})
    pipeline = stage.cold("-1-2-|").pipe(make(seed, append))
    assert made == []

    pipeline.subscribe()
    pipeline.subscribe()
    stage.scheduler.start()

    assert made == [[1, 2], [1, 2]]


@pytest.mark.parametrize("make", [reduce_with, scan_with])
def test_what_the_seed_raises_is_the_streams_error_and_the_source_is_not_touched(make: Any) -> None:
    error = KeyError("no seed")

    def broken() -> int:
        raise error

    stage = Stage({})
    source = stage.cold("-1-|")

    assert stage.run(source.pipe(make(broken, add))) == messages("#", error=error)
    assert source.subscriptions == []


@pytest.mark.parametrize("make", [reduce_with, scan_with])
@pytest.mark.parametrize("wrong", [(0, add), ([], add), (int, None)])
def test_what_is_no_function_is_refused_where_it_is_written(make: Any, wrong: tuple[Any, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"{make.__name__}.*give a function"):
        make(*wrong)
