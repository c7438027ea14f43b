from __future__ import annotations

from typing import Any

import pytest
import reactivex as rx
from reactivex import operators as ops

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.operators import switch_if_empty
from tests.operators.marbles import Stage, messages


@pytest.mark.parametrize(
    ("source", "other", "expected", "windows"),
    [
        ("-a-b-|", "-c-|", "-a-b-|", []),
        ("---|", "-c-b-|", "----c-b-|", [(3, 8)]),
        ("---|", "-|", "----|", [(3, 4)]),
        ("---|", "-c-#", "----c-#", [(3, 6)]),
        ("---#", "-c-|", "---#", []),
        ("-a-#", "-c-|", "-a-#", []),
        ("----", "-c-|", "----", []),
    ],
)
def test_the_other_stream_is_subscribed_only_where_the_source_was_empty(
    source: str, other: str, expected: str, windows: list[tuple[int, int]]
) -> None:
    stage = Stage()
    cold, instead = stage.cold(source), stage.cold(other)

    assert stage.run(cold.pipe(switch_if_empty(instead))) == messages(expected)
    assert stage.windows(instead) == windows


@pytest.mark.parametrize("dispose", [2, 5])
def test_whichever_stream_is_on_is_released(dispose: int) -> None:
    stage = Stage()
    source, other = stage.cold("---|"), stage.cold("-----c-|")
    stage.run(source.pipe(switch_if_empty(other)), dispose)

    assert stage.windows(source) == [(0, min(3, dispose))]
    assert stage.windows(other) == ([] if dispose < 3 else [(3, dispose)])


def test_a_source_that_completes_while_it_is_subscribed_does_not_cut_off_the_other() -> None:
    stage = Stage()
    empty = rx.create(lambda observer, _: observer.on_completed())

    assert stage.run(empty.pipe(switch_if_empty(stage.cold("-a-b-|")))) == messages("-a-b-|")


def test_each_subscription_looks_for_itself() -> None:
    sources = iter([rx.empty(), rx.of(1)])
    pipeline = rx.defer(lambda _: next(sources)).pipe(switch_if_empty(rx.of(0)), ops.to_list())

    assert [pipeline.run(), pipeline.run()] == [[0], [1]]


@pytest.mark.parametrize("wrong", [None, 3, [1], lambda: rx.of(1)])
def test_what_is_no_stream_is_refused_where_it_is_written(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"switch_if_empty.*Observable"):
        switch_if_empty(wrong)
