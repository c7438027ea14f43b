"""How it stands with what a subagent was told."""

from __future__ import annotations

import pytest

from agentscope_rx import event as ev
from agentscope_rx.agent._standing import Fresh, GoesOn, Said, Standing, Used, standing
from agentscope_rx.message import AssistantMessage, GenerateReason, ToolUseBlock, UserMessage
from agentscope_rx.operators import ReplyFold
from agentscope_rx.state import AgentState

TOLD, OTHER = UserMessage("go", id="told"), UserMessage("hello", id="other")
DONE, LATER = AssistantMessage("done", id="done"), AssistantMessage("later", id="later")
CALL = (
    ev.AgentStartEvent(session_id="s", reply_id="r", name="child"),
    ev.ToolCallStartEvent("r", "a", "tool"),
    ev.ToolCallEndEvent("r", "a", "tool"),
)
ASKED = (*CALL, ev.RequireUserConfirmEvent("r", [ToolUseBlock("a", "tool")]))
STOPPED = (CALL[0], ev.AgentEndEvent("r", GenerateReason.REASONING_STOP_REQUESTED))


def state(*msgs: UserMessage | AssistantMessage) -> AgentState:
    return AgentState("s", context=msgs)


def unfinished(*events: ev.AgentEvent, before: tuple[UserMessage | AssistantMessage, ...]) -> AgentState:
    fold = ReplyFold("r")
    for event in events:
        fold.apply(event)
    return AgentState("s", context=(*before, fold.message()), reply_id="r", checkpoint=fold.checkpoint())


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (state(), Fresh()),
        (state(OTHER, DONE), Used()),
        (state(TOLD), GoesOn()),
        (state(TOLD, DONE), Said(DONE)),
        (state(OTHER, LATER, TOLD, DONE), Said(DONE)),
        (state(TOLD, DONE, OTHER, LATER), Said(DONE)),
        (unfinished(*CALL, before=(TOLD,)), GoesOn()),
        (unfinished(*ASKED, before=(TOLD,)), GoesOn()),
        (unfinished(*CALL, before=(TOLD, DONE, OTHER)), Said(DONE)),
        (unfinished(*CALL, before=(OTHER,)), Used(left_open=True)),
        (unfinished(*ASKED, before=(OTHER,)), Used(waits=True)),
        (unfinished(*STOPPED, before=(OTHER,)), Used()),
    ],
)
def test_it_is_seen_from_the_session(state: AgentState, expected: Standing) -> None:
    assert standing(state, "told") == expected
