"""Ids are unique across calls, threads, forks and processes; times never go back; tests replace both."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise

import pytest

from agentscope_rx import identity
from agentscope_rx.identity import (
    deterministic,
    emitting,
    format_timestamp,
    new_emitter,
    new_id,
    now,
)
from agentscope_rx.message import UserMessage


def test_ids_of_one_call_are_a_prefix_and_a_count_and_rise_as_strings() -> None:
    emitter = new_emitter()
    with emitting(emitter):
        ids = [new_id() for _ in range(1_001)]

    assert ids == [f"{emitter.prefix}{count}" for count in range(1_000_000, 1_001_001)]
    assert ids == sorted(ids)


def test_each_call_has_its_own_prefix_and_leaves_the_one_around_it_alone() -> None:
    outer, inner = new_emitter(), new_emitter()
    with emitting(outer):
        first = new_id()
        with emitting(inner):
            between = new_id()
        second = new_id()

    assert (first, second) == (f"{outer.prefix}1000000", f"{outer.prefix}1000001")
    assert between == f"{inner.prefix}1000000"
    assert outer.prefix != inner.prefix


def test_ids_are_unique_across_threads() -> None:
    with ThreadPoolExecutor(8) as pool:
        batches = pool.map(lambda _: [new_id() for _ in range(2_000)], range(8))

    ids = [id for batch in batches for id in batch]
    assert len(set(ids)) == len(ids)


def test_ids_are_unique_across_processes() -> None:
    script = "from agentscope_rx.identity import new_id; print(new_id())"
    children = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]

    assert len({*children, new_id()}) == 3


FORK = """
import contextvars, os, sys
from agentscope_rx.identity import emitting, new_emitter, new_id

with emitting(new_emitter()):
    new_id()
    child = os.fork()
    elsewhere = contextvars.Context().run(new_id)  # as a new thread would: outside the call
    if child:
        os.waitpid(child, 0)
    print(new_id(), elsewhere, new_emitter().prefix, flush=True)
"""


def test_ids_are_unique_after_a_fork_whichever_emitter_made_them() -> None:
    output = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True).stdout

    assert len(output.split()) == len(set(output.split())) == 6


def test_times_are_iso_8601_in_utc_with_milliseconds() -> None:
    with clock(1_767_323_045_678_999_999):
        assert now() == "2026-01-02T03:04:05.678Z"
    with clock(1_767_323_045_000_000_000):
        assert now() == "2026-01-02T03:04:05.000Z"


@contextmanager
def clock(*nanoseconds: int) -> Iterator[None]:
    times = iter(nanoseconds)
    saved = identity._clock, identity._stamp
    identity._clock, identity._stamp = lambda: next(times), (-1, "")
    try:
        yield
    finally:
        identity._clock, identity._stamp = saved


def test_times_never_go_back_when_the_clock_does() -> None:
    with clock(2_000_000, 1_000_000, 1_999_999, 3_000_000):
        times = [now() for _ in range(4)]

    assert times == [
        "1970-01-01T00:00:00.002Z",
        "1970-01-01T00:00:00.002Z",
        "1970-01-01T00:00:00.002Z",
        "1970-01-01T00:00:00.003Z",
    ]


def test_times_never_go_back_for_any_thread() -> None:
    def watch() -> bool:
        return all(earlier <= later for earlier, later in pairwise([now() for _ in range(5_000)]))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda _: watch(), range(4)))


def test_deterministic_replaces_ids_and_clock_and_puts_them_back() -> None:
    with deterministic("x", start="2026-01-01T00:00:00.500Z", step_ms=250):
        assert [new_id(), new_id()] == ["x1", "x2"]
        assert [now(), now()] == ["2026-01-01T00:00:00.500Z", "2026-01-01T00:00:00.750Z"]
        with emitting(new_emitter()):
            assert new_id() == "x3", "a call's emitter is replaced, too"

    assert not new_id().startswith("x")
    assert now() > "2026-06"


def test_deterministic_puts_back_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), deterministic("x"):
        _ = 1 / 0

    assert not new_id().startswith("x")


def test_deterministic_reaches_other_threads_and_overrides_the_call_around_it() -> None:
    ids: list[str] = []
    with emitting(new_emitter()), deterministic("x"):
        thread = threading.Thread(target=lambda: ids.append(new_id()))
        thread.start()
        thread.join()
        ids.append(UserMessage("hi").id)

    assert ids == ["x1", "x2"]


@pytest.mark.parametrize(
    ("created_at", "timestamp"),
    [
        ("2026-01-02T03:04:05.678Z", "2026-01-02 03:04:05.678"),
        ("2026-01-02T03:04:05.678999Z", "2026-01-02 03:04:05.678"),
        ("2026-01-02T03:04:05.678999999Z", "2026-01-02 03:04:05.678"),
        ("2026-01-02T03:04:05.6Z", "2026-01-02 03:04:05.600"),
        ("2026-01-02T03:04:05Z", "2026-01-02 03:04:05.000"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02 01:04:05.000"),
        ("2026-01-02T03:04:05.5", "2026-01-02 03:04:05.500"),
        ("", ""),
        ("yesterday", "yesterday"),
    ],
)
def test_an_events_time_becomes_a_messages(created_at: str, timestamp: str) -> None:
    assert format_timestamp(created_at) == timestamp
