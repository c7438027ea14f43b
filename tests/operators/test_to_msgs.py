from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
import reactivex
from attrs import evolve

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    ConfirmResult,
    ErrorInfo,
    RequireUserConfirmEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ToolCallStartEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.identity import Emitter, emitting
from agentscope_rx.message import GenerateReason, Msg, ToolUseBlock
from agentscope_rx.operators import to_msg, to_msgs
from tests.operators.marbles import Stage, messages


def said(reply_id: str, text: str, *, ends: bool = True) -> list[AgentEvent]:
    with emitting(Emitter(f"{reply_id}-")):
        return [
            AgentStartEvent("s", reply_id),
            TextBlockStartEvent(reply_id, "text"),
            TextBlockDeltaEvent(reply_id, "text", text),
            TextBlockEndEvent(reply_id, "text"),
            *([AgentEndEvent(reply_id)] if ends else []),
        ]


def through(events: Iterable[AgentEvent], **arguments: Any) -> list[tuple[str, str]]:
    made: list[Msg] = []
    reactivex.from_iterable(events).pipe(to_msgs(**arguments)).subscribe(made.append)
    return [(message.id, message.text_content) for message in made]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("-A-S-a-E-Z-|  ", "---------1-|   "),
        ("-A-S-a-|      ", "-------(1,|)   "),
        ("-A-S-a-#      ", "-------(1,#)   "),
        ("-|            ", "-|             "),
    ],
)
def test_a_message_comes_at_the_end_of_its_reply_or_of_the_stream(source: str, expected: str) -> None:
    stage = Stage()
    made = stage.run(stage.cold(source.strip()).pipe(to_msgs()))

    assert [(tick, kind) for tick, kind, _ in made] == [
        (tick, kind) for tick, kind, _ in messages(expected.strip())
    ]


def test_replies_one_after_the_other_make_a_message_each() -> None:
    assert through([*said("r1", "one"), *said("r2", "two")]) == [("r1", "one"), ("r2", "two")]


def test_replies_side_by_side_make_a_message_each_as_they_end() -> None:
    one, two = said("r1", "one"), said("r2", "two")
    side_by_side = [event for pair in zip(one[:-1], two[:-1], strict=True) for event in pair]

    assert through([*side_by_side, two[-1], one[-1]]) == [("r2", "two"), ("r1", "one")]


def test_what_still_runs_comes_last_in_order_of_opening() -> None:
    events = [*said("r1", "one", ends=False), *said("r2", "two", ends=False), *said("r3", "three")]

    assert through([*events, TextBlockStartEvent("r1", "more")]) == [
        ("r3", "three"),
        ("r1", "one\n"),
        ("r2", "two"),
    ]


def test_a_paused_reply_comes_again_and_fuller() -> None:
    call = ToolUseBlock("c", "search")
    paused = [
        *said("r", "Look.", ends=False),
        ToolCallStartEvent("r", "c", "search"),
        RequireUserConfirmEvent("r", [call]),
        AgentEndEvent("r"),
    ]
    other = said("r2", "meanwhile")
    resumed = [
        AgentStartEvent("s", "r"),
        UserConfirmResultEvent("r", [ConfirmResult(False, call)]),
        *(evolve(event, id=f"{event.id}-2") for event in said("r", "Found.")[1:]),
    ]

    assert through([*paused, *other, *resumed]) == [
        ("r", "Look."),
        ("r2", "meanwhile"),
        ("r", "Look.\nFound."),
    ]


@pytest.mark.parametrize(
    "end",
    [
        AgentEndEvent("r", GenerateReason.ACTING_STOP_REQUESTED),
        AgentEndEvent("r", error=ErrorInfo("ModelError", "broken")),
    ],
)
def test_a_reply_that_stopped_or_failed_may_go_on(end: AgentEndEvent) -> None:
    stopped = [*said("r", "one", ends=False), end]
    more = [evolve(event, id=f"{event.id}-2") for event in said("r", "two")]

    assert through([*stopped, *said("r2", "meanwhile"), *more])[-1] == ("r", "one\ntwo")


def test_late_and_repeated_events_make_no_message() -> None:
    one = said("r1", "one")
    late = [evolve(event, id=f"{event.id}-late") for event in one[1:]]

    assert through([*one, *late, *one]) == [("r1", "one")]
    assert through([*one, *said("r2", "two"), *late, *one, *said("r2", "two")]) == [
        ("r1", "one"),
        ("r2", "two"),
    ]


def test_only_the_newest_finished_replies_are_remembered() -> None:
    replies = [said(f"r{number}", "x") for number in range(5)]
    events = [event for reply in replies for event in reply]

    assert len(through([*events, *events])) == 5
    assert len(through([*events, *events], remember=2)) == 10


def test_events_that_name_no_reply_belong_to_the_one_that_spoke() -> None:
    nameless = [
        evolve(event, reply_id="", id=f"n{index}") for index, event in enumerate(said("", "more")[1:-1])
    ]
    one = said("r1", "one", ends=False)

    assert through([*one, *nameless, AgentEndEvent("r1")]) == [("r1", "one\nmore")]
    assert through([*said("r1", "one"), *nameless]) == [("r1", "one")]
    assert through(nameless) == [("", "more")]
    assert through([*nameless, *said("r1", "one")]) == [("r1", "one")]


def test_a_subagents_events_make_no_message() -> None:
    child = [evolve(event, source="main/helper") for event in said("c", "child")]

    assert through([*child, *said("r1", "one"), *child]) == [("r1", "one")]


def test_a_call_is_a_message_where_reply_ids_differ() -> None:
    call = [
        AgentStartEvent("s", "R0"),
        *said("R1", "one")[1:-1],
        *said("R2", "two")[1:-1],
        AgentEndEvent("R0"),
    ]
    other = [AgentStartEvent("s", "R9"), *said("R8", "three")[1:-1], AgentEndEvent("R9")]

    assert through([*call, *other], scope="call") == [("R0", "one\ntwo"), ("R9", "three")]
    assert through([*call[:-1], *other], scope="call") == [("R9", "three"), ("R0", "one\ntwo")]
    assert through([*call, *other, *call], scope="call") == [("R0", "one\ntwo"), ("R9", "three")]


def test_a_paused_call_goes_on_under_another_id_and_keeps_the_messages() -> None:
    paused = reactivex.from_iterable(
        [AgentStartEvent("s", "R0"), *said("R1", "one")[1:-1], AgentEndEvent("R0")]
    )
    message = paused.pipe(to_msg(scope="call")).run()
    resumed = [AgentStartEvent("s", "R5"), *said("R6", "two")[1:-1], AgentEndEvent("R5")]

    assert through(resumed, seed=message, scope="call") == [("R0", "one\ntwo")]
    assert reactivex.from_iterable(resumed).pipe(to_msg(seed=message, scope="call")).run().id == "R0"


def test_a_seed_goes_on_beside_other_replies() -> None:
    paused = reactivex.from_iterable(said("r1", "one", ends=False)).pipe(to_msg()).run()

    assert through([*said("r2", "two"), AgentEndEvent("r1")], seed=paused) == [("r2", "two"), ("r1", "one")]
    assert through([], seed=paused) == [("r1", "one")]


@pytest.mark.parametrize("arguments", [{"remember": -1}, {"scope": "x"}, {"seed": "x"}])
def test_wrong_arguments_are_refused_at_the_call(arguments: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        to_msgs(**arguments)
