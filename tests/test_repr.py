"""What is printed is what a value holds."""

from __future__ import annotations

from typing import Any

from agentscope_rx import ReActAgent, RuntimeContext, tool
from agentscope_rx.event import TextBlockDeltaEvent, ToolResultEndEvent
from agentscope_rx.message import (
    Base64Source,
    DataBlock,
    MsgRole,
    TextBlock,
    ToolCallState,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.model import GenerateOptions
from agentscope_rx.testing import ScriptedModel, check_call

ID: Any = {"id": "e-1", "created_at": "2026-01-02T03:04:05.678Z"}
FROM_AFAR: Any = {"source": "main/a"}


def test_an_event_begins_with_what_it_says() -> None:
    event = TextBlockDeltaEvent("r-1", "text-1", "It", **ID)

    assert repr(event) == (
        "TextBlockDeltaEvent(reply_id='r-1', block_id='text-1', delta='It', "
        "id='e-1', created_at='2026-01-02T03:04:05.678Z')"
    )
    assert str(event) == repr(event)


def test_a_field_that_is_set_shows_and_one_that_holds_nothing_does_not() -> None:
    plain, from_afar = (TextBlockDeltaEvent("r", "b", "d", **more) for more in ({}, FROM_AFAR))

    assert "source" not in repr(plain)
    assert "source='main/a'" in repr(from_afar)


def test_a_default_that_says_something_shows() -> None:
    end = ToolResultEndEvent("r", "c", "weather", **ID)

    assert "state=ToolResultState.SUCCESS" in repr(end)


def test_what_has_no_default_shows_also_when_it_is_empty() -> None:
    assert "delta=''" in repr(TextBlockDeltaEvent("r", "b", ""))


def test_a_message_reads_as_it_was_written() -> None:
    message = UserMessage("Hi", id="m-1", timestamp="2026-01-02 03:04:05.678")

    assert repr(message) == (
        "UserMessage(content=(TextBlock(text='Hi'),), id='m-1', timestamp='2026-01-02 03:04:05.678')"
    )


def test_a_representation_without_secrets_or_ids_makes_the_value_again() -> None:
    block = ToolUseBlock("call-1", "weather", {"city": "Lisbon"}, state=ToolCallState.ALLOWED)

    assert eval(repr(block)) == block
    assert repr(MsgRole.USER) == "MsgRole.USER"
    assert str(MsgRole.USER) == "USER"


def test_a_field_with_its_own_way_of_printing_keeps_it() -> None:
    assert len(repr(DataBlock(Base64Source("image/png", "A" * 10_000)))) < 200


def test_options_show_what_was_asked_for() -> None:
    assert (
        repr(GenerateOptions(temperature=0.2, stop="END"))
        == "GenerateOptions(temperature=0.2, stop=('END',))"
    )
    assert repr(RuntimeContext(session_id="monday")) == "RuntimeContext(session_id='monday')"
    assert repr(TextBlock()) == "TextBlock()"


def test_an_agent_fits_on_a_line() -> None:
    @tool
    def weather(city: str) -> str:
        """Tell the weather in a city."""
        return city

    agent = ReActAgent("friend", model=ScriptedModel("Hello"), toolkit=[weather])

    assert repr(weather) == "Tool(name='weather', concurrency_safe=True)"
    assert repr(agent) == (
        "ReActAgent(name='friend', model=ScriptedModel(name='scripted', steps=1, calls=0), "
        "toolkit=Toolkit(weather), max_iters=10, options=GenerateOptions())"
    )


def test_a_record_of_a_call_shows_its_message_and_counts_its_events() -> None:
    record = check_call(ReActAgent("friend", model=ScriptedModel("Hello")), "hi")

    assert repr(record).startswith("CallRecord(events=<8 events>, error=None, message=AssistantMessage(")
