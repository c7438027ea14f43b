"""Which call a fragment belongs to; each table row is a habit of some provider."""

from __future__ import annotations

import pytest

from agentscope_rx.model import ToolCallChunk
from agentscope_rx.model._calls import Calls


def call(arguments: str = "", id: str = "", name: str = "", index: int | None = None) -> ToolCallChunk:
    return ToolCallChunk(arguments, id, name, index)


def collect(*chunks: ToolCallChunk) -> list[tuple[str, str, str]]:
    calls = Calls()
    texts: dict[int, str] = {}
    for chunk in chunks:
        found = calls.route(chunk)
        texts[id(found)] = texts.get(id(found), "") + found.feed(chunk.arguments)
    return [(found.provider_id, found.name, texts[id(found)] + found.finish()) for found in calls.all]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param(
            [
                call(id="a", name="f", index=0), call(id="b", name="g", index=1), call('{"x":', index=0),
                call('{"y":', index=1), call("1}", index=0), call("2}", index=1),
            ],
            [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')],
            id="interleaved by index",
        ),
        pytest.param(
            [
                call(id="a", name="f"), call(id="b", name="f"), call('{"x":', id="a"), call('{"x":', id="b"),
                call("1}", id="a"), call("2}", id="b"),
            ],
            [("a", "f", '{"x":1}'), ("b", "f", '{"x":2}')],
            id="interleaved by id, without index",
        ),
        pytest.param(
            [call(id="a", name="f"), call('{"x":'), call("1}")],
            [("a", "f", '{"x":1}')],
            id="neither id nor index on what follows",
        ),
        pytest.param(
            [call('{"x":1}', "a", "f", 0), call('{"x":2}', "b", "f", 0)],
            [("a", "f", '{"x":1}'), ("b", "f", '{"x":2}')],
            id="all index 0, whole arguments",
        ),
        pytest.param(
            [call("", "a", "f", 0), call("", "b", "g", 0), call("", "c", "g", 0)],
            [("a", "f", ""), ("b", "g", ""), ("c", "g", "")],
            id="all index 0, no arguments",
        ),
        pytest.param(
            [call('{"x":1}', name="f", index=0), call('{"x":2}', name="f", index=0)],
            [("", "f", '{"x":1}'), ("", "f", '{"x":2}')],
            id="all index 0, no ids, whole arguments",
        ),
        pytest.param(
            [call("", "a", "f", 0), call('{"x":', "b", index=0), call("1}", "c", index=0)],
            [("a", "f", '{"x":1}')],
            id="a new id for every fragment",
        ),
        pytest.param(
            [call("", "a", "f", 0), call('{"x":', "b", "f", 0), call("1}", "c", "f", 0)],
            [("a", "f", '{"x":1}')],
            id="a new id for every fragment, and the name",
        ),
        pytest.param(
            [call("", "a", "f"), call('{"x":', "b"), call("1}", "c")],
            [("a", "f", '{"x":1}')],
            id="a new id for every fragment, no index",
        ),
        pytest.param(
            [
                call('{"x"', "a", "f", 0), call(":1", "a", "f", 0), call("}", "a", "f", 0),
                call('""', "a", "f", 0),
            ],
            [("a", "f", '{"x":1}')],
            id="id and name repeated",
        ),
        pytest.param(
            [call("", "a", "f", 0), call('{"v":"x"', index=0), call("}", name="f", index=0)],
            [("a", "f", '{"v":"x"}')],
            id="the name again on the last fragment",
        ),
        pytest.param(
            [call("{}", name="f", index=0), call('""', name="f", index=0)],
            [("", "f", "{}")],
            id="a stray value with the name again",
        ),
        pytest.param(
            [call("", "a", "f", 0), call('{"x":1}', "null", index=0)],
            [("a", "f", '{"x":1}')],
            id="null as text for an id",
        ),
        pytest.param(
            [call("", "null", "f", 0), call('{"x":1}', "null", index=0), call('{"y":2}', "None", "g", 1)],
            [("", "f", '{"x":1}'), ("", "g", '{"y":2}')],
            id="no ids but their text",
        ),
        pytest.param(
            [call("", "a", "f", 1), call('{"x":1}', index=1)],
            [("a", "f", '{"x":1}')],
            id="the first index is 1",
        ),
        pytest.param(
            [call('{"x":1}', "a", "f", 0), call('{"y"', "b", "g", 0), call(":2}", index=1)],
            [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')],
            id="the tail on an index that was never announced",
        ),
        pytest.param(
            [call('{"x":1}', "a", "f", 0), call('{"y"', "b", "g", 0), call(":2}", "b", index=1)],
            [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')],
            id="the tail on a wrong index, with the id",
        ),
        pytest.param(
            [call('{"d":1}', name="f"), call('{"d":2}', name="f"), call('{"d":3}', name="g")],
            [("", "f", '{"d":1}'), ("", "f", '{"d":2}'), ("", "g", '{"d":3}')],
            id="neither index nor id, whole objects",
        ),
        pytest.param(
            [call(name="now"), call(name="now")],
            [("", "now", ""), ("", "now", "")],
            id="neither index nor id, twice without arguments",
        ),
        pytest.param(
            [call(name="f"), call('{"d":', name="f"), call("1}", name="f")],
            [("", "f", '{"d":1}')],
            id="neither index nor id, the name on every fragment",
        ),
        pytest.param(
            [call('{"x":1}', "same", "f", 0), call('{"x":2}', "same", "f", 1)],
            [("same", "f", '{"x":1}'), ("same", "f", '{"x":2}')],
            id="one id for two calls",
        ),
        pytest.param(
            [
                call("", "s", "f", 0), call("", "s", "g", 1), call('{"x":1}', "s", index=0),
                call('{"y":2}', "s", index=1),
            ],
            [("s", "f", '{"x":1}'), ("s", "g", '{"y":2}')],
            id="one id for two calls, interleaved",
        ),
        pytest.param(
            [call("", name="f", index=0), call('{"x":', "late", index=0), call("1}", "late")],
            [("late", "f", '{"x":1}')],
            id="the id comes later",
        ),
        pytest.param(
            [
                call("", "a", index=0), call('{"x":', "b", index=1), call("", name="f", index=0),
                call("1}", "b", "g", 1),
            ],
            [("a", "f", ""), ("b", "g", '{"x":1}')],
            id="the name comes later",
        ),
        pytest.param(
            [call("", "a", "f", 0), call('{"x":1}', "b", "g", 1), call('""')],
            [("a", "f", ""), ("b", "g", '{"x":1}')],
            id="a stray value without identity is nobody's arguments",
        ),
        pytest.param(
            [call("", "a", "f", 0), call('{"x": @', "b", "g", 1), call("@}")],
            [("a", "f", ""), ("b", "g", '{"x": @@}')],
            id="malformed arguments go on without identity",
        ),
        pytest.param(
            [call('{"x":1}', "a", "f", 0), call('""')],
            [("a", "f", '{"x":1}')],
            id="a stray value without identity",
        ),
    ],
)  # fmt: skip
def test_fragments_find_their_call(chunks: list[ToolCallChunk], expected: list[tuple[str, str, str]]) -> None:
    assert collect(*chunks) == expected


def test_the_first_id_and_name_stay_and_metadata_adds_up() -> None:
    calls = Calls()
    first = calls.route(ToolCallChunk("", "a", "f", 0, {"signature": "s"}))
    second = calls.route(ToolCallChunk("{}", "b", "", 0, {"more": 1}))

    assert second is first
    assert (first.provider_id, first.name, first.metadata) == ("a", "f", {"signature": "s", "more": 1})


def test_a_whole_call_that_is_repeated_is_one_call_and_another_with_its_id_is_two() -> None:
    calls = Calls()
    first = calls.begin_whole("a", "f", '{"x":1}')

    assert calls.begin_whole("a", "f", '{"x":1}') is first
    assert calls.begin_whole("a", "f", '{"x":2}') is not first
    assert calls.begin_whole("", "f", '{"x":1}') is not calls.begin_whole("", "f", '{"x":1}')


def test_a_surrogate_pair_cut_between_two_fragments_is_joined() -> None:
    calls = Calls()
    found = calls.route(ToolCallChunk('{"t":"\ud83d', "a", "f", 0))
    text = found.feed('{"t":"\ud83d') + found.feed('\ude00"}') + found.finish()

    assert text == '{"t":"😀"}'
