"""The guard: whatever operators do to a phase, what comes out is well-formed."""

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
import reactivex as rx
from attrs import evolve
from reactivex import operators as ops

from agentscope_rx import event as ev
from agentscope_rx.agent._guard import guard
from agentscope_rx.agent._mending import Report
from agentscope_rx.errors import MiddlewareProtocolWarning, NotAnEventError
from agentscope_rx.message import ToolResultState

R = "r"
PHASE: list[ev.AgentEvent] = [
    ev.ModelCallStartEvent(R),
    ev.ThinkingBlockStartEvent(R, "thinking-1"),
    ev.ThinkingBlockDeltaEvent(R, "thinking-1", "hm"),
    ev.ThinkingBlockEndEvent(R, "thinking-1"),
    ev.TextBlockStartEvent(R, "text-1"),
    ev.TextBlockDeltaEvent(R, "text-1", "a"),
    ev.TextBlockDeltaEvent(R, "text-1", "b"),
    ev.TextBlockEndEvent(R, "text-1"),
    ev.ToolCallStartEvent(R, "c1", "f"),
    ev.ToolCallDeltaEvent(R, "c1", "f", "{}"),
    ev.ToolCallEndEvent(R, "c1", "f"),
    ev.ModelCallEndEvent(R),
    ev.ToolResultStartEvent(R, "c1", "f"),
    ev.ToolResultTextDeltaEvent(R, "c1", "f", "ok"),
    ev.ToolResultEndEvent(R, "c1", "f", ToolResultState.SUCCESS),
]
NAMES = {"Start", "Delta", "End"}


class Told(Report):
    """Remembers instead of warning."""

    def __init__(self, told: list[str] | None) -> None:
        super().__init__("hook")
        self.told = [] if told is None else told

    def __call__(self, what: str, remedy: str) -> None:
        self.told.append(what)


def put_right(
    events: Sequence[Any], error: Exception | None = None, told: list[str] | None = None, frame: bool = False
) -> tuple[list[Any], Exception | None]:
    source = rx.from_iterable(events)
    if error is not None:
        source = source.pipe(ops.concat(rx.throw(error)))
    out: list[Any] = []
    errors: list[Exception] = []
    source.pipe(guard(R, Told(told), frame=frame)).subscribe(out.append, errors.append)
    return out, errors[0] if errors else None


def assert_grammar(events: Sequence[ev.AgentEvent]) -> None:
    """Starts have Ends, deltas lie between: written on its own, by names."""
    opened: set[tuple[str, str]] = set()
    for event in events:
        name = type(event).__name__.removesuffix("Event")
        part = next((part for part in NAMES if name.endswith(part)), None)
        if part is None:
            continue
        family = name.removesuffix("Delta").removesuffix("Start").removesuffix("End")
        family = "ToolResult" if family.startswith("ToolResult") else family
        key = (family, getattr(event, "block_id", "") + getattr(event, "tool_call_id", ""))
        if part == "Start":
            assert key not in opened
            opened.add(key)
        else:
            assert key in opened
            if part == "End":
                opened.remove(key)
    assert not opened


def test_a_well_formed_phase_passes_untouched() -> None:
    told: list[str] = []

    assert put_right(PHASE, told=told) == (PHASE, None)
    assert told == []


@pytest.mark.parametrize("error", [None, ValueError("boom")])
def test_every_prefix_is_ended_and_the_very_error_forwarded(error: Exception | None) -> None:
    for length in range(len(PHASE) + 1):
        out, raised = put_right(PHASE[:length], error)

        assert_grammar(out)
        assert PHASE[:length] == out[:length]
        assert raised is error


def test_every_drop_swap_and_replay_of_two_events_is_put_right() -> None:
    for left, right in itertools.combinations(range(len(PHASE)), 2):
        dropped = [event for at, event in enumerate(PHASE) if at not in (left, right)]
        swapped = list(PHASE)
        swapped[left], swapped[right] = swapped[right], swapped[left]
        replayed = PHASE[: right + 1] + PHASE[left:]
        for events in (dropped, swapped, replayed):
            assert_grammar(put_right(events)[0])


def test_a_start_of_an_open_block_ends_it_first() -> None:
    start = ev.TextBlockStartEvent(R, "text-1")

    out, _ = put_right([start, start, ev.TextBlockEndEvent(R, "text-1")])

    assert [type(event).__name__ for event in out] == ["TextBlockStartEvent", "TextBlockEndEvent"] * 2


def test_a_start_of_an_open_result_ends_it_as_none_and_begins_afresh() -> None:
    start, delta, end = PHASE[12:15]

    out, _ = put_right([start, delta, evolve(start, id="again"), end])

    assert [type(event) for event in out[2:]] == [ev.ToolResultEndEvent, ev.ToolResultStartEvent, type(end)]
    assert (out[2].state, out[2].is_suspended) == (ToolResultState.RUNNING, False)


def test_a_second_model_call_ends_what_the_first_left_open() -> None:
    out, _ = put_right([*PHASE[:6], ev.ModelCallStartEvent(R), ev.ModelCallEndEvent(R)])

    ended = [type(event).__name__ for event in out[6:]]
    assert ended == ["TextBlockEndEvent", "ModelCallEndEvent", "ModelCallStartEvent", "ModelCallEndEvent"]


def test_an_open_result_is_interrupted_or_after_a_failure_an_error() -> None:
    assert ToolResultState.INTERRUPTED is put_right(PHASE[12:14])[0][-1].state
    assert ToolResultState.ERROR is put_right(PHASE[12:14], ValueError())[0][-1].state


def test_events_of_the_top_level_get_the_reply_id_and_those_of_subagents_keep_theirs() -> None:
    child = evolve(PHASE[5], reply_id="other", source="main/sub")

    out, _ = put_right(
        [evolve(event, reply_id="x") for event in PHASE[:12]] + [child, ev.RequestStopEvent("enough")]
    )

    assert child is out[12]
    assert {R} == {event.reply_id for event in out if event is not child}


def test_what_belongs_to_nobody_passes() -> None:
    events = [ev.CustomEvent("progress", {"at": 1}), ev.UnknownEvent({"type": "NEW"})]

    assert events == put_right(events)[0]


def test_the_frame_of_a_call_passes_only_outside() -> None:
    end = ev.AgentEndEvent(R)

    assert put_right([end])[0] == []
    assert [end] == put_right([end], frame=True)[0]


@pytest.mark.parametrize("item", [None, "text", [PHASE[0]], 3])
def test_an_item_that_is_no_event_is_an_error_after_the_ends(item: object) -> None:
    out, error = put_right([*PHASE[:6], item, *PHASE[6:]])

    assert isinstance(error, NotAnEventError)
    assert repr(item) in str(error)
    assert [type(event).__name__ for event in out[6:]] == ["TextBlockEndEvent", "ModelCallEndEvent"]


def test_it_is_reported_once_per_hook_and_call() -> None:
    def report_three_times() -> None:
        on_acting = Report("on_acting")
        on_acting("dropped X", "do Y")
        on_acting("dropped Z", "do Y")
        Report("on_model_call")("dropped Z", "do Y")

    with pytest.warns(MiddlewareProtocolWarning, match=r"on_\w+: dropped [XZ]; do Y") as caught:
        report_three_times()

    assert [str(w.message) for w in caught] == [
        "on_acting: dropped X; do Y",
        "on_model_call: dropped Z; do Y",
    ]


def test_nothing_is_reported_where_nothing_was_wrong() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rx.from_iterable(PHASE).pipe(guard(R, Report("on_acting"))).subscribe()
