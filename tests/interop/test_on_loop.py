from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable, operators as ops
from reactivex.disposable import Disposable
from reactivex.scheduler import ThreadPoolScheduler

from agentscope_rx.errors import RunInsideLoopError
from agentscope_rx.identity import emitting, new_emitter, new_id
from agentscope_rx.interop import CallScheduler, from_async_iterable, on_loop, shield


def thread_name(_: object = None) -> str:
    return threading.current_thread().name


def test_a_call_from_a_thread_without_a_loop_runs_on_the_private_loop() -> None:
    assert on_loop(rx.defer(lambda _: rx.of(thread_name()))).run() == "agentscope-rx-loop"


@pytest.mark.asyncio
async def test_a_call_where_a_loop_runs_stays_on_its_thread() -> None:
    assert await on_loop(rx.of(1).pipe(ops.map(thread_name))) == thread_name()


@pytest.mark.parametrize(
    "operator",
    [
        ops.delay(0.001),
        ops.timeout(5),
        ops.debounce(0.001),
        ops.buffer_with_time(0.001),
        ops.start_with(0),
        ops.throttle_first(0.001),
        ops.delay_subscription(0.001),
        ops.retry(2),
        ops.concat(rx.timer(0.001)),
        ops.merge(rx.timer(0.001)),
    ],
)
def test_operators_with_time_inside_a_call_stay_on_the_loop(operator: Callable[[Any], Any]) -> None:
    threads: list[str] = []
    before = threading.active_count()
    call = on_loop(rx.of(1, 2).pipe(operator, ops.do_action(lambda _: threads.append(thread_name()))))

    call.run()

    assert set(threads) == {"agentscope-rx-loop"}
    assert threading.active_count() <= before + 1


def test_steps_of_a_call_start_no_threads() -> None:
    started: set[str] = set()
    steps = (rx.defer(lambda _: rx.of(started.add(thread_name()))) for _ in range(20))

    on_loop(rx.concat_with_iterable(steps)).run()

    assert started == {"agentscope-rx-loop"}


