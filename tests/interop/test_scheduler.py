from __future__ import annotations

import asyncio
import threading
import time
from contextvars import ContextVar

import pytest

from agentscope_rx.interop import CallScheduler


@pytest.mark.asyncio
async def test_drained_waits_for_all_tasks_but_its_own() -> None:
    scheduler = CallScheduler(asyncio.get_running_loop())
    done: list[str] = []

    async def work() -> None:
        await asyncio.sleep(0.001)
        done.append("work")
        scheduler.create_task(more())

    async def more() -> None:
        await asyncio.sleep(0.001)
        done.append("more")

    async def drain() -> None:
        assert await scheduler.drained()
        done.append("drained")

    scheduler.create_task(work())
    await scheduler.create_task(drain())

    assert done == ["work", "more", "drained"]


@pytest.mark.asyncio
async def test_a_call_is_idle_when_its_tasks_have_ended_or_are_counted_out() -> None:
    outer = CallScheduler(asyncio.get_running_loop())
    inner = CallScheduler(outer.loop, parent=outer)
    assert inner.is_idle

    task = inner.create_task(asyncio.sleep(0))
    assert not inner.is_idle
    assert not outer.is_idle
    inner.count_out(task)
    assert inner.is_idle
    assert outer.is_idle

    other = inner.create_task(asyncio.sleep(0))
    await other
    assert outer.is_idle


@pytest.mark.asyncio
async def test_drained_cancels_what_is_left_when_the_grace_is_over() -> None:
    scheduler = CallScheduler(asyncio.get_running_loop())
    task = scheduler.create_task(asyncio.sleep(60))

    assert await scheduler.drained(grace=0.01)
    assert task.cancelled()


@pytest.mark.asyncio
async def test_drained_abandons_what_ignores_even_that() -> None:
    scheduler = CallScheduler(asyncio.get_running_loop())
    end = asyncio.Event()

    async def stubborn() -> None:
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                continue

    task = scheduler.create_task(stubborn())
    await asyncio.sleep(0)
    began = time.monotonic()

    assert not await scheduler.drained(grace=0.01)
    assert time.monotonic() - began < 2
    end.set()
    await task


@pytest.mark.asyncio
async def test_a_detached_task_is_waited_for_by_the_outer_call_only() -> None:
    outer = CallScheduler(asyncio.get_running_loop())
    inner = CallScheduler(outer.loop, parent=outer)
    order: list[str] = []

    async def clean_up() -> None:
        assert await inner.drained()
        order.append("inner drained")
        await asyncio.sleep(0.001)
        order.append("saved")

    inner.create_task(clean_up(), detached=True)
    assert inner.tasks == set()
    assert await outer.drained()

    assert order == ["inner drained", "saved"]


@pytest.mark.asyncio
async def test_schedule_from_another_thread_runs_on_the_loop_and_can_be_disposed() -> None:
    loop = asyncio.get_running_loop()
    scheduler = CallScheduler(loop)
    ran: list[tuple[str, int]] = []
    here = threading.get_ident()

    def action(name: str) -> None:
        ran.append((name, threading.get_ident()))

    def from_thread() -> None:
        scheduler.schedule(lambda *_: action("soon"))
        scheduler.schedule_relative(0.001, lambda *_: action("later"))
        scheduler.schedule_relative(0.001, lambda *_: action("never")).dispose()

    await asyncio.to_thread(from_thread)
    await asyncio.sleep(0.02)

    assert ran == [("soon", here), ("later", here)]


def test_post_to_a_closed_loop_does_nothing() -> None:
    async def make() -> CallScheduler:
        return CallScheduler(asyncio.get_running_loop())

    ran: list[int] = []
    asyncio.run(make()).post(lambda: ran.append(1))

    assert ran == []


@pytest.mark.parametrize("error", [ValueError("late"), KeyboardInterrupt(), asyncio.CancelledError()])
def test_what_escapes_from_an_action_goes_to_whoever_contains_the_part(error: BaseException) -> None:
    taken: list[BaseException] = []

    def fail(*_: object) -> None:
        raise error

    async def main() -> None:
        whole = CallScheduler(asyncio.get_running_loop())
        part = whole.part(taken.append)
        part.schedule(fail)
        part.schedule_relative(0.001, fail)
        await asyncio.sleep(0.005)
        assert part.tasks is whole.tasks
        with pytest.raises(type(error)):
            whole.escaped(error)

    asyncio.run(main())
    assert taken == [error, error]


@pytest.mark.asyncio
async def test_the_tasks_of_a_part_see_the_variables_of_the_code_that_starts_them() -> None:
    name: ContextVar[str] = ContextVar("name", default="none")
    scheduler = CallScheduler(asyncio.get_running_loop())

    async def read() -> str:
        return name.get()

    with scheduler.entered():
        part = scheduler.part(print)
        name.set("inside")
        assert await part.create_task(read()) == "inside"


@pytest.mark.asyncio
async def test_a_call_inside_a_call_knows_what_that_occupies() -> None:
    outer = CallScheduler(asyncio.get_running_loop())
    outer.inside = frozenset({"place"})

    assert CallScheduler(outer.loop, parent=outer.part(print)).inside == {"place"}


@pytest.mark.asyncio
async def test_cleaned_waits_for_those_that_were_told_to_end_and_for_a_while_only() -> None:
    outer = CallScheduler(asyncio.get_running_loop())
    inner = CallScheduler(asyncio.get_running_loop(), parent=outer)
    done: list[str] = []

    async def work(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        done.append(name)

    inner.create_task(work("on its own", 0.05))
    inner.note_stopping(inner.create_task(work("told to end", 0.01)))
    inner.note_stopping(stubborn := inner.create_task(work("stubborn", 30)))
    await outer.cleaned(0.02)

    assert done == ["told to end"]
    assert outer.stopping == inner.stopping == {stubborn}
    stubborn.cancel()
    await inner.cleaned()
    assert not outer.stopping
