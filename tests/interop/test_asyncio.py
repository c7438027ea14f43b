from __future__ import annotations

import asyncio
import gc
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable, operators as ops
from reactivex.scheduler.eventloop import AsyncIOScheduler
from reactivex.subject import Subject

from agentscope_rx.errors import AgentScopeError, ConfigurationError, RunInsideLoopError
from agentscope_rx.event import AgentEvent, TextBlockDeltaEvent, ThinkingBlockDeltaEvent
from agentscope_rx.interop import CallScheduler
from agentscope_rx.interop.asyncio import from_async_iterable, from_coroutine, to_async_iterable


async def ticks(n: int, log: list[str], pause: float | None = 0) -> AsyncIterator[int]:
    try:
        for i in range(n):
            if pause is not None:
                await asyncio.sleep(pause)
            yield i
    except asyncio.CancelledError:
        log.append("cancelled")
        raise
    finally:
        await asyncio.sleep(0)
        log.append("closed")


def bridge(n: int, log: list[str], pause: float | None = 0) -> Observable[int]:
    return from_async_iterable(lambda: ticks(n, log, pause))


def others() -> int:
    return len(asyncio.all_tasks()) - 1


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


class TestFromAsyncIterable:
    def test_run_works_without_a_loop(self) -> None:
        log: list[str] = []
        assert bridge(3, log).pipe(ops.to_list()).run() == [0, 1, 2]
        assert log == ["closed"]

    @pytest.mark.asyncio
    async def test_await_gives_the_last_item(self) -> None:
        assert await bridge(3, []) == 2

    @pytest.mark.asyncio
    async def test_run_inside_a_loop_is_an_error(self) -> None:
        with pytest.raises(RunInsideLoopError):
            bridge(3, []).run()

    @pytest.mark.asyncio
    async def test_each_subscription_iterates_anew(self) -> None:
        log: list[str] = []
        source = bridge(2, log)
        assert (await source, await source) == (1, 1)
        assert log == ["closed", "closed"]

    @pytest.mark.asyncio
    async def test_completion_comes_after_the_clean_up(self) -> None:
        log: list[str] = []
        await bridge(1, log).pipe(ops.do_action(on_completed=lambda: log.append("completed")))
        assert log == ["closed", "completed"]

    @pytest.mark.asyncio
    async def test_the_very_error_object_comes_after_what_was_yielded(self) -> None:
        boom = ValueError("boom")
        seen: list[object] = []

        async def fails() -> AsyncIterator[int]:
            yield 1
            raise boom

        from_async_iterable(fails).subscribe(seen.append, seen.append)
        await settle()
        assert seen == [1, boom]
        assert seen[1] is boom

    @pytest.mark.asyncio
    async def test_a_factory_that_raises_is_an_error_of_the_stream(self) -> None:
        def fails() -> AsyncIterator[int]:
            raise KeyError("no source")

        with pytest.raises(KeyError, match="no source"):
            await from_async_iterable(fails)

    @pytest.mark.asyncio
    async def test_an_iterator_that_cannot_be_closed_will_do(self) -> None:
        class Three:
            n = 0

            def __aiter__(self) -> Three:
                return self

            async def __anext__(self) -> int:
                self.n += 1
                if self.n > 3:
                    raise StopAsyncIteration
                return self.n

        assert await from_async_iterable(Three) == 3

    @pytest.mark.asyncio
    async def test_disposing_cancels_and_closes(self) -> None:
        log: list[str] = []
        seen: list[object] = []
        subscription = bridge(3, log, pause=60).subscribe(
            seen.append, seen.append, lambda: seen.append("end")
        )
        await settle()
        subscription.dispose()
        await settle()
        assert (seen, log, others()) == ([], ["cancelled", "closed"], 0)

    @pytest.mark.asyncio
    async def test_disposing_before_the_first_turn_calls_nothing(self) -> None:
        called: list[int] = []

        def factory() -> AsyncIterator[int]:
            called.append(1)
            return ticks(1, [])

        from_async_iterable(factory).subscribe().dispose()
        await settle()
        assert (called, others()) == ([], 0)

    @pytest.mark.parametrize("pause", [0, None], ids=["suspends", "never suspends"])
    @pytest.mark.asyncio
    async def test_disposing_inside_on_next_lets_the_iterator_clean_up(self, pause: float | None) -> None:
        log: list[str] = []
        assert await bridge(10**9, log, pause).pipe(ops.take(2), ops.to_list()) == [0, 1]
        await settle()
        assert (log, others()) == (["closed"], 0)

    @pytest.mark.asyncio
    async def test_disposing_from_another_thread_cancels(self) -> None:
        log: list[str] = []
        subscription = bridge(3, log, pause=60).subscribe()
        await settle()
        await asyncio.to_thread(subscription.dispose)
        await settle()
        assert log == ["cancelled", "closed"]

    @pytest.mark.asyncio
    async def test_a_source_that_swallows_its_cancellation_delivers_nothing_more(self) -> None:
        seen: list[str] = []

        async def stubborn() -> AsyncIterator[str]:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                yield "one more"

        subscription = from_async_iterable(stubborn).subscribe(seen.append)
        await settle()
        subscription.dispose()
        await settle()
        assert (seen, others()) == ([], 0)

    @pytest.mark.asyncio
    async def test_what_the_clean_up_raises_is_the_error(self) -> None:
        async def fails_to_close() -> AsyncIterator[int]:
            try:
                yield 1
            finally:
                raise OSError("disk full")

        with pytest.raises(OSError, match="disk full"):
            await from_async_iterable(fails_to_close)

    @pytest.mark.asyncio
    async def test_what_the_clean_up_of_a_disposed_source_raises_is_reported(self) -> None:
        reports: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context))

        async def fails_to_close() -> AsyncIterator[int]:
            try:
                while True:
                    yield 1
            finally:
                raise OSError("disk full")

        assert await from_async_iterable(fails_to_close).pipe(ops.take(1)) == 1
        await settle()
        assert [str(r["exception"]) for r in reports] == ["disk full"]

    @pytest.mark.asyncio
    async def test_a_consumer_s_exception_is_not_the_source_s(self) -> None:
        reports: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context))
        log: list[str] = []
        seen: list[object] = []

        bridge(3, log).subscribe(lambda _: 1 / 0, seen.append, lambda: seen.append("completed"))
        await settle()

        assert (seen, log, others()) == ([], ["closed"], 0)
        assert [type(r["exception"]) for r in reports] == [ZeroDivisionError]

    @pytest.mark.asyncio
    async def test_an_operator_that_raises_inside_a_call_fails_the_call(self) -> None:
        def broken(source: Observable[int]) -> Observable[int]:
            def on_next(_: int) -> None:
                raise ValueError("a bug in a hook")

            def subscribe(observer: Any, scheduler: Any = None) -> Any:
                return source.subscribe(
                    on_next, observer.on_error, observer.on_completed, scheduler=scheduler
                )

            return Observable(subscribe)

        log: list[str] = []
        with pytest.raises(ValueError, match="a bug in a hook"):
            async for _ in to_async_iterable(broken(bridge(3, log))):
                pass
        assert log == ["closed"]

    @pytest.mark.asyncio
    async def test_a_source_that_swallows_nothing_but_is_cancelled_inside_is_an_error(self) -> None:
        async def waits_for_a_cancelled_task() -> AsyncIterator[int]:
            task = asyncio.ensure_future(asyncio.sleep(60))
            task.cancel()
            await task
            yield 1

        with pytest.raises(AgentScopeError, match="cancelled") as caught:
            await from_async_iterable(waits_for_a_cancelled_task)
        assert isinstance(caught.value.__cause__, asyncio.CancelledError)

    @pytest.mark.asyncio
    async def test_a_cancel_from_outside_is_no_error_of_the_stream(self) -> None:
        seen: list[object] = []
        scheduler = CallScheduler(asyncio.get_running_loop())
        bridge(3, seen, pause=60).subscribe(None, seen.append, scheduler=scheduler)  # type: ignore[arg-type]
        await settle()
        (task,) = scheduler.tasks
        task.cancel()
        await settle()
        assert (seen, task.cancelled()) == (["cancelled", "closed"], True)

    @pytest.mark.asyncio
    async def test_a_deadline_around_a_yield_reaches_the_source(self) -> None:
        scheduler = CallScheduler(asyncio.get_running_loop())
        seen: list[object] = []

        async def hurried() -> AsyncIterator[str]:
            try:
                async with asyncio.timeout(0.01):
                    while True:
                        yield "tick"
            except TimeoutError:
                yield "too late"

        scheduler.gate.clear()
        from_async_iterable(hurried).subscribe(
            seen.append, seen.append, lambda: seen.append("end"), scheduler=scheduler
        )
        await asyncio.sleep(0.03)
        scheduler.gate.set()
        await settle()
        assert seen == ["tick", "too late", "end"]

    @pytest.mark.asyncio
    async def test_a_source_that_never_suspends_gives_way(self) -> None:
        turns: list[int] = []
        seen: list[int] = []
        task = asyncio.ensure_future(_count_turns(turns))
        await bridge(1000, [], pause=None).pipe(ops.do_action(lambda i: seen.append(len(turns))))
        task.cancel()
        assert max(seen.count(turn) for turn in seen) <= 64

    def test_time_operators_around_it_use_the_loop(self) -> None:
        before = threading.active_count()
        assert bridge(3, []).pipe(ops.map(lambda i: i + 1)).run() == 3
        assert threading.active_count() <= before + 1


