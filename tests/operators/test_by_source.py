from __future__ import annotations

from typing import Any

import pytest
import reactivex as rx
from attrs import evolve

from agentscope_rx import wire
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import UnknownEvent
from agentscope_rx.operators import by_source, to_msg, with_source
from tests.operators.marbles import LEGEND, Stage, messages
from tests.samples import EVENTS

PATH = "main/researcher"
MORE = {
    **LEGEND,
    "f": evolve(LEGEND["a"], source=PATH),
    "g": evolve(LEGEND["a"], source=f"{PATH}/critic"),
    "h": evolve(LEGEND["a"], source="main/research"),
    "i": evolve(LEGEND["a"], source=""),
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("-f-|", "-a-|"),
        ("-a-i-f-|", "-----a-|"),  # the top level
        ("-g-h-f-|", "-----a-|"),  # its own subagent, and one whose name begins alike
        ("-f-#", "-a-#"),
    ],
)
def test_only_that_sources_events_are_kept_and_without_their_path(source: str, expected: str) -> None:
    stage = Stage(MORE)

    assert messages(expected) == stage.run(stage.cold(source).pipe(by_source(PATH)))


@pytest.mark.parametrize("event", [evolve(event, source=None) for event in EVENTS], ids=lambda e: e.type)
def test_it_takes_off_what_with_source_has_put_on(event: Any) -> None:
    assert event == rx.of(event).pipe(with_source(PATH), by_source(PATH)).run()


def test_each_subagent_folds_on_its_own() -> None:
    reply = [LEGEND[name] for name in "ASaEZ"]
    other = [evolve(event, reply_id="r2") for event in reply]
    woven = [
        event
        for pair in zip(reply, (with_source(event, PATH) for event in other), strict=True)
        for event in pair
    ]
    stream = rx.from_iterable(woven)

    assert stream.pipe(to_msg()).run() == rx.from_iterable(reply).pipe(to_msg()).run()
    assert stream.pipe(by_source(PATH), to_msg()).run() == rx.from_iterable(other).pipe(to_msg()).run()


def test_an_unknown_event_is_written_without_the_path() -> None:
    event = wire.loads_event(b'{"type":"NEWER","source":"main/researcher","x":1}')
    kept = rx.of(event).pipe(by_source(PATH)).run()

    assert isinstance(kept, UnknownEvent)
    assert wire.to_dict(kept) == {"type": "NEWER", "x": 1}


@pytest.mark.parametrize("wrong", ["", None, 3])
def test_what_is_no_path_is_refused_where_it_is_written(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"by_source.*main/researcher"):
        by_source(wrong)
