"""The vocabulary of events: leaves, union, enum and the golden file say the same."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from agentscope_rx import event
from agentscope_rx.event import (
    AgentEvent,
    AgentEventType,
    AnyAgentEvent,
    BlockEvent,
    CustomEvent,
    ReplyEvent,
    SubagentExposedEvent,
    ToolEvent,
    UnknownEvent,
)

GOLDEN = (Path(__file__).parent.parent / "golden" / "event_names.txt").read_text().split()

LEGACY = {
    "RUN_STARTED": "AGENT_START",
    "REPLY_START": "AGENT_START",
    "RUN_FINISHED": "AGENT_END",
    "REPLY_END": "AGENT_END",
    "MODEL_CALL_STARTED": "MODEL_CALL_START",
    "MODEL_CALL_ENDED": "MODEL_CALL_END",
    "BINARY_BLOCK_START": "DATA_BLOCK_START",
    "BINARY_BLOCK_DELTA": "DATA_BLOCK_DELTA",
    "BINARY_BLOCK_END": "DATA_BLOCK_END",
    "TOOL_RESULT_BINARY_DELTA": "TOOL_RESULT_DATA_DELTA",
    "THREAD_EXPOSED": "SUBAGENT_EXPOSED",
}


def leaves(cls: type[AgentEvent] = AgentEvent) -> set[type[AgentEvent]]:
    subclasses = {
        sub
        for sub in cls.__subclasses__()
        if sub.__module__.startswith("agentscope_rx.event.")
        # attrs makes slotted classes anew; what it made them from is garbage, but a subclass until collected.
        and "__attrs_attrs__" in vars(sub)
    }
    return {cls} if not subclasses else set.union(*(leaves(subclass) for subclass in subclasses))


def test_leaves_union_enum_and_golden_names_are_the_same() -> None:
    known = leaves() - {UnknownEvent}

    assert set(get_args(AnyAgentEvent)) == leaves()
    assert len(GOLDEN) == len(set(GOLDEN)) == 31
    assert [member.value for member in AgentEventType] == GOLDEN
    assert sorted(cls.type for cls in known) == sorted(GOLDEN)


def test_every_leaf_is_exported_under_its_wire_name() -> None:
    for cls in leaves() - {UnknownEvent}:
        assert getattr(event, cls.__name__) is cls
        assert (
            cls.__name__
            == "".join(word.capitalize() for word in cls.type.split("_")).removesuffix("Event") + "Event"
        )


def test_bases_say_what_an_event_is_about() -> None:
    about_nothing = {cls for cls in leaves() if not issubclass(cls, ReplyEvent)}

    assert about_nothing == {CustomEvent, SubagentExposedEvent, UnknownEvent}
    assert {cls.type.split("_BLOCK")[0] for cls in leaves(BlockEvent)} == {"TEXT", "THINKING", "DATA", "HINT"}
    assert {cls.type.rsplit("_", 1)[0] for cls in leaves(ToolEvent)} == {
        "TOOL_CALL",
        "TOOL_RESULT",
        "TOOL_RESULT_TEXT",
        "TOOL_RESULT_DATA",
    }


@pytest.mark.parametrize(("old", "new"), LEGACY.items())
def test_the_enum_understands_javas_older_names(old: str, new: str) -> None:
    assert AgentEventType(old) is AgentEventType[new]


def test_the_enum_refuses_other_names() -> None:
    with pytest.raises(ValueError, match="'agent_start' is not a valid AgentEventType"):
        AgentEventType("agent_start")
