from __future__ import annotations

import pytest
from attrs import evolve

from agentscope_rx.event import ThinkingBlockDeltaEvent
from agentscope_rx.operators import text
from tests.operators.marbles import LEGEND, Stage, messages

MORE = {
    **LEGEND,
    "k": evolve(LEGEND["a"], source="main/researcher"),
    "p": evolve(LEGEND["a"], source=""),
    "h": ThinkingBlockDeltaEvent("r", "thinking-1", "hm"),
    "e": evolve(LEGEND["a"], delta=""),
}
SAID = {"a": "a", "b": "b", "e": ""}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("-A-S-a-b-E-Z-|", "-----a-b-----|"),
        ("-k-a-|", "---a-|"),  # a subagent's
        ("-p-|", "-a-|"),  # an empty source is none
        ("-h-o-t-|", "-------|"),  # reasoning, a tool's output, arguments
        ("-a-e-b-|", "-a-e-b-|"),  # each delta, the empty one too
        ("-a-#", "-a-#"),
        ("-3-|", "---|"),
    ],
)
def test_the_text_of_the_top_level_is_said_delta_by_delta(source: str, expected: str) -> None:
    stage = Stage(MORE)

    assert messages(expected, SAID) == stage.run(stage.cold(source).pipe(text()))
