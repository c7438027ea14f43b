from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
import reactivex as rx
from attrs import evolve

from agentscope_rx.errors import (
    NotAnEventError,
    OrphanEventError,
    ProtocolError,
    ReplyMismatchError,
    UnclosedBlockError,
)
from agentscope_rx.event import AgentEvent, ReplyEvent
from agentscope_rx.operators import well_formed, with_source
from tests.operators.marbles import ERROR, LEGEND, Stage, messages
from tests.samples import EVENTS

CHILD = "main/researcher"
MORE = {
    **LEGEND,
    # the same events from a subagent, and from the subagent's next reply
    **{f"k{name}": with_source(LEGEND[name], CHILD) for name in "ASaEZ"},
    **{f"l{name}": with_source(evolve(LEGEND[name], reply_id="r2"), CHILD) for name in "ASaEZ"},
    "p": evolve(LEGEND["S"], block_id="text-2"),
    "q": evolve(LEGEND["E"], block_id="text-2"),
    "F": evolve(LEGEND["S"], reply_id="r2"),
    "G": evolve(LEGEND["A"], reply_id="r2"),
    "n": evolve(LEGEND["a"], reply_id=""),
}


@pytest.mark.parametrize(
    "source",
    [
        "|",
        "-A-Z-|",
        "-A-M-S-a-E-T-t-U-W-R-o-Q-M-W-Z-|",
        "-S-a-b-E-|",  # no frame: what a hook sees
        "-M-S-a-E-W-|",
        "-S-E-S-a-E-|",  # a key is used again
        "-S-p-a-q-E-|",  # side by side
        "-A-S-a-E-Z-|",  # a block outside of model calls
        "-A-R-o-Q-Z-|",  # a result without its call: the reply was resumed
        "-R-M-S-a-E-W-o-Q-|",  # a result that lasts longer than the next model call
        "-A-S-E-Z-A-R-Q-Z-|",  # a paused reply and what goes on with it
        "-S-n-E-|",  # no reply id
        "-x-u-A-u-Z-x-|",  # these may stand anywhere
        "-A-S-kS-a-ka-kE-E-Z-|",  # a subagent's block of the same name; no frame
        "-A-kA-kS-kE-kZ-Z-|",
        "-kA-lA-kS-lS-kE-lE-lZ-kZ-|",  # one subagent, called twice at once
        "-A-Z-kS-kE-|",  # a subagent that outlives the call
        "-S-a-#",
        "-A-M-S-",
    ],
)
def test_what_is_well_formed_passes_untouched(source: str) -> None:
    stage = Stage(MORE)

    assert messages(source, MORE) == stage.run(stage.cold(source).pipe(well_formed()))


