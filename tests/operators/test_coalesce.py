from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
import reactivex as rx
from attrs import evolve
from reactivex import operators as ops
from reactivex.subject import Subject

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import AgentEvent, DataBlockDeltaEvent, TextBlockDeltaEvent
from agentscope_rx.operators import coalesce, to_msg, with_source
from tests.operators.marbles import LEGEND, Stage, messages


def joined(names: str, delta: str | None = None) -> AgentEvent:
    return evolve(LEGEND[names[-1]], delta=delta or names)


MORE = {
    **LEGEND,
    "2": joined("ab"),
    "3": joined("abc"),
    "4": joined("bc"),
    "5": joined("ac"),
    "d": evolve(LEGEND["a"], block_id="text-2", id="d"),
    "k": with_source(LEGEND["a"], "main/researcher"),
    "n": evolve(LEGEND["a"], id="", delta="n"),
    "m": evolve(LEGEND["a"], id="", block_id="text-2"),
    "nn": evolve(LEGEND["a"], id="", delta="nn"),
    "i": DataBlockDeltaEvent("r", "data-1", "AAAA", id="i"),
    "j": DataBlockDeltaEvent("r", "data-1", "BBBB", media_type="image/png", id="j"),
    "h": DataBlockDeltaEvent("r", "data-1", "CCCC", media_type="image/jpeg", id="h"),
    "l": DataBlockDeltaEvent("r", "data-1", url="https://example.com", id="l"),
}
MORE["6"] = evolve(MORE["j"], data="AAAABBBB")
# A diagram's numbers are numbers.
MORE |= {int(name): event for name, event in MORE.items() if name.isdecimal()}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("-S-a-b-c-E-----|", "-S-------(3,E)-|"),  # until something else comes
        ("-a-b-|", "-----(2,|)"),
        ("-a-b-#", "-----(2,#)"),
        ("-a-|", "---(a,|)"),
        ("-a-d-b-|", "---a-d-(b,|)"),  # another block
        ("-a-k-b-|", "---a-k-(b,|)"),  # a subagent's
        ("-a-t-|", "---a-(t,|)"),
        ("-a-x-----b-|", "---(a,x)---(b,|)"),
        ("-a-u-----b-|", "---(a,u)---(b,|)"),
        ("-x-S-E-Z-|", "-x-S-E-Z-|"),
        ("-i-j-|", "-----(6,|)"),
        ("-j-h-|", "---j-(h,|)"),  # another media type
        ("-i-l-|", "---i-(l,|)"),  # an address
        ("-a-b-", "------"),
    ],
)
def test_neighbouring_deltas_of_one_block_become_one(source: str, expected: str) -> None:
    stage = Stage(MORE)
    came = stage.run(stage.cold(source).pipe(coalesce(timespan=None)))

    assert came == messages(expected, MORE)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("-a-b-b-c-|", "---------(3,|)"),
        ("-a-b-a-b-c-|", "-----------(3,|)"),  # a reconnection sends both again
        ("-a-E-----a-b-c-|", "---(a,E)-------(4,|)"),  # the first is out already
        ("-n-n-|", "-----(nn,|)"),  # without ids nothing is a copy
    ],
)
def test_a_copy_is_not_said_twice(source: str, expected: str) -> None:
    stage = Stage(MORE)
    came = stage.run(stage.cold(source).pipe(coalesce(timespan=None)))

    assert came == messages(expected, MORE)


@pytest.mark.parametrize(
    ("source", "how", "expected"),
    [
        ("-a-b-c-|", {"count": 2, "timespan": None}, "---2---(c,|)"),
        ("-a-b-c-|", {"count": 1}, "-a-b-c-|"),
        ("-a--------", {"timespan": 4}, "-----a----"),  # a lone delta comes out in silence
        ("-a-b------", {"timespan": timedelta(seconds=4)}, "-----2----"),
        ("-a------b-c-----", {"timespan": 4}, "-----a------4---"),
        ("-a-x-----b------", {"timespan": 4}, "---(a,x)-----b--"),
        ("--a-E---b-------", {"timespan": 4}, "----(a,E)---b---"),  # the timer of a is armed again for b
        ("-a-b-c---", {"count": 2, "timespan": 3}, "---2----c"),
    ],
)
def test_no_delta_is_kept_longer_than_was_said(source: str, how: dict[str, Any], expected: str) -> None:
    stage = Stage(MORE)

    assert stage.run(stage.cold(source).pipe(coalesce(**how))) == messages(expected, MORE)


