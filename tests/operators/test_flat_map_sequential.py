from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable, operators as ops
from reactivex.subject import Subject

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.operators import flat_map_sequential
from tests.operators.marbles import Stage, messages


@pytest.mark.parametrize(
    ("source", "inner", "limit", "expected"),
    [
        ("|", {}, None, "|"),
        ("-a-|", {"a": "-x-y-|"}, None, "--x-y-|"),
        ("-a-b---|", {"a": "-----x|", "b": "-y|"}, None, "------x(y,|)"),
        ("-(a,b)-|", {"a": "--------x-|", "b": "-y---z---w----------|"}, None, "---------x-(y,z,w)---|"),
        ("-(a,b)-|", {"a": "--x-|", "b": "-y-----z-|"}, None, "---x-y--z-|"),
        ("-(a,b)-|", {"a": "-x-|", "b": "|"}, None, "--x----|"),
        ("-(a,b)-|", {"a": "----------|", "b": "-x-#"}, None, "----#"),  # at once, whoever's turn it is
        ("-a-#", {"a": "-------x-|"}, None, "---#"),
        ("-(a,b)-|", {"a": "---x-|", "b": "-y-|"}, 1, "----x--y-|"),
        ("-(a,b,c)-|", {"a": "---x-|", "b": "-y-|", "c": "--z-|"}, 2, "----x-y-z-|"),
    ],
)
def test_streams_run_side_by_side_and_are_heard_one_after_the_other(
    source: str, inner: dict[str, str], limit: int | None, expected: str
) -> None:
    stage = Stage({})
    streams = {name: stage.cold(marbles) for name, marbles in inner.items()}
    pipeline = stage.cold(source).pipe(flat_map_sequential(streams.__getitem__, limit))

    assert stage.run(pipeline) == messages(expected, {})


@pytest.mark.parametrize(
    ("limit", "windows"),
    [
        (None, [(1, 7), (1, 4), (1, 3)]),
        (2, [(1, 7), (1, 4), (7, 9)]),  # b has ended at 4, and is on until it has been heard
        (1, [(1, 7), (7, 10), (10, 12)]),
    ],
)
def test_no_more_streams_are_on_than_the_limit_allows(
    limit: int | None, windows: list[tuple[int, int]]
) -> None:
    stage = Stage({})
    streams = [stage.cold("---x--|"), stage.cold("-y-|"), stage.cold("--|")]
    stage.run(stage.cold("-(0,1,2)-|").pipe(flat_map_sequential(streams.__getitem__, limit)))

    assert [stage.windows(stream)[0] for stream in streams] == windows


@pytest.mark.parametrize(
    ("source", "dispose", "windows"),
    [
        ("-(0,1)---------|", 5, [(0, 5), (1, 5), (1, 5)]),  # disposed
        ("-(0,1)#", 800, [(0, 6), (1, 6), (1, 6)]),  # failed
    ],
)
def test_all_streams_are_released(source: str, dispose: int, windows: list[tuple[int, int]]) -> None:
    stage = Stage({})
    cold, streams = stage.cold(source), [stage.cold("----------"), stage.cold("----------")]
    stage.run(cold.pipe(flat_map_sequential(streams.__getitem__)), dispose)

    assert [stage.windows(each)[0] for each in (cold, *streams)] == windows


def test_one_that_fails_frees_the_source_and_the_others_and_begins_no_more() -> None:
    stage = Stage({})
    cold, streams = stage.cold("-(0,1,2)-------|"), [stage.cold("------"), stage.cold("--#"), stage.cold("-")]
    came = stage.run(cold.pipe(flat_map_sequential(streams.__getitem__, 2)))

    assert came == messages("---#", {})
    assert [stage.windows(each) for each in (cold, *streams)] == [[(0, 3)], [(1, 3)], [(1, 3)], []]


def test_a_disposal_in_the_middle_of_what_was_kept_begins_no_more() -> None:
    begun: list[int] = []
    first: Subject[str] = Subject()

    def stream(number: int) -> Observable[str]:
        begun.append(number)
        return rx.of("kept") if number else first

    rx.of(0, 1, 2).pipe(flat_map_sequential(stream, 2), ops.take(1)).subscribe()
    first.on_completed()

    assert begun == [0, 1]


def test_what_the_function_raises_is_the_streams_error() -> None:
    stage = Stage({})
    error = KeyError("no")

    def broken(_: str) -> Observable[Any]:
        raise error

    assert stage.run(stage.cold("-a-|").pipe(flat_map_sequential(broken))) == messages("-#", error=error)


@pytest.mark.parametrize("returned", [None, 3, [1]])
def test_a_function_that_returns_no_stream_is_told_what_to_return(returned: Any) -> None:
    stage = Stage({})
    [(tick, _, error)] = stage.run(stage.cold("-a-|").pipe(flat_map_sequential(lambda _: returned)))

    assert tick == 1
    assert isinstance(error, ConfigurationError)
    assert f"returned {returned!r}; return an Observable" in str(error)


@pytest.mark.parametrize("limit", [None, 1, 3])
def test_many_streams_that_complete_at_once_need_no_stack(limit: int | None) -> None:
    items: list[int] = []
    rx.range(20_000).pipe(flat_map_sequential(rx.of, limit)).subscribe(items.append)

    assert items == list(range(20_000))


@pytest.fixture
def eager_threads() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("eager_threads")
def test_streams_on_threads_of_their_own_lose_nothing_and_do_not_hang() -> None:
    done = threading.Event()
    items: list[int] = []
    numbers = rx.range(50)
    numbers.pipe(
        flat_map_sequential(lambda number: rx.timer(0.001).pipe(ops.map(lambda _: number)), 8)
    ).subscribe(items.append, on_completed=done.set)

    assert done.wait(20)
    assert items == list(range(50))


@pytest.mark.parametrize("wrong", [(None, None), ("f", 1), (rx.of, 0), (rx.of, -1)])
def test_wrong_arguments_are_refused_where_they_are_written(wrong: tuple[Any, Any]) -> None:
    with pytest.raises(ConfigurationError):
        flat_map_sequential(*wrong)
