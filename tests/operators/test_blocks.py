from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
import reactivex
from attrs import evolve

from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    ConfirmResult,
    RequireUserConfirmEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ToolResultEndEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.message import (
    ContentBlock,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.operators import blocks
from tests.operators.marbles import LEGEND, Stage, messages

TEXT = TextBlock("ab")
CALL = ToolUseBlock("call-1", "search", {}, "{}", state=ToolCallState.FINISHED)
OPEN_CALL = evolve(CALL, state=ToolCallState.PENDING)
RESULT = ToolResultBlock("call-1", "search", [TextBlock("out")], state=ToolResultState.SUCCESS)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("-A-S-a-b-E-Z-|             ", "---------x---|"),
        ("-A-S-a-b-|                 ", "---------(x,|)"),
        ("-A-S-a-b-Z-|               ", "---------x-|"),
        ("-A-T-t-U-R-o-Q-----|       ", "-------------(y,z)-|"),
        ("-A-T-t-U-S-a-b-E---|       ", "-------------------(p,x,|)"),
        ("-A-T-t-U-S-a-b-E-R-o-Q-------|", "---------------------(y,x,z)-|"),
        ("-A-S-a-b-#                 ", "---------#"),
        ("-|                         ", "-|"),
    ],
)
def test_blocks_come_when_they_are_finished_in_order_of_opening(source: str, expected: str) -> None:
    stage = Stage()
    made = stage.run(stage.cold(source.strip()).pipe(blocks()))

    assert made == messages(expected, {"x": TEXT, "y": CALL, "z": RESULT, "p": OPEN_CALL})


def through(events: list[AgentEvent]) -> list[ContentBlock]:
    made: list[ContentBlock] = []
    reactivex.from_iterable(events).pipe(blocks()).subscribe(made.append)
    return made


def lifecycle(key: str) -> list[AgentEvent]:
    return [
        TextBlockStartEvent("r", key),
        TextBlockDeltaEvent("r", key, key),
        TextBlockDeltaEvent("r", key, "!"),
        TextBlockEndEvent("r", key),
    ]


@pytest.mark.parametrize("places", list(combinations(range(8), 4)))
def test_blocks_keep_the_order_of_their_starts_when_their_ends_interleave(places: tuple[int, ...]) -> None:
    left, right = iter(lifecycle("a")), iter(lifecycle("b"))
    events = [next(left) if place in places else next(right) for place in range(8)]
    first, second = ("a!", "b!") if 0 in places else ("b!", "a!")

    assert through(events) == [TextBlock(first), TextBlock(second)]


def test_a_key_that_is_opened_again_is_another_block() -> None:
    assert through([*lifecycle("a"), *lifecycle("a")]) == [TextBlock("a!")] * 2


def test_a_paused_reply_keeps_its_open_call_until_it_is_answered() -> None:
    asked = ToolUseBlock("call-1", "search")
    question = RequireUserConfirmEvent("r", [asked])
    paused: list[Any] = [*(LEGEND[letter] for letter in "ATtU"), question, AgentEndEvent("r")]
    resumed: list[Any] = [
        AgentStartEvent("s", "r"),
        UserConfirmResultEvent("r", [ConfirmResult(True, asked)]),
        *(LEGEND[letter] for letter in "RoQ"),
        AgentEndEvent("r"),
    ]
    made: list[ContentBlock] = []
    source: Any = reactivex.subject.Subject()
    source.pipe(blocks()).subscribe(made.append)

    for event in paused:
        source.on_next(event)
    assert made == []
    for event in resumed:
        source.on_next(event)
    assert made == [CALL, RESULT]


def test_a_suspended_result_waits_for_its_outcome() -> None:
    suspended = ToolResultEndEvent("r", "call-1", "search", ToolResultState.RUNNING)
    events: list[Any] = [*(LEGEND[letter] for letter in "ATtURo"), suspended]

    assert through([*events, *(LEGEND[letter] for letter in "RoQ")]) == [CALL, RESULT]


def test_a_block_that_belongs_to_no_reply_is_none() -> None:
    nameless = [evolve(event, reply_id="") for event in lifecycle("b")]  # type: ignore[call-arg]

    assert through([*nameless, *lifecycle("a")]) == [TextBlock("a!")]
    assert through(nameless) == [TextBlock("b!")]