def test_by_default_a_delta_comes_out_after_50_milliseconds() -> None:
    stage = Stage(MORE)
    [(tick, _, event)] = stage.run(stage.cold("-a-").pipe(coalesce()))

    assert (round(tick, 6), event) == (1.05, LEGEND["a"])


def test_there_is_one_timer_at_a_time_however_many_deltas_come() -> None:
    stage = Stage(MORE)
    armed: list[float] = []

    class Clock:
        now = property(lambda _: stage.scheduler.now)

        def schedule_relative(self, seconds: float, action: Any, state: Any = None) -> Any:
            armed.append(seconds)
            return stage.scheduler.schedule_relative(seconds, action, state)

    clock: Any = Clock()
    came = stage.run(stage.cold("-n-m" * 25 + "|").pipe(coalesce(timespan=41, scheduler=clock)))

    assert len(came) == 51
    assert armed == [41, 40, 40]  # at 1; at 42 for what came at 41; at 82 for what came at 81


def test_disposal_releases_the_source_and_the_timer() -> None:
    stage = Stage(MORE)
    source = stage.cold("-a-------b-")
    came = stage.run(source.pipe(coalesce(timespan=5)), dispose=3)

    assert came == []
    assert stage.windows(source) == [(0, 3)]


def test_a_lone_delta_comes_out_on_a_timers_thread_while_the_source_is_silent() -> None:
    source: Subject[AgentEvent] = Subject()
    came = threading.Event()
    events: list[AgentEvent] = []

    def take(event: AgentEvent) -> None:
        events.append(event)
        came.set()

    with source.pipe(coalesce(timespan=0.01)).subscribe(take):
        source.on_next(LEGEND["a"])
        assert came.wait(20)

    assert events == [LEGEND["a"]]


@pytest.mark.parametrize("how", [{}, {"count": 3}, {"count": 1}, {"timespan": None}])
def test_the_message_stays_the_same(how: dict[str, Any]) -> None:
    events = [LEGEND["A"], LEGEND["S"]]
    events += [TextBlockDeltaEvent("r", "text-1", f"{number} ") for number in range(10)]
    events += [*events[2:6], *(LEGEND[name] for name in "ETtURoQZ")]
    source = rx.from_iterable(events)

    assert source.pipe(coalesce(**how), to_msg()).run() == source.pipe(to_msg()).run()


def test_many_deltas_are_joined_in_linear_time() -> None:
    deltas = [TextBlockDeltaEvent("r", "text-1", "x" * 100) for _ in range(20_000)]
    merged = rx.from_iterable(deltas).pipe(coalesce(timespan=None), ops.to_list()).run()

    assert [event.delta for event in merged] == ["x" * 2_000_000]
    assert merged[0].id == deltas[-1].id


@pytest.mark.parametrize(
    "wrong", [{"count": 0}, {"count": -1}, {"timespan": -0.1}, {"timespan": timedelta(-1)}]
)
def test_wrong_arguments_are_refused_where_they_are_written(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="coalesce"):
        coalesce(**wrong)


def test_of_replies_that_never_end_only_the_newest_are_known() -> None:
    first = TextBlockDeltaEvent("r-0", "t", "first")
    others = [TextBlockDeltaEvent(f"r-{number}", "t", "x") for number in range(1, 1_001)]
    made = rx.from_iterable([first, *others, others[0], first]).pipe(coalesce(), ops.to_list()).run()

    assert made == [first, *others, first]
