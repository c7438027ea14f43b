from __future__ import annotations

from operator import add

import pytest
from reactivex import operators as ops

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.operators import reduce_with, scan_with
from tests.operators.marbles import Stage, messages


def append(items: list[int], item: int) -> list[int]:
    items.append(item)
    return items


@pytest.mark.parametrize(
    ("source", "reduced", "scanned"),
    [
        ("-1-2-3-|", "-------(6,|)", "-1-3-6-|"),
        ("-|      ", "-(0,|)      ", "-|      "),
        ("-1-#    ", "---#        ", "-1-#    "),
    ],
)
def test_items_are_folded_into_a_state(source: str, reduced: str, scanned: str) -> None:
    for operator, expected in ((reduce_with(int, add), reduced), (scan_with(int, add), scanned)):
        stage = Stage()
        assert stage.run(stage.cold(source.strip()).pipe(operator)) == messages(expected.strip())


def test_each_subscriber_has_a_state_of_its_own() -> None:
    stage = Stage()
    reduced = stage.cold("-1-2-|").pipe(reduce_with(list, append), ops.repeat(2))

    assert [value for _, kind, value in stage.run(reduced) if kind == "N"] == [[1, 2], [1, 2]]


@pytest.mark.parametrize("operator", [reduce_with, scan_with])
def test_what_is_no_function_is_refused_at_the_call(operator: object) -> None:
    with pytest.raises(ConfigurationError, match=r"was given \[\]"):
        operator([], append)  # type: ignore[operator]
    with pytest.raises(ConfigurationError, match="was given None"):
        operator(list, None)  # type: ignore[operator]
