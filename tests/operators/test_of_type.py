from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import (
    BlockEvent,
    CustomEvent,
    ReplyEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    ToolEvent,
)
from agentscope_rx.operators import of_type
from tests.operators.marbles import Stage, messages


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        #                               -A-S-a-E-T-U-x-3-Z-|
        ((TextBlockDeltaEvent,),       "-----a-------------|"),
        ((TextBlockDeltaEvent, TextBlockEndEvent), "-----a-E-----------|"),
        ((BlockEvent,),                "---S-a-E-----------|"),
        ((ToolEvent,),                 "---------T-U-------|"),
        ((ReplyEvent,),                "-A-S-a-E-T-U-----Z-|"),
        ((CustomEvent,),               "-------------x-----|"),
        ((int,),                       "---------------3---|"),
    ],
)  # fmt: skip
def test_events_of_the_classes_are_kept_in_place(classes: tuple[type[Any], ...], expected: str) -> None:
    stage = Stage()

    assert messages(expected) == stage.run(stage.cold("-A-S-a-E-T-U-x-3-Z-|").pipe(of_type(*classes)))


def test_an_event_goes_on_as_the_same_object() -> None:
    stage = Stage()
    [(_, _, event), _] = stage.run(stage.cold("-a-|").pipe(of_type(TextBlockDeltaEvent)))

    assert stage.legend["a"] is event


@pytest.mark.parametrize("wrong", [(), ("TextBlockDeltaEvent",), (TextBlockDeltaEvent, None)])
def test_what_is_no_class_is_refused_where_it_is_written(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigurationError, match="of_type"):
        of_type(*wrong)
