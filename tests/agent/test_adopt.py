"""Sessions that Java has paused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from agentscope_rx import wire
from agentscope_rx.agent import ConfirmResults, ExternalResults, ReActAgent, RuntimeContext
from agentscope_rx.agent._adopt import adopted
from agentscope_rx.errors import AnswerError, OpenCallsError
from agentscope_rx.event import ConfirmResult
from agentscope_rx.message import (
    AssistantMessage,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultMessage,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.state import AgentState
from agentscope_rx.store import InMemoryAgentStateStore, StateKey
from agentscope_rx.testing import ScriptedModel, acheck_call
from agentscope_rx.tool import external_tool, tool

GOLDEN = Path(__file__).parents[1] / "golden" / "agentstate.jsonl"
CTX = RuntimeContext("sess-1", "user-1")
REQUEST = "agentscope_external_execution_request_reply_id"


@tool
async def bash(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


photo = external_tool("photo", "Take a photo.", {"type": "object", "properties": {}})


def written_by_java(name: str) -> AgentState:
    lines = map(json.loads, GOLDEN.read_text(encoding="utf-8").splitlines())
    return wire.from_dict(AgentState, next(line["json"] for line in lines if line["name"] == name))


async def agent_over(state: AgentState) -> ReActAgent:
    store = InMemoryAgentStateStore()
    await store.save(StateKey("user-1", "sess-1", "main"), state, None)
    return ReActAgent("main", model=ScriptedModel("done"), toolkit=[bash, photo], state_store=store)


@pytest.mark.asyncio
async def test_a_question_that_java_asked_is_answered_under_its_reply_id() -> None:
    state = written_by_java("context_pending_tool_ASKING")
    agent = await agent_over(state)
    asked = state.context[-1].get_content_blocks(ToolUseBlock)

    with pytest.raises(OpenCallsError, match="call_1"):
        await agent.reply("something else", CTX)
    with pytest.raises(AnswerError, match="stale"):
        await agent.reply(ConfirmResults([ConfirmResult(True, asked[0])], "another"), CTX)
    answers = ConfirmResults([ConfirmResult(True, asked[0])], reply_id="reply-0001")
    message = await agent.reply(answers, CTX)

    assert message.id == "reply-0001"
    (result,) = message.get_content_blocks(ToolResultBlock)
    assert (result.id, result.text_content) == ("call_1", "ran ls -la")
    assert message.text_content == "done"


@pytest.mark.asyncio
async def test_what_java_handed_out_takes_its_outcome_and_results_that_were_there_are_kept() -> None:
    calls = [
        ToolUseBlock("a", "bash", {"command": "ls"}, '{"command":"ls"}', state=ToolCallState.ALLOWED),
        ToolUseBlock("b", "photo", {}, "{}"),
    ]
    context = [
        UserMessage("hi"),
        AssistantMessage(content=calls, name="main", metadata={REQUEST: "reply-7"}),
        ToolResultMessage(ToolResultBlock("a", "bash", [TextBlock("ran ls")])),
    ]
    agent = await agent_over(AgentState("sess-1", "user-1", context=context))
    await agent.update_state(lambda state: state, CTX)
    record = await acheck_call(agent, None, CTX)
    assert record.names == ["AgentStart", "RequireExternalExecution", "AgentResult", "AgentEnd"]

    record = await acheck_call(agent, ExternalResults(ToolResultBlock("b", "photo", [TextBlock("[]")])), CTX)
    assert record.message is not None
    assert record.message.id == "reply-7"
    assert [block.id for block in record.message.get_content_blocks(ToolResultBlock)] == ["a", "b"]
    assert [msg.role for msg in agent.get_agent_state(CTX).context] == ["USER", "ASSISTANT"]


@pytest.mark.parametrize(
    "state",
    [
        AgentState(),
        AgentState(context=[UserMessage("hi"), AssistantMessage("there")]),
        AgentState(context=[AssistantMessage([ToolUseBlock("a", "bash")])]),
        AgentState(context=[AssistantMessage([ToolUseBlock("a", "bash", state=ToolCallState.ALLOWED)])]),
        AgentState(context=[AssistantMessage([ToolUseBlock("a", "x", state=ToolCallState.ASKING)]),
                            AssistantMessage("later")]),
    ],
)  # fmt: skip
def test_what_waits_for_nobody_stays_as_it_is(state: AgentState) -> None:
    assert adopted(state) is state


def test_a_reply_of_ours_stays_as_it_is() -> None:
    asking = AssistantMessage([ToolUseBlock("a", "x", state=ToolCallState.ASKING)])
    state: Any = AgentState(context=[asking])
    ours = evolve(state, checkpoint=adopted(state).checkpoint)

    assert ours.checkpoint is not None
    assert adopted(ours) is ours
