"""Another model call where one fails, as marbles."""

from __future__ import annotations

import pytest
from attrs import evolve

from agentscope_rx.agent._fallback import or_else
from agentscope_rx.errors import ConfigurationError, ModelError
from agentscope_rx.event import ModelCallStartEvent
from tests.operators.marbles import LEGEND, Stage, messages

MORE = {**LEGEND, "N": ModelCallStartEvent("r", "second", id="n"), "V": evolve(LEGEND["W"], id="v")}


@pytest.mark.parametrize(
    ("source", "fallback", "expected"),
    [
        ("-M-S-a-E-W-|", "", "-M-S-a-E-W-|"),
        ("-M-W-|", "", "-M-W-|"),
        ("-M-(W,#)", "--N-S-E-V-|", "-M-W-N-S-E-V-|"),
        ("-#", "-N-V-|", "--N-V-|"),
        ("-M-S-#", "", "-M-S-#"),  # something was said
        ("-M-x-#", "", "-M-x-#"),
        ("-M-(W,#)", "--N-(V,#)", "-M-W-N-(V,#)"),
    ],
)
def test_what_follows_a_failing_model_call(source: str, fallback: str, expected: str) -> None:
    stage = Stage(MORE)
    other = stage.cold(fallback)

    assert stage.run(stage.cold(source).pipe(or_else(other))) == messages(expected, MORE)
    assert len(other.subscriptions) == bool(fallback)


def test_the_error_is_of_the_second_with_a_note_of_the_first() -> None:
    first, second = ModelError("tired"), ModelError("gone")
    stage = Stage()
    events = stage.cold("-#", first).pipe(or_else(stage.cold("-#", second)))

    assert stage.run(events) == messages("--#", error=second)
    assert second.__notes__ == ["and the model before it failed with ModelError: tired"]


def test_a_mistake_in_the_configuration_is_final() -> None:
    wrong = ConfigurationError("no key")
    stage = Stage()

    assert stage.run(stage.cold("-#", wrong).pipe(or_else(stage.cold("-N-|")))) == messages("-#", error=wrong)


def test_each_subscription_falls_back_by_itself() -> None:
    stage = Stage()
    other = stage.cold("-E-|")
    source = stage.cold("-M-#")
    events = source.pipe(or_else(other))
    for _ in range(2):
        events.subscribe(scheduler=stage.scheduler, on_error=lambda _: None)
    stage.scheduler.start()

    assert (len(source.subscriptions), len(other.subscriptions)) == (2, 2)
