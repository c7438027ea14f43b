"""What a paused subagent waits for: read from its events, kept in the metadata of a result, read again."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx import event as ev, wire
from agentscope_rx.agent._waiting import Question, Questions, Waiting, about, waits_of
from agentscope_rx.message import (
    AssistantMessage,
    GenerateReason,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)

A, B, C = (ToolUseBlock(id, "tool") for id in "abc")
ASKS, WAITS = ToolCallState.ASKING, ToolCallState.SUBMITTED


@pytest.mark.parametrize(
    ("events", "open"),
    [
        ([], ()),
        ([ev.RequireUserConfirmEvent("r", [A, B])], (Question("r", ASKS, ("a", "b")),)),
        ([ev.RequireExternalExecutionEvent("r", [A])], (Question("r", WAITS, ("a",)),)),
        (
            [ev.RequireUserConfirmEvent("r", [A]), ev.RequireUserConfirmEvent("s", [A], source="main/x")],
            (Question("r", ASKS, ("a",)), Question("s", ASKS, ("a",))),
        ),
        (
            [ev.RequireUserConfirmEvent("r", [A, B]), ev.RequireUserConfirmEvent("r", [B])],
            (Question("r", ASKS, ("b",)),),
        ),
        (
            [
                ev.RequireUserConfirmEvent("r", [A, B]),
                ev.UserConfirmResultEvent("r", [ev.ConfirmResult(True, A), ev.ConfirmResult(True, None)]),
            ],
            (Question("r", ASKS, ("b",)),),
        ),
        (
            [
                ev.RequireUserConfirmEvent("r", [A]),
                ev.UserConfirmResultEvent("s", [ev.ConfirmResult(True, A)]),
            ],
            (Question("r", ASKS, ("a",)),),
        ),
        (
            [
                ev.RequireExternalExecutionEvent("r", [A, B, C]),
                ev.ExternalExecutionResultEvent("r", [ToolResultBlock("b", "tool")]),
                ev.ToolResultEndEvent("r", "c", "tool", ToolResultState.INTERRUPTED),
            ],
            (Question("r", WAITS, ("a",)),),
        ),
        (
            [
                ev.RequireExternalExecutionEvent("r", [A]),
                ev.ToolResultEndEvent("r", "a", "tool", ToolResultState.RUNNING),
            ],
            (Question("r", WAITS, ("a",)),),
        ),
        ([ev.RequireUserConfirmEvent("r", [A]), ev.ToolResultEndEvent("r", "a", "tool")], ()),
    ],
)
def test_questions_are_open_until_they_are_answered_or_their_calls_have_ended(
    events: list[ev.AgentEvent], open: tuple[Question, ...]
) -> None:
    questions = Questions()
    for event in events:
        questions.take(event)

    assert questions.open() == open


WAITING = Waiting(
    "s/child/k",
    GenerateReason.PERMISSION_ASKING,
    (Question("r", ASKS, ("a", "b")), Question("s", WAITS, ("a",))),
)


def test_a_result_keeps_it_as_json() -> None:
    metadata = {**about("child", "s/child/k", "r"), **WAITING.metadata()}
    message = AssistantMessage(
        [
            ToolResultBlock("k", "call_child", metadata=metadata),
            ToolResultBlock("l", "call_child", metadata=metadata, state=ToolResultState.SUCCESS),
            ToolResultBlock("m", "add", metadata={"agentscope_suspended": True}),
        ]
    )

    again = wire.loads_msg(wire.dumps_msg(message))

    assert isinstance(again, AssistantMessage)
    assert waits_of(again) == {"k": WAITING}


NOT_OURS: list[Any] = [
    None,
    3,
    [],
    {},
    {"reason": "PERMISSION_ASKING"},
    {"reason": "LUNCH", "questions": []},
    {"reason": "PERMISSION_ASKING", "questions": 3},
    {"reason": "PERMISSION_ASKING", "questions": [3]},
    {"reason": "PERMISSION_ASKING", "questions": [{"reply_id": "r", "state": "bored", "calls": []}]},
    {"reason": "PERMISSION_ASKING", "questions": [{"reply_id": "r", "state": "asking", "calls": 3}]},
]


@pytest.mark.parametrize("waits", NOT_OURS)
def test_metadata_of_somebody_else_s_is_no_subagent_that_waits(waits: Any) -> None:
    assert Waiting.of({**about("child", "s", "r"), "subagent_waits": waits}) is None


def test_without_a_session_there_is_nobody_who_waits() -> None:
    assert Waiting.of(WAITING.metadata()) is None