@pytest.mark.parametrize(
    ("source", "passed", "kind", "words"),
    [
        ("-a-|", "-#", OrphanEventError, "TextBlockDelta 'text-1' of reply 'r'"),
        ("-E-|", "-#", OrphanEventError, "TextBlockEnd"),
        ("-S-E-a-|", "-S-E-#", OrphanEventError, "TextBlockDelta"),
        ("-S-E-E-|", "-S-E-#", OrphanEventError, "TextBlockEnd"),
        ("-t-|", "-#", OrphanEventError, "ToolCallDelta 'call-1'"),
        ("-T-U-o-|", "-T-U-#", OrphanEventError, "ToolResultTextDelta"),
        ("-Q-|", "-#", OrphanEventError, "ToolResultEnd"),
        ("-W-|", "-#", OrphanEventError, "ModelCallEnd"),
        ("-S-E-Z-|", "-S-E-#", OrphanEventError, "AgentEnd"),
        ("-S-S-|", "-S-#", UnclosedBlockError, "TextBlockStart"),
        ("-R-R-|", "-R-#", UnclosedBlockError, "ToolResultStart"),
        ("-S-a-|", "-S-a-#", UnclosedBlockError, "when the stream completed"),
        ("-M-|", "-M-#", UnclosedBlockError, "ModelCallStart"),
        ("-M-M-|", "-M-#", UnclosedBlockError, "ModelCallStart"),
        (
            "-M-S-W-|",
            "-M-S-#",
            UnclosedBlockError,
            "TextBlockStart 'text-1' of reply 'r' is still open at Model",
        ),
        ("-M-T-W-|", "-M-T-#", UnclosedBlockError, "ToolCallStart"),
        ("-S-M-|", "-S-#", UnclosedBlockError, "TextBlockStart"),
        ("-A-S-E-|", "-A-S-E-#", UnclosedBlockError, "AgentStart"),
        ("-A-S-Z-|", "-A-S-#", UnclosedBlockError, "TextBlockStart"),
        ("-A-R-Z-|", "-A-R-#", UnclosedBlockError, "ToolResultStart"),
        ("-A-M-Z-|", "-A-M-#", UnclosedBlockError, "ModelCallStart"),
        ("-A-A-|", "-A-#", UnclosedBlockError, "AgentStart"),
        ("-S-E-A-|", "-S-E-#", ReplyMismatchError, "AgentStart is the first"),
        ("-A-Z-S-|", "-A-Z-#", ReplyMismatchError, "AgentEnd is the last"),
        ("-A-Z-Z-|", "-A-Z-#", ReplyMismatchError, "AgentEnd is the last"),
        ("-A-F-|", "-A-#", ReplyMismatchError, "'r'"),
        ("-A-Z-G-|", "-A-Z-#", ReplyMismatchError, "group_by"),
        ("-S-ka-|", "-S-#", OrphanEventError, "from 'main/researcher'"),
        ("-kS-la-|", "-kS-#", OrphanEventError, "of reply 'r2'"),
        ("-A-kS-Z-|", "-A-kS-Z-#", UnclosedBlockError, "from 'main/researcher'"),
        ("-kA-|", "-kA-#", UnclosedBlockError, "AgentStart"),
        ("-S-E-3-|", "-S-E-#", NotAnEventError, "3 is no AgentEvent"),
    ],
)
def test_the_first_violation_is_the_streams_error(
    source: str, passed: str, kind: type[ProtocolError], words: str
) -> None:
    stage = Stage(MORE)
    cold = stage.cold(source)
    *before, (tick, _, error) = stage.run(cold.pipe(well_formed()))

    assert type(error) is kind
    assert words in str(error)
    assert messages(passed, MORE) == [*before, (tick, "E", ERROR)]
    assert stage.windows(cold) == [(0, tick)]


def test_two_lifecycles_side_by_side_pass_in_every_order_that_keeps_each_of_them() -> None:
    first, second = "SaE", "TtU"

    def passes(order: tuple[str, ...]) -> bool:
        errors: list[Exception] = []
        events = rx.from_iterable(LEGEND[name] for name in order)
        events.pipe(well_formed()).subscribe(on_error=errors.append)
        return not errors

    def keeps(order: tuple[str, ...], lifecycle: str) -> bool:
        return [name for name in order if name in lifecycle] == list(lifecycle)

    orders = list(permutations(first + second))
    good = [order for order in orders if keeps(order, first) and keeps(order, second)]

    assert len(good) == 20
    assert [order for order in orders if passes(order)] == good


def test_every_event_meets_a_decision() -> None:
    alone: dict[str, str] = {}
    for event in EVENTS:
        top: Any = evolve(event, source=None)
        outcome: list[Any] = []
        rx.of(top).pipe(well_formed()).subscribe(outcome.append, outcome.append, lambda: None)
        alone[type(top).__name__] = type(outcome[-1]).__name__ if outcome[-1] is not top else ""

    def rule(event: AgentEvent) -> str:
        name = type(event).__name__.removesuffix("Event")
        if not isinstance(event, ReplyEvent):
            return ""
        return (
            "UnclosedBlockError"
            if name.endswith("Start")
            else ("OrphanEventError" if name.endswith(("Delta", "End")) else "")
        )

    assert alone == {type(event).__name__: rule(event) for event in EVENTS}
