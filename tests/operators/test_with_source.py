from __future__ import annotations

from typing import Any

import pytest
import reactivex as rx
from attrs import evolve

from agentscope_rx import wire
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.operators import with_source
from tests.operators.marbles import LEGEND, Stage, messages
from tests.samples import EVENTS

PATH = "main/researcher"
DELTA = LEGEND["a"]
MORE = {
    **LEGEND,
    "f": evolve(DELTA, source=PATH),
    "g": evolve(DELTA, source="critic"),
    "h": evolve(DELTA, source=f"{PATH}/critic"),
    "i": evolve(DELTA, source=""),
    "j": evolve(DELTA, source="main/critic"),
    "k": evolve(DELTA, source="main"),
    "l": evolve(DELTA, source="mainly"),
    "m": evolve(DELTA, source=f"{PATH}/mainly"),
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("-a-|", "-f-|"),
        ("-i-|", "-f-|"),
        ("-g-|", "-h-|"),  # from further down
        ("-j-|", "-h-|"),  # as whoever marks it has it in its own stream
        ("-k-|", "-f-|"),
        ("-l-|", "-m-|"),
        ("-a-#", "-f-#"),
    ],
)
def test_events_get_the_path_in_front(source: str, expected: str) -> None:
    stage = Stage(MORE)

    assert messages(expected, MORE) == stage.run(stage.cold(source).pipe(with_source(PATH)))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_nothing_else_changes_and_the_event_itself_stays(event: Any) -> None:
    before = repr(event)
    marked = with_source(event, "main/boss")
    own = event.source.removeprefix("main/")

    assert marked == evolve(event, source=f"main/boss/{own}")
    assert marked == rx.of(event).pipe(with_source("main/boss")).run()
    assert before == repr(event)


def test_an_unknown_event_is_written_with_the_path() -> None:
    event = wire.loads_event(b'{"type":"NEWER","id":"e1","x":1}')

    assert wire.to_dict(with_source(event, PATH)) == {"type": "NEWER", "id": "e1", "x": 1, "source": PATH}


@pytest.mark.parametrize(
    "wrong", [(), ("",), (None,), (3,), (DELTA,), (DELTA, ""), (DELTA, None), (PATH, PATH), (DELTA, PATH, 1)]
)
def test_wrong_arguments_are_refused_where_they_are_written(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigurationError, match="with_source"):
        with_source(*wrong)