def test_twenty_threads_call_at_once() -> None:
    results: list[int] = []

    async def square(n: int) -> int:
        await asyncio.sleep(0.001)
        return n * n

    async def squares(n: int) -> Any:
        yield await square(n)

    def call(n: int) -> None:
        results.append(on_loop(from_async_iterable(lambda: squares(n))).run())

    threads = [threading.Thread(target=call, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)

    assert sorted(results) == [n * n for n in range(20)]


@pytest.mark.parametrize(
    "later",
    [
        (),
        (ops.map(str),),
        (ops.delay(0.01), ops.to_list()),
        (ops.timeout(1),),
        (ops.share(),),
        (ops.flat_map(rx.of),),
    ],
)
@pytest.mark.asyncio
async def test_run_inside_a_loop_is_an_error_that_names_the_remedy(later: tuple[Any, ...]) -> None:
    with pytest.raises(RunInsideLoopError, match=r"await.*agent\.reply") as caught:
        on_loop(rx.of(1)).pipe(*later).run()

    assert "Jupyter" in str(caught.value)


def test_run_inside_on_next_on_the_private_loop_is_an_error_too() -> None:
    def nested(_: int) -> int:
        return on_loop(rx.of(1)).run()

    with pytest.raises(RunInsideLoopError):
        on_loop(rx.of(1)).pipe(ops.map(nested)).run()


@pytest.mark.asyncio
async def test_run_in_a_thread_of_a_program_with_a_loop_works() -> None:
    assert await asyncio.to_thread(lambda: on_loop(rx.of(7)).run()) == 7


def test_nothing_happens_before_subscribe() -> None:
    subscribed: list[int] = []
    call = on_loop(rx.defer(lambda _: rx.of(subscribed.append(1))))

    assert subscribed == []
    call.run()
    call.run()
    assert subscribed == [1, 1]


def test_disposing_from_another_thread_happens_on_the_loop() -> None:
    disposed_on: list[str] = []
    subscribed, disposed = threading.Event(), threading.Event()

    def subscribe(observer: object, scheduler: object = None) -> Disposable:
        subscribed.set()
        return Disposable(lambda: (disposed_on.append(thread_name()), disposed.set()))

    subscription = on_loop(Observable(subscribe)).subscribe()
    assert subscribed.wait(5)
    subscription.dispose()

    assert disposed.wait(5)
    assert disposed_on == ["agentscope-rx-loop"]


def test_disposing_before_the_loop_had_its_turn_subscribes_nothing() -> None:
    subscribed: list[int] = []
    release = threading.Event()
    first = on_loop(rx.of(1).pipe(ops.do_action(lambda _: release.wait(5)))).subscribe()
    second = on_loop(rx.defer(lambda _: rx.of(subscribed.append(1)))).subscribe()
    second.dispose()
    release.set()

    on_loop(rx.of(1)).run()

    assert subscribed == []
    first.dispose()


def test_disposing_when_the_loop_is_closed_does_nothing() -> None:
    async def subscribe() -> Any:
        return on_loop(rx.never()).subscribe()

    asyncio.run(subscribe()).dispose()


def test_an_exception_while_subscribing_is_an_error_of_the_stream() -> None:
    def explode() -> Any:
        raise ValueError("no context today")

    with pytest.raises(ValueError, match="no context today"):
        on_loop(rx.of(1), within=explode).run()


@pytest.mark.asyncio
async def test_an_exception_while_subscribing_in_a_loop_is_an_error_of_the_stream() -> None:
    def explode() -> Any:
        raise ValueError("no context today")

    with pytest.raises(ValueError, match="no context today"):
        await on_loop(rx.of(1), within=explode)


def test_a_call_makes_its_ids_in_one_run_beside_other_calls() -> None:
    async def ids() -> Any:
        for _ in range(5):
            await asyncio.sleep(0)
            yield new_id()

    call = on_loop(
        from_async_iterable(ids).pipe(ops.delay(0.001), ops.map(lambda made: (made, new_id()))),
        within=lambda: emitting(new_emitter()),
    ).pipe(ops.to_list())

    async def both() -> list[list[tuple[str, str]]]:
        return list(await asyncio.gather(_awaited(call), _awaited(call)))

    first, second = asyncio.run(both())
    for pairs in (first, second):
        made = [id.rpartition("-") for pair in pairs for id in pair]
        assert len({prefix for prefix, _, _ in made}) == 1
        counts = sorted(int(number) for _, _, number in made)
        assert counts == list(range(counts[0], counts[0] + 10))
    assert first[0][0].partition("-")[0] != second[0][0].partition("-")[0]


async def _awaited(source: Observable[Any]) -> Any:
    return await source


def test_the_caller_s_context_variables_are_seen_inside_and_not_changed() -> None:
    user = ContextVar("user", default="nobody")

    async def who() -> Any:
        yield user.get()
        user.set("inside")
        yield user.get()

    user.set("ann")
    assert on_loop(from_async_iterable(who)).pipe(ops.to_list()).run() == ["ann", "inside"]
    assert user.get() == "ann"


@pytest.mark.asyncio
async def test_what_disposing_starts_still_sees_the_call_s_context() -> None:
    user = ContextVar("user", default="nobody")
    seen: list[str] = []

    async def save() -> None:
        seen.append(user.get())

    def subscribe(observer: object, scheduler: CallScheduler) -> Disposable:
        user.set("of the call")
        with scheduler.entered():
            pass
        return Disposable(lambda: scheduler.create_task(save()))

    on_loop(Observable(subscribe)).subscribe().dispose()  # type: ignore[arg-type]
    await asyncio.sleep(0)

    assert (seen, user.get()) == (["of the call"], "nobody")


@pytest.mark.asyncio
async def test_a_call_inside_a_call_shares_the_gate_and_counts_among_its_tasks() -> None:
    schedulers: list[CallScheduler] = []

    def note(inner: Observable[int]) -> Observable[int]:
        def subscribe(observer: Any, scheduler: Any = None) -> Any:
            schedulers.append(scheduler)
            return inner.subscribe(observer, scheduler=scheduler)

        return Observable(subscribe)

    async def forever() -> Any:
        yield 1
        await asyncio.sleep(60)

    inside = on_loop(note(from_async_iterable(forever)))
    outside = on_loop(note(inside))
    subscription = outside.subscribe()
    await asyncio.sleep(0)

    outer, inner = schedulers
    assert inner is not outer
    assert inner.parent is outer
    assert inner.gate is outer.gate
    assert len(outer.tasks) == len(inner.tasks) == 1
    subscription.dispose()
    assert await outer.drained()
    assert outer.tasks == inner.tasks == set()


def test_an_own_scheduler_inside_a_call_comes_back_to_the_loop() -> None:
    pool = ThreadPoolScheduler(1)
    source = rx.of(1).pipe(ops.delay(0.001, scheduler=pool), ops.flat_map(lambda _: rx.timer(0.001)))

    name = on_loop(source.pipe(ops.map(thread_name))).run()

    assert name == "agentscope-rx-loop"
    pool.executor.shutdown()


def test_a_call_from_a_plain_thread_does_not_mind_a_raising_subscriber_of_another() -> None:
    seen: list[int] = []

    async def ones() -> Any:
        for _ in range(3):
            await asyncio.sleep(0.001)
            yield 1

    call = shield(on_loop(from_async_iterable(ones)))
    loud = threading.Event()

    def raise_exit(_: int) -> None:
        loud.set()
        raise SystemExit(3)

    call.subscribe(raise_exit)
    assert loud.wait(5)
    call.pipe(ops.do_action(seen.append)).run()

    assert seen == [1, 1, 1]
