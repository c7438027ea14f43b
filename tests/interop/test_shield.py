from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
import reactivex as rx
from reactivex import operators as ops
from reactivex.subject import Subject

from agentscope_rx.interop import from_async_iterable, on_loop, shield


@pytest.fixture
def reports() -> list[dict[str, Any]]:
    return []


def listen(reports: list[dict[str, Any]]) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context))


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def numbers(n: int, log: list[str]) -> AsyncIterator[int]:
    try:
        for i in range(n):
            yield i
            await asyncio.sleep(0)
    finally:
        log.append("closed")


def test_a_loop_over_a_stream_is_an_error_and_not_a_loop_without_end() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(shield(rx.of(1, 2)))


@pytest.mark.asyncio
async def test_a_subscriber_that_raises_ends_its_own_subscription_and_is_reported(
    reports: list[dict[str, Any]],
) -> None:
    listen(reports)
    log: list[str] = []
    seen: list[object] = []

    def on_next(item: int) -> None:
        seen.append(item)
        raise ValueError(f"not {item}")

    source = from_async_iterable(lambda: numbers(3, log)).pipe(
        ops.finally_action(lambda: log.append("released"))
    )
    shield(on_loop(source)).subscribe(on_next, seen.append, lambda: seen.append("completed"))
    await settle()

    assert seen == [0]
    assert sorted(log) == ["closed", "released"]
    assert [str(r["exception"]) for r in reports] == ["not 0"]
    assert "on_next" in reports[0]["message"]


@pytest.mark.asyncio
async def test_siblings_of_a_shared_call_go_on(reports: list[dict[str, Any]]) -> None:
    listen(reports)
    log: list[str] = []
    seen: list[object] = []
    shared = shield(on_loop(from_async_iterable(lambda: numbers(3, log)))).pipe(ops.share())

    shared.pipe(shield).subscribe(lambda _: 1 / 0)
    shared.pipe(shield).subscribe(seen.append, None, lambda: seen.append("completed"))
    await settle()

    assert seen == [0, 1, 2, "completed"]
    assert [type(r["exception"]) for r in reports] == [ZeroDivisionError]


@pytest.mark.asyncio
async def test_an_error_that_nobody_takes_is_reported_and_not_raised(reports: list[dict[str, Any]]) -> None:
    listen(reports)
    boom = ValueError("boom")

    shield(on_loop(rx.throw(boom))).subscribe(print)
    await settle()

    assert [r["exception"] for r in reports] == [boom]
    assert "or has none" in reports[0]["message"]


@pytest.mark.parametrize("where", ["on_error", "on_completed"])
@pytest.mark.asyncio
async def test_what_is_raised_at_the_end_is_reported(where: str, reports: list[dict[str, Any]]) -> None:
    listen(reports)

    def explode(*_: object) -> None:
        raise ValueError("late")

    source = rx.throw(KeyError()) if where == "on_error" else rx.empty()
    shield(on_loop(source)).subscribe(None, explode, explode)
    await settle()

    assert [str(r["exception"]) for r in reports] == ["late"]
    assert where in reports[0]["message"]


@pytest.mark.asyncio
async def test_a_subscriber_that_is_cancelled_is_no_cancelled_source(reports: list[dict[str, Any]]) -> None:
    listen(reports)
    log: list[str] = []

    def on_next(_: int) -> None:
        raise asyncio.CancelledError

    shield(on_loop(from_async_iterable(lambda: numbers(3, log)))).subscribe(on_next)
    await settle()

    assert log == ["closed"]
    assert [type(r["exception"]) for r in reports] == [asyncio.CancelledError]


def test_exit_from_a_subscriber_releases_the_source_and_goes_on() -> None:
    source: Subject[int] = Subject()

    def leave(_: int) -> None:
        raise SystemExit(4)

    shield(source).subscribe(leave)
    with pytest.raises(SystemExit):
        source.on_next(1)

    assert source.observers == []


def test_without_a_loop_it_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    source: Subject[int] = Subject()
    shield(source).subscribe(lambda _: 1 / 0)

    with caplog.at_level(logging.ERROR, "agentscope_rx"):
        source.on_next(1)

    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ZeroDivisionError]


@pytest.mark.parametrize("error", [None, KeyError()])
def test_what_comes_at_once_after_a_raise_is_dropped(error: Exception | None) -> None:
    seen: list[object] = []

    def on_next(item: int) -> None:
        seen.append(item)
        raise ValueError

    def burst(observer: Any, scheduler: object = None) -> None:
        for item in range(3):
            observer.on_next(item)
        observer.on_completed() if error is None else observer.on_error(error)

    shield(rx.create(burst)).subscribe(on_next, seen.append, lambda: seen.append("completed"))

    assert seen == [0]


@pytest.mark.asyncio
async def test_items_errors_and_completion_pass() -> None:
    assert await shield(on_loop(rx.of(1, 2))).pipe(ops.to_list()) == [1, 2]
    with pytest.raises(KeyError):
        await shield(on_loop(rx.throw(KeyError())))


@pytest.mark.asyncio
async def test_a_raise_below_one_subscription_loses_nothing_of_another(
    reports: list[dict[str, Any]],
) -> None:
    """RxPY's current-thread queue is cleared by an exception that crosses it."""
    listen(reports)
    seen: list[int] = []

    def on_next(_: int) -> None:
        shield(on_loop(rx.from_iterable(range(3)))).subscribe(seen.append)
        raise ValueError

    shield(on_loop(rx.of(1))).subscribe(on_next)
    await settle()

    assert seen == [0, 1, 2]