async def _count_turns(turns: list[int]) -> None:
    while True:
        turns.append(1)
        await asyncio.sleep(0)


class TestFromCoroutine:
    def test_it_is_one_item(self) -> None:
        async def seven() -> int:
            return 7

        assert from_coroutine(seven).pipe(ops.to_list()).run() == [7]

    @pytest.mark.asyncio
    async def test_it_fails_with_the_very_error(self) -> None:
        boom = ValueError("boom")

        async def fails() -> int:
            raise boom

        with pytest.raises(ValueError, match="boom") as caught:
            await from_coroutine(fails)
        assert caught.value is boom

    @pytest.mark.asyncio
    async def test_disposing_cancels_it(self) -> None:
        cancelled: list[bool] = []

        async def waits() -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(True)
                raise

        subscription = from_coroutine(waits).subscribe()
        await settle()
        subscription.dispose()
        await settle()
        assert (cancelled, others()) == ([True], 0)

    @pytest.mark.asyncio
    async def test_cancelling_what_awaits_it_cancels_it(self) -> None:
        log: list[str] = []

        async def reads() -> int:
            return await bridge(3, log, pause=60)

        task = asyncio.ensure_future(reads())
        await settle()
        task.cancel()
        await settle()
        assert (log, others()) == (["cancelled", "closed"], 0)


