"""Operators that may do harm in a hook: those that fail, drop, repeat, delay and exchange events."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import reactivex as rx
from attrs import evolve
from reactivex import Observable, operators as ops

from agentscope_rx import event as ev, operators as agent_ops
from agentscope_rx.interop import from_async_iterable, to_async_iterable

__all__ = ["OPERATORS", "letting_escape_at"]

Events = Observable[ev.AgentEvent]
Function = Callable[[Events], Any]


def failing_at(count: int) -> Function:
    def operator(source: Events) -> Events:
        return source.pipe(ops.map_indexed(lambda event, index: event if index < count else 1 / 0))  # type: ignore[arg-type, return-value]

    return operator


def failing_once_at(count: int) -> Function:
    seen: list[int] = []

    def count_up(event: ev.AgentEvent) -> ev.AgentEvent:
        seen.append(1)
        return 1 / 0 if len(seen) == count else event  # type: ignore[return-value]

    return ops.map(count_up)


def letting_escape_at(count: int, error: BaseException) -> Function:
    def operator(source: Events) -> Events:
        def subscribe(observer: Any, scheduler: Any = None) -> Any:
            left = [count]

            def on_next(event: ev.AgentEvent) -> None:
                left[0] -= 1
                if left[0] == 0:
                    raise error
                observer.on_next(event)

            return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

        return Observable(subscribe)

    return operator


def renamed(event: ev.AgentEvent) -> ev.AgentEvent:
    return evolve(event, block_id="other") if isinstance(event, ev.BlockEvent) else event


def of_another_reply(event: ev.AgentEvent) -> ev.AgentEvent:
    return evolve(event, reply_id="other") if isinstance(event, ev.ReplyEvent) else event


def backwards(source: Events) -> Events:
    return source.pipe(ops.to_list(), ops.flat_map(lambda events: rx.from_iterable(events[::-1])))


def read_in_asyncio(source: Events) -> Events:
    async def read() -> Any:
        async with to_async_iterable(source) as events:
            async for event in events:
                yield event

    return from_async_iterable(read)


def without(*classes: type[ev.AgentEvent]) -> Function:
    return ops.filter(lambda event: not isinstance(event, classes))


OPERATORS: Final[dict[str, Function]] = {
    "retry": lambda s: s.pipe(failing_once_at(4), ops.retry(3)),
    "fail": failing_at(3),
    "catch": lambda s: s.pipe(failing_at(3), ops.catch(rx.empty())),
    "catch with itself": lambda s: s.pipe(failing_at(4), ops.catch(s)),
    "timeout": ops.timeout(0.002),
    "timeout with another": ops.timeout(0.002, rx.empty()),
    "timeout with itself": lambda s: s.pipe(ops.timeout(0.002, s)),
    "take": ops.take(3),
    "take one": ops.take(1),
    "skip": ops.skip(2),
    "take the last": ops.take_last(3),
    "take while, with it": ops.take_while(
        lambda e: not isinstance(e, (ev.TextBlockDeltaEvent, ev.ToolResultTextDeltaEvent)), inclusive=True
    ),
    "no Starts": without(ev.TextBlockStartEvent, ev.ToolCallStartEvent, ev.ToolResultStartEvent),
    "no Ends": without(ev.TextBlockEndEvent, ev.ToolCallEndEvent, ev.ToolResultEndEvent),
    "no model calls": without(ev.ModelCallStartEvent, ev.ModelCallEndEvent),
    "no frame": without(ev.AgentStartEvent, ev.AgentEndEvent, ev.AgentResultEvent),
    "no deltas": without(ev.TextBlockDeltaEvent, ev.ToolCallDeltaEvent, ev.ToolResultTextDeltaEvent),
    "nothing": ops.ignore_elements(),
    "empty": lambda _: rx.empty(),
    "throw": lambda _: rx.throw(KeyError("mine")),
    "other block": ops.map(renamed),
    "other reply": ops.map(of_another_reply),
    "no event": ops.map(lambda _: None),
    "buffer": ops.buffer_with_count(2),
    "buffer and flatten": lambda s: s.pipe(ops.buffer_with_count(3), ops.flat_map(rx.from_iterable)),
    "debounce": ops.debounce(0.0005),
    "delay": ops.delay(0.001),
    "sample": ops.sample(0.001),
    "switch": lambda s: s.pipe(
        ops.map(lambda e: rx.of(e).pipe(ops.delay(0.0003))),
        ops.switch_latest(),
    ),
    "backwards": backwards,
    "twice": ops.flat_map(lambda event: rx.of(event, event)),
    "orphan first": ops.start_with(ev.TextBlockDeltaEvent("", "q", "x")),
    "foreign first": ops.start_with(ev.CustomEvent("c", {}), ev.UnknownEvent({"type": "NEW"})),
    "merge with itself": lambda s: s.pipe(ops.merge(s)),
    "concat with itself": lambda s: s.pipe(ops.concat(s)),
    "repeat": ops.repeat(2),
    "share": ops.share(),
    "publish": ops.publish(lambda shared: shared.pipe(ops.merge(shared))),
    "distinct": ops.distinct_until_changed(),
    "coalesce": agent_ops.coalesce(),
    "retry before the first": agent_ops.retry_before_first_event(2),
    "stop": lambda s: s.pipe(ops.concat(rx.of(ev.RequestStopEvent("enough")))),
    "asyncio": read_in_asyncio,
    "escape": letting_escape_at(3, ValueError("mine")),
    "escape, cancelled": letting_escape_at(3, asyncio.CancelledError()),
    "escape on a timer": lambda s: s.pipe(ops.delay(0.0005), letting_escape_at(3, ValueError("mine"))),
}
