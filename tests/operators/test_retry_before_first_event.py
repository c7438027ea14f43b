from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import reactivex as rx
from attrs import evolve
from reactivex import Observable, operators as ops

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import AgentEvent, ModelCallEndEvent, ModelCallStartEvent
from agentscope_rx.message import ChatUsage
from agentscope_rx.operators import retry_before_first_event, to_msg, well_formed
from tests.operators.marbles import ERROR, LEGEND, Stage, messages

END = LEGEND["W"]
MORE = {
    **LEGEND,
    "N": ModelCallStartEvent("r", "fallback", id="n"),
    "X": evolve(END, id="x"),
    "V": evolve(END, id="v", usage=ChatUsage(3, 4)),
    "v": evolve(END, id="v", usage=ChatUsage(13, 4)),
    "K": evolve(END, id="k", usage=ChatUsage(10)),
    "s": evolve(LEGEND["M"], source="main/researcher"),
}


def attempts(stage: Stage, *marbles: str) -> tuple[list[Any], Observable[Any]]:
    sources = [stage.cold(each) for each in marbles]
    left = iter(sources)
    return sources, rx.defer(lambda _: next(left))


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["-S-a-E-|"], "-S-a-E-|"),
        (["|"], "|"),
        (["-#", "-S-a-|"], "--S-a-|"),
        (["-#", "-#", "-S-|"], "---S-|"),
        (["-#", "-#", "-#"], "---#"),  # the last failure is the stream's
        (["-S-#"], "-S-#"),  # something was said
        (["-#", "-S-#"], "--S-#"),
        (["-3-#"], "-3-#"),  # streams of anything
        (["-#", "-3-|"], "--3-|"),
        (["-M-#", "-M-S-a-E-W-|"], "-M----S-a-E-W-|"),
        (["-M-W-#", "-M-S-a-E-W-|"], "-M------S-a-E-W-|"),  # a failing model call ends itself
        (["-M-X-#", "-M-X-#", "-M-W-#"], "-M-------------(W,#)"),
        (["-M-S-E-W-#"], "-M-S-E-W-#"),
        (["-M-W-|"], "-M---(W,|)"),  # an answer that says nothing
        (["-M-W-x-----|"], "-M---(W,x)-|"),
        (["-M-K-#", "-M-S-E-V-|"], "-M------S-E-v-|"),  # the usage of both
        (["-M-K-#", "-M-V-|"], "-M--------(v,|)"),
        (["-M-X-#", "-N-------S-E-W-|"], "-M----(X,N)---S-E-W-|"),  # another model
        (["-s-#"], "-s-#"),  # a subagent's model call is not the one that is tried again
        (["-W-#"], "-W-#"),
    ],
)
def test_attempts_follow_each_other_until_something_is_said(sources: list[str], expected: str) -> None:
    stage = Stage(MORE)
    colds, source = attempts(stage, *sources)

    assert stage.run(source.pipe(retry_before_first_event(3))) == messages(expected, MORE)
    windows = [window for cold in colds for window in stage.windows(cold)]
    assert len(windows) == len(sources)
    assert all(end == start for (_, end), (start, _) in pairwise(windows)), "one ends when the next begins"


def test_another_model_ends_a_call_that_did_not_end_itself() -> None:
    start, other = MORE["M"], MORE["N"]
    scripts = iter([rx.concat(rx.of(start), rx.throw(ERROR)), rx.of(other, END)])
    events: list[AgentEvent] = (
        rx.defer(lambda _: next(scripts))
        .pipe(retry_before_first_event(2), well_formed(), ops.to_list())
        .run()
    )

    assert [type(event) for event in events] == [ModelCallStartEvent, ModelCallEndEvent] * 2
    assert [events[0], events[2], events[3]] == [start, other, END]


def test_the_message_counts_what_the_failed_attempts_used() -> None:
    answer = [LEGEND[name] for name in "MSaE"]
    scripts = iter(
        [
            rx.concat(rx.of(MORE["M"], MORE["K"]), rx.throw(ERROR)),
            rx.concat(rx.of(MORE["M"], MORE["K"]), rx.throw(ERROR)),
            rx.of(*answer, MORE["V"]),
        ]
    )
    message = rx.defer(lambda _: next(scripts)).pipe(retry_before_first_event(3), to_msg()).run()

    assert message.usage == ChatUsage(23, 4)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_it_counts_attempts_as_rxpys_retry_does(count: int) -> None:
    def subscriptions(operator: Any) -> int:
        made: list[int] = []

        def attempt(_: object) -> Observable[Any]:
            made.append(1)
            return rx.throw(ERROR)

        rx.defer(attempt).pipe(operator).subscribe(on_error=lambda _: None)
        return len(made)

    assert subscriptions(retry_before_first_event(count)) == subscriptions(ops.retry(count)) == count


def test_many_attempts_that_fail_at_once_need_no_stack() -> None:
    errors: list[Exception] = []
    rx.throw(ERROR).pipe(retry_before_first_event(5_000)).subscribe(on_error=errors.append)

    assert errors == [ERROR]


def test_each_subscription_has_its_attempts() -> None:
    stage = Stage()
    source = stage.cold("-M-#")
    pipeline = source.pipe(retry_before_first_event(2))
    first, second = stage.scheduler.create_observer(), stage.scheduler.create_observer()
    pipeline.subscribe(first)
    pipeline.subscribe(second)
    stage.scheduler.start()

    assert len(source.subscriptions) == 4
    assert [note.value.kind for note in first.messages] == ["N", "E"]
    assert first.messages == second.messages


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, None, "2"])
def test_a_count_that_allows_no_attempt_is_refused_where_it_is_written(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="max_attempts"):
        retry_before_first_event(wrong)


@pytest.mark.parametrize(
    ("wait", "sources", "expected"),
    [
        (lambda _, __: 5, ["-#", "-S-|"], "-------S-|"),
        (lambda _, failures: failures * 2, ["-#", "-#", "-S-|"], "---------S-|"),
        (lambda _, __: None, ["-#"], "-#"),
        (lambda _, failures: 3 if failures < 2 else None, ["-M-X-#", "-M-W-#"], "-M-----------(W,#)"),
        (lambda _, __: 0, ["-#", "-S-|"], "--S-|"),
        (lambda error, _: 2 if error is ERROR else None, ["-M-#", "-M-S-|"], "-M------S-|"),
        (lambda _, __: 5, ["-S-#"], "-S-#"),  # nobody asks how long, once something was said
    ],
)
def test_how_long_to_wait_between_attempts_can_be_said(wait: Any, sources: list[str], expected: str) -> None:
    stage = Stage(MORE)
    _, source = attempts(stage, *sources)

    assert stage.run(source.pipe(retry_before_first_event(3, wait=wait))) == messages(expected, MORE)


def test_disposing_in_a_pause_makes_no_further_attempt() -> None:
    stage = Stage()
    colds, source = attempts(stage, "-#", "-S-|")

    assert stage.run(source.pipe(retry_before_first_event(3, wait=lambda _, __: 50)), dispose=20) == []
    assert stage.windows(colds[1]) == []


def test_what_wait_raises_is_the_error() -> None:
    boom = KeyError("mine")
    stage = Stage(MORE)
    _, source = attempts(stage, "-M-W-#")

    def wait(_: Exception, __: int) -> float:
        raise boom

    assert stage.run(source.pipe(retry_before_first_event(3, wait=wait))) == messages(
        "-M---(W,#)", MORE, boom
    )
