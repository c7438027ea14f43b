from __future__ import annotations

import pytest

from agentscope_rx import wire
from agentscope_rx.errors import ConfigurationError, WireError
from agentscope_rx.event import AgentEvent, CustomEvent, TextBlockDeltaEvent
from agentscope_rx.message import Msg, ToolResultBlock
from agentscope_rx.wire import UNLIMITED, Limits


def nested(depth: int, text: str = "") -> str:
    """An event with so many objects and arrays inside one another, itself and its value included."""
    inside = depth - 2
    return f'{{"type":"CUSTOM","value":{{"t":"{text}","a":{"[" * inside}{"]" * inside}}}}}'


@pytest.mark.parametrize("depth", [3, 199, 200])
def test_nesting_up_to_the_limit_is_read_and_written(depth: int) -> None:
    event = wire.loads_event(nested(depth))

    assert wire.loads_event(wire.dumps_event(event)) == event


@pytest.mark.parametrize("depth", [201, 900, 1200, 100_000])
@pytest.mark.parametrize("kind", [str, str.encode])
def test_nesting_over_the_limit_is_refused(depth: int, kind: type) -> None:
    with pytest.raises(WireError, match=r"^\$: nested (deeper than 200|too deeply)$"):
        wire.loads_event(kind(nested(depth)))


def test_brackets_inside_a_text_are_no_nesting() -> None:
    event = wire.loads_event(nested(3, "[" * 1000 + "{" * 1000))

    assert isinstance(event, CustomEvent)
    assert event.value["t"] == "[" * 1000 + "{" * 1000
    flat = TextBlockDeltaEvent("r", "b", "[" * 1000)
    assert wire.loads_event(wire.dumps_event(flat)) == flat


def test_blocks_nested_up_to_the_limit_are_read_and_written() -> None:
    block = ToolResultBlock.text("deepest", id="c", name="n")
    for _ in range(98):
        block = ToolResultBlock("c", "n", (block,))
    text = wire.dumps(block)

    assert text.count(b"[") + text.count(b"{") - 2 * text.count(b"{}") <= 200
    assert wire.dumps(wire.loads(ToolResultBlock, text)) == text


def test_a_text_up_to_the_size_limit_is_read() -> None:
    text = '{"type":"AGENT_END"}'

    assert wire.loads_event(text, limits=Limits(size=len(text))).type == "AGENT_END"
    with pytest.raises(WireError, match=rf"^\$: the text is {len(text)} long; the limit is {len(text) - 1}$"):
        wire.loads_event(text, limits=Limits(size=len(text) - 1))


def test_the_default_limit_is_16_mib() -> None:
    fits = b'{"type":"CUSTOM","name":"%s"}' % (b"x" * 16_777_189)

    assert len(fits) == 16 * 1024 * 1024
    assert isinstance(wire.loads_event(fits), CustomEvent)
    with pytest.raises(WireError, match="the limit is 16777216"):
        wire.loads_event(fits + b" ")


@pytest.mark.parametrize("limits", [Limits(size=100), Limits(size=100, nesting=None), Limits(1, 100)])
@pytest.mark.parametrize("kind", [str, str.encode])
def test_the_fast_lane_keeps_the_limits(limits: Limits, kind: type) -> None:
    frame = '{"type":"TEXT_BLOCK_DELTA","delta":""}'

    def delta(length: int) -> object:
        return kind(frame.replace('""', f'"{"x" * (length - len(frame))}"'))

    assert wire.loads_event(delta(100), limits=limits).type == "TEXT_BLOCK_DELTA"
    with pytest.raises(WireError, match=r"^\$: the text is 101 long; the limit is 100$"):
        wire.loads_event(delta(101), limits=limits)
    with pytest.raises(WireError, match=r"^\$: nested deeper than 2$"):
        wire.loads_event(kind('{"type":"TEXT_BLOCK_END","metadata":{"a":[]}}'), limits=Limits(nesting=2))


def test_messages_have_the_same_limits() -> None:
    text = f'{{"metadata":{{"a":{"[" * 300}{"]" * 300}}}}}'

    with pytest.raises(WireError, match="nested deeper than 200"):
        wire.loads_msg(text)
    with pytest.raises(WireError, match="nested deeper than 200"):
        wire.loads(Msg, text)
    with pytest.raises(WireError, match="the limit is 10"):
        wire.loads_msg(text, limits=Limits(size=10))


def test_both_limits_can_be_lifted() -> None:
    big = f'{{"type":"CUSTOM","value":{{"a":{"[" * 400}{"]" * 400},"b":"{"x" * 17_000_000}"}}}}'

    assert isinstance(wire.loads_event(big, limits=UNLIMITED), CustomEvent)


def test_without_a_limit_what_is_too_deep_for_the_interpreter_is_refused() -> None:
    with pytest.raises(WireError, match="nested too deeply"):
        wire.loads_event(nested(50_000), limits=UNLIMITED)
    deep: dict[str, object] = {}
    for _ in range(50_000):
        deep = {"a": deep}
    with pytest.raises(WireError, match="nested too deeply"):
        wire.dumps_event(CustomEvent("c", deep))
    with pytest.raises(WireError, match="nested too deeply"):
        wire.to_dict(deep)
    block: dict[str, object] = {"type": "tool_result"}
    for _ in range(50_000):
        block = {"type": "tool_result", "output": [block]}
    with pytest.raises(WireError, match="nested too deeply"):
        wire.from_dict(ToolResultBlock, block)


def test_the_limits_can_be_tightened() -> None:
    limits = Limits(nesting=3)

    assert wire.loads(AgentEvent, nested(3), limits).type == "CUSTOM"
    with pytest.raises(WireError, match="nested deeper than 3"):
        wire.loads_event(nested(4), limits=limits)


@pytest.mark.parametrize("wrong", [{"nesting": 0}, {"size": 0}, {"size": -1}])
def test_a_limit_that_lets_nothing_through_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match="give a number from 1, or None"):
        Limits(**wrong)
