from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from agentscope_rx.errors import ConfigurationError, NotAnEventError
from agentscope_rx.event import AgentEvent, BlockEvent, CustomEvent, TextBlockDeltaEvent, TextBlockEndEvent
from agentscope_rx.operators import map_type
from tests.operators.marbles import LEGEND, Stage, messages


def shout(event: TextBlockDeltaEvent) -> TextBlockDeltaEvent:
    return evolve(event, delta=event.delta.upper())


def drop(_: AgentEvent) -> None:
    return None


def same(event: AgentEvent) -> AgentEvent:
    return event


LOUD = {**LEGEND, "1": shout(LEGEND["a"]), "2": shout(LEGEND["b"])}
LOUD |= {1: LOUD["1"], 2: LOUD["2"]}


@pytest.mark.parametrize(
    ("cls", "f", "expected"),
    [
        #                             -A-S-a-b-E-x-u-Z-|
        (TextBlockDeltaEvent, shout, "-A-S-1-2-E-x-u-Z-|"),
        (TextBlockDeltaEvent, drop,  "-A-S-----E-x-u-Z-|"),
        (TextBlockEndEvent,   same,  "-A-S-a-b-E-x-u-Z-|"),
        (CustomEvent,         drop,  "-A-S-a-b-E---u-Z-|"),
        (BlockEvent,          drop,  "-A---------x-u-Z-|"),
    ],
)  # fmt: skip
def test_one_class_is_changed_and_all_others_pass_in_place(
    cls: Any, f: Callable[[Any], Any], expected: str
) -> None:
    stage = Stage()

    assert messages(expected, LOUD) == stage.run(stage.cold("-A-S-a-b-E-x-u-Z-|").pipe(map_type(cls, f)))


@pytest.mark.parametrize("first_drops", [True, False])
def test_in_a_row_each_sees_what_the_one_before_has_made(first_drops: bool) -> None:
    seen: list[str] = []

    def first(event: TextBlockDeltaEvent) -> AgentEvent | None:
        return None if first_drops else shout(event)

    def second(event: TextBlockDeltaEvent) -> AgentEvent:
        seen.append(event.delta)
        return event

    stage = Stage()
    stage.run(
        stage.cold("-a-b-|").pipe(map_type(TextBlockDeltaEvent, first), map_type(TextBlockDeltaEvent, second))
    )

    assert seen == ([] if first_drops else ["A", "B"])


def test_an_event_that_becomes_one_of_another_class_meets_the_stage_for_that_class() -> None:
    stage = Stage()
    turned = map_type(TextBlockDeltaEvent, lambda _: LEGEND["x"])

    assert messages("-----|") == stage.run(stage.cold("-a-x-|").pipe(turned, map_type(CustomEvent, drop)))


def test_what_the_function_raises_is_the_streams_error_and_frees_the_source() -> None:
    stage = Stage()
    error = KeyError("no")

    def broken(_: AgentEvent) -> AgentEvent:
        raise error

    source = stage.cold("-S-a-b-|")

    assert messages("-S-#", error=error) == stage.run(source.pipe(map_type(TextBlockDeltaEvent, broken)))
    assert stage.windows(source) == [(0, 3)]


@pytest.mark.parametrize("returned", ["text", 0, (), False, object()])
def test_a_function_that_returns_no_event_is_told_what_to_return(returned: Any) -> None:
    stage = Stage()
    [(tick, kind, error)] = stage.run(
        stage.cold("-a-|").pipe(map_type(TextBlockDeltaEvent, lambda _: returned))
    )

    assert (tick, kind) == (1, "E")
    assert isinstance(error, NotAnEventError)
    assert all(part in str(error) for part in ("map_type", repr(returned), "None"))


@pytest.mark.parametrize("wrong", [("Text", shout), (TextBlockDeltaEvent, None), (TextBlockDeltaEvent, "f")])
def test_wrong_arguments_are_refused_where_they_are_written(wrong: tuple[Any, Any]) -> None:
    with pytest.raises(ConfigurationError, match="map_type"):
        map_type(*wrong)