def delta(text: str, block_id: str = "text-1") -> TextBlockDeltaEvent:
    return TextBlockDeltaEvent("r", block_id, text)


class TestToAsyncIterable:
    @pytest.mark.asyncio
    async def test_it_reads_all_items(self) -> None:
        assert [i async for i in to_async_iterable(bridge(1000, []))] == list(range(1000))

    @pytest.mark.asyncio
    async def test_nothing_is_subscribed_before_the_first_item_is_asked_for(self) -> None:
        subscribed: list[int] = []
        reader = to_async_iterable(rx.defer(lambda _: rx.of(subscribed.append(1))))
        await settle()
        assert subscribed == []
        assert [i async for i in reader] == [None]
        assert subscribed == [1]

    @pytest.mark.asyncio
    async def test_the_error_comes_after_the_items_and_once(self) -> None:
        boom = ValueError("boom")
        reader = to_async_iterable(rx.concat(rx.of(1, 2), rx.throw(boom)))
        seen: list[int] = []

        async def read() -> None:
            async for item in reader:
                seen.append(item)

        with pytest.raises(ValueError, match="boom") as caught:
            await read()
        assert (seen, caught.value is boom) == ([1, 2], True)
        assert [i async for i in reader] == []

    @pytest.mark.parametrize("error", [ValueError("late"), asyncio.CancelledError()])
    @pytest.mark.asyncio
    async def test_what_escapes_from_a_source_is_its_error(self, error: BaseException) -> None:
        def fail(_: int) -> int:
            raise error

        def unsafe(source: rx.Observable[int]) -> rx.Observable[int]:
            return rx.create(
                lambda observer, scheduler: source.subscribe(
                    lambda item: observer.on_next(fail(item)), scheduler=scheduler
                )
            )

        with pytest.raises((ValueError, AgentScopeError)) as caught:
            await anext(to_async_iterable(rx.timer(0.001).pipe(unsafe)))
        assert error in (caught.value, caught.value.__cause__)

    @pytest.mark.asyncio
    async def test_break_in_the_block_disposes_and_waits_for_the_clean_up(self) -> None:
        log: list[str] = []
        async with to_async_iterable(bridge(10**9, log)) as items:
            async for item in items:
                if item == 3:
                    break
        assert (log, others()) == (["cancelled", "closed"], 0)

    @pytest.mark.asyncio
    async def test_an_exception_in_the_block_disposes_and_passes(self) -> None:
        log: list[str] = []

        async def read() -> None:
            async with to_async_iterable(bridge(10**9, log)) as items:
                async for _ in items:
                    raise KeyError

        with pytest.raises(KeyError):
            await read()
        assert (log, others()) == (["cancelled", "closed"], 0)

    @pytest.mark.asyncio
    async def test_break_without_the_block_disposes_when_the_reader_is_gone(self) -> None:
        log: list[str] = []
        reader = to_async_iterable(bridge(10**9, log))
        async for _ in reader:
            break
        await settle()
        assert log == []
        del reader
        gc.collect()
        await settle()
        assert (log, others()) == (["cancelled", "closed"], 0)

    @pytest.mark.asyncio
    async def test_cancelling_the_reader_in_the_block_disposes(self) -> None:
        log: list[str] = []

        async def read() -> None:
            async with to_async_iterable(bridge(3, log, pause=60)) as items:
                async for _ in items:
                    pass

        task = asyncio.ensure_future(read())
        await settle()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (log, others()) == (["cancelled", "closed"], 0)

    @pytest.mark.asyncio
    async def test_a_timeout_around_one_item_loses_nothing(self) -> None:
        items: Subject[int] = Subject()
        reader = to_async_iterable(items)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(reader), 0.001)
        items.on_next(1)
        items.on_next(2)
        assert [await anext(reader), await anext(reader)] == [1, 2]
        await reader.aclose()

    @pytest.mark.asyncio
    async def test_a_closed_reader_is_at_its_end(self) -> None:
        reader = to_async_iterable(bridge(3, []))
        assert await anext(reader) == 0
        await reader.aclose()
        await reader.aclose()
        assert [i async for i in reader] == []

    @pytest.mark.asyncio
    async def test_a_reader_closed_before_use_subscribes_nothing(self) -> None:
        subscribed: list[int] = []
        reader = to_async_iterable(rx.defer(lambda _: rx.of(subscribed.append(1))))
        await reader.aclose()
        assert [i async for i in reader] == []
        assert subscribed == []

    @pytest.mark.asyncio
    async def test_two_tasks_cannot_wait_for_one_reader(self) -> None:
        reader = to_async_iterable(rx.never())
        first = asyncio.ensure_future(anext(reader))
        await settle()
        with pytest.raises(RuntimeError, match="another task"):
            await anext(reader)
        first.cancel()
        await reader.aclose()

    @pytest.mark.parametrize("max_buffer", [0, -1])
    def test_a_buffer_without_room_is_refused(self, max_buffer: int) -> None:
        with pytest.raises(ConfigurationError, match=str(max_buffer)):
            to_async_iterable(rx.never(), max_buffer=max_buffer)

    @pytest.mark.asyncio
    async def test_one_item_is_there_in_the_next_turn(self) -> None:
        items: Subject[int] = Subject()
        reader = to_async_iterable(items)
        task = asyncio.ensure_future(anext(reader))
        await settle()
        items.on_next(1)
        await asyncio.sleep(0)
        assert task.done()
        await reader.aclose()

    @pytest.mark.asyncio
    async def test_items_from_another_thread_arrive_in_order(self) -> None:
        items: Subject[int] = Subject()

        def emit() -> None:
            for i in range(1000):
                items.on_next(i)
            items.on_completed()

        async with to_async_iterable(items) as reader:
            thread = threading.Thread(target=emit)
            thread.start()
            assert [i async for i in reader] == list(range(1000))
            thread.join()

    @pytest.mark.asyncio
    async def test_an_item_of_another_thread_that_comes_too_late_is_dropped(self) -> None:
        items: Subject[int] = Subject()
        async with to_async_iterable(items) as reader:
            thread = threading.Thread(target=items.on_next, args=(1,))
            thread.start()
            thread.join()
        assert [i async for i in reader] == []

    @pytest.mark.asyncio
    async def test_a_slow_reader_holds_the_source_back(self) -> None:
        made: list[int] = []

        async def make() -> AsyncIterator[int]:
            for i in range(1000):
                made.append(i)
                yield i

        async with to_async_iterable(from_async_iterable(make), max_buffer=16) as reader:
            await settle()
            assert len(made) == 17
            assert [await anext(reader) for _ in range(9)] == list(range(9))
            await settle()
            assert 17 < len(made) <= 26
            assert [i async for i in reader] == list(range(9, 1000))

    @pytest.mark.asyncio
    async def test_a_reader_that_leaves_lets_the_source_go_on_for_others(self) -> None:
        shared = bridge(1000, [], pause=None).pipe(ops.share())
        slow = to_async_iterable(shared, max_buffer=4)
        assert await anext(slow) == 0
        rest = asyncio.ensure_future(_last(shared))
        await settle()
        await slow.aclose()
        assert await asyncio.wait_for(rest, 5) == 999

    @pytest.mark.asyncio
    async def test_what_cannot_be_held_back_is_merged_and_nothing_is_lost(self) -> None:
        events: Subject[AgentEvent] = Subject()
        async with to_async_iterable(events, max_buffer=4) as reader:
            for i in range(1000):
                events.on_next(delta(f"{i} "))
            events.on_next(ThinkingBlockDeltaEvent("r", "thinking-1", "hm"))
            events.on_next(delta("end"))
            events.on_completed()
            read = [event async for event in reader]

        assert len(read) <= 8
        texts = [e.delta for e in read if isinstance(e, TextBlockDeltaEvent)]
        assert "".join(texts) == "".join(f"{i} " for i in range(1000)) + "end"
        assert [e.delta for e in read if isinstance(e, ThinkingBlockDeltaEvent)] == ["hm"]

    @pytest.mark.asyncio
    async def test_a_reader_that_keeps_up_gets_every_delta_as_it_came(self) -> None:
        sent = [delta(str(i)) for i in range(300)]

        async def make() -> AsyncIterator[AgentEvent]:
            for event in sent:
                await asyncio.sleep(0)
                yield event

        assert [e async for e in to_async_iterable(from_async_iterable(make), max_buffer=2)] == sent

    @pytest.mark.asyncio
    async def test_a_slow_reader_costs_no_memory_and_loses_nothing(self) -> None:
        counts = {"made": 0, "read": 0}
        end = time.monotonic() + 0.4

        async def make() -> AsyncIterator[AgentEvent]:
            while time.monotonic() < end:
                counts["made"] += 1
                yield delta(f"token {counts['made']} ")

        tracemalloc.start()
        try:
            read: list[str] = []
            async with to_async_iterable(from_async_iterable(make)) as reader:
                base, _ = tracemalloc.get_traced_memory()
                async for event in reader:
                    assert isinstance(event, TextBlockDeltaEvent)
                    counts["read"] += event.delta.count("token")
                    read.append(event.delta[:8])
                    if counts["read"] < 50:
                        await asyncio.sleep(0.005)
                _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert counts["read"] == counts["made"] > 256
        assert peak - base < 2 * 2**20

    @pytest.mark.asyncio
    async def test_the_loop_s_own_scheduler_is_no_call(self) -> None:
        loop_scheduler = AsyncIOScheduler(asyncio.get_running_loop())
        assert await bridge(3, []).pipe(ops.subscribe_on(loop_scheduler)) == 2


async def _last(source: Observable[int]) -> int:
    return await source
