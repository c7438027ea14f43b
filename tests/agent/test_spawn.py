"""Agents that a model spawns, talks to, and shows to the user."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from attrs import evolve

from agentscope_rx import event as ev
from agentscope_rx.agent import ConfirmResults, ReActAgent, RuntimeContext, SubagentDeclaration
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import GenerateReason, MsgRole, ToolResultBlock, ToolResultState, ToolUseBlock
from agentscope_rx.permission import PermissionContextState, PermissionDecision
from agentscope_rx.state import SpawnEntry
from agentscope_rx.store import InMemoryAgentStateStore
from agentscope_rx.testing import (
    CallRecord,
    ScriptedCall,
    ScriptedModel,
    acheck_call,
    check_call,
    check_disposal,
    check_subagents,
    tool_call,
)
from agentscope_rx.tool import tool


def echo(asked: ScriptedCall) -> str:
    users = [msg.text_content for msg in asked.messages if msg.role is MsgRole.USER]
    return f"heard {', '.join(users)}"


def researcher(name: str = "researcher", **options: Any) -> ReActAgent:
    return ReActAgent(name, model=ScriptedModel(echo), description="Finds things out.", **options)


def boss(*steps: Any, subagents: Iterable[Any] = (), **options: Any) -> ReActAgent:
    return ReActAgent("boss", model=ScriptedModel(*steps), subagents=subagents or [researcher()], **options)


def spawn(id: str = "k1", agent_id: str = "researcher", task: str = "find it", **more: Any) -> ToolUseBlock:
    return tool_call("agent_spawn", {"agent_id": agent_id, "task": task, **more}, id)


def send(key: str, message: str, id: str = "m1") -> ToolUseBlock:
    return tool_call("agent_send", {"agent_key": key, "message": message}, id)


def results(record: CallRecord) -> list[ToolResultBlock]:
    assert record.message is not None
    return record.message.get_content_blocks(ToolResultBlock)


def exposed(record: CallRecord) -> list[ev.SubagentExposedEvent]:
    return [event for event in record.events if isinstance(event, ev.SubagentExposedEvent)]


KEY = "agent:researcher:k1"
HEAD = f"agent_key: {KEY}\nagent_id: researcher\n\n"


def test_a_spawned_agent_works_in_a_session_of_its_own_and_is_remembered() -> None:
    agent = boss(spawn(label="first"), "done")

    record = check_call(agent, "hi", RuntimeContext("s", "ann"))

    assert [result.text_content for result in results(record)] == [f"{HEAD}heard find it"]
    registry = agent.get_agent_state(RuntimeContext("s", "ann")).tool_context.spawn_registry
    assert registry == {KEY: SpawnEntry(KEY, "researcher", "s/researcher/k1", "first", 1)}
    (message,) = check_subagents(agent, record.events, RuntimeContext("s", "ann"))["main/researcher"]
    assert message.text_content == "heard find it"
    assert exposed(record) == []


def test_the_model_is_told_which_agents_there_are() -> None:
    agent = boss("done", subagents=[researcher(), SubagentDeclaration(researcher("writer"))])

    schema = next(each for each in agent.toolkit.schemas() if each.name == "agent_spawn")

    assert "- researcher: Finds things out.\n- writer: Finds things out." in schema.description
    properties = schema.parameters["properties"]
    assert properties["agent_id"]["enum"] == ["researcher", "writer"]
    assert list(properties) == ["agent_id", "task", "label", "expose_to_user"]
    assert schema.parameters["required"] == ["agent_id"]
    assert "agent_send" in agent.toolkit


@pytest.mark.parametrize("by", [KEY, "first"], ids=["by key", "by label"])
def test_more_can_be_said_to_a_spawned_agent_which_remembers(by: str) -> None:
    agent = boss(spawn(label="first"), "done", send(by, "and then?"), "done")

    records = [check_call(agent, "hi"), check_call(agent, "more")]

    assert results(records[1])[0].text_content == f"{HEAD}heard find it, and then?"
    messages = check_subagents(agent, [event for record in records for event in record.events])
    assert len(messages["main/researcher"]) == 2


def test_two_agents_that_are_spawned_under_one_call_id_are_two() -> None:
    agent = boss(spawn(), "done", spawn(task="other"), "done")

    check_call(agent, "hi")
    record = check_call(agent, "again")

    assert results(record)[0].text_content.startswith("agent_key: agent:researcher:k1-2\n")
    registry = agent.get_agent_state().tool_context.spawn_registry
    assert [entry.session_id for entry in registry.values()] == [
        "boss/researcher/k1",
        "boss/researcher/k1-2",
    ]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (spawn(agent_id="nobody"), "There is no agent 'nobody'. The agents are: researcher."),
        (send("nobody", "hi"), "No agent 'nobody' was spawned. There are none: use agent_spawn."),
    ],
)
def test_a_model_that_names_nobody_is_told_who_there_is(call: ToolUseBlock, words: str) -> None:
    (result,) = results(check_call(boss(call, "done"), "hi"))

    assert (result.state, result.text_content) == (ToolResultState.ERROR, f"Error: {words}")


def test_a_label_is_given_once_and_those_that_there_are_are_named() -> None:
    agent = boss(spawn(label="a"), [spawn("k2", label="a"), send("b", "hi")], "done")

    _, second, third = results(check_call(agent, "hi"))

    assert second.text_content == "Error: The label 'a' is in use: take another."
    assert third.text_content == f"Error: No agent 'b' was spawned. Those that there are: {KEY} (a)."
    assert list(agent.get_agent_state().tool_context.spawn_registry) == [KEY]


def test_an_agent_that_is_not_declared_any_more_is_said_to_be_gone() -> None:
    agent = boss(send("k", "hi"), "done")
    entry = SpawnEntry("k", "writer", "s", None, 1)
    agent.update_state(
        lambda state: evolve(state, tool_context=evolve(state.tool_context, spawn_registry={"k": entry}))
    ).run()

    (result,) = results(check_call(agent, "hi"))

    assert result.text_content == "Error: Agent 'writer' is not there any more."


@pytest.mark.parametrize(
    ("for_call", "declared", "wanted", "is_exposed"),
    [
        (None, None, None, False),
        (None, None, True, True),
        (None, False, True, False),
        (None, True, None, True),
        (False, True, True, False),
        ("true", False, False, True),
        ("false", True, True, False),
    ],
)
def test_the_application_decides_who_is_exposed_before_the_model(
    for_call: Any, declared: bool | None, wanted: bool | None, is_exposed: bool
) -> None:
    declaration = SubagentDeclaration(researcher(), "Research", expose_to_user=declared)
    more: dict[str, Any] = {} if wanted is None else {"expose_to_user": wanted}
    agent = boss(spawn(**more), "done", subagents=[declaration])
    attributes = {} if for_call is None else {"agentscope.subagent.expose_to_user": for_call}

    record = check_call(agent, "hi", RuntimeContext("s", attributes=attributes))

    assert bool(exposed(record)) is is_exposed


def test_an_exposed_agent_is_announced_before_it_works_and_can_be_talked_to() -> None:
    store = InMemoryAgentStateStore()
    declaration = SubagentDeclaration(researcher(), "Research", expose_to_user=True)
    agent = boss(
        spawn(), "done", send(KEY, "what did we say?"), "done", subagents=[declaration], state_store=store
    )
    ctx = RuntimeContext("s", "ann")

    record = check_call(agent, "hi", ctx)

    (event,) = exposed(record)
    assert (event.subagent_id, event.agent_id, event.session_id, event.label) == (
        KEY,
        "researcher",
        "s/researcher/k1",
        "Research",
    )
    assert (event.source, event.reply_id) == (None, "")
    first_of_it = next(i for i, e in enumerate(record.events) if e.source)
    assert record.events.index(event) < first_of_it

    assert event.agent_id is not None
    direct = check_call(
        agent.subagent(event.agent_id), "just between us", RuntimeContext(event.session_id, "ann")
    )
    assert direct.message is not None
    assert direct.message.text_content == "heard find it, just between us"
    later = check_call(agent, "more", ctx)
    assert "just between us" in results(later)[0].text_content


def test_an_agent_without_a_task_waits_to_be_talked_to() -> None:
    agent = boss(spawn(task="", label="x", expose_to_user=True), send("x", "hello"), "done")

    record = check_call(agent, "hi")

    assert [result.text_content for result in results(record)] == [
        f"{HEAD}It waits to be talked to.",
        f"{HEAD}heard hello",
    ]
    assert [event.label for event in exposed(record)] == ["x"]


def sure(_: Any, __: PermissionContextState) -> PermissionDecision:
    return PermissionDecision.ask("sure?")


@tool(check_permission=sure)
def remove(path: str) -> str:
    """Remove a file."""
    return f"removed {path}"


def test_what_a_spawned_agent_asks_is_answered_and_it_is_exposed_once() -> None:
    child = ReActAgent(
        "researcher",
        model=ScriptedModel(
            tool_call("remove", path="/x"), "gone", tool_call("remove", path="/y"), "gone too"
        ),
        toolkit=[remove],
    )
    agent = boss(spawn(expose_to_user=True), send(KEY, "more"), "done", subagents=[child])

    records = [check_call(agent, "hi")]
    for _ in range(2):
        question = next(e for e in reversed(records[-1].events) if isinstance(e, ev.RequireUserConfirmEvent))
        answers = [ev.ConfirmResult(True, call) for call in question.tool_calls]
        records.append(check_call(agent, ConfirmResults(answers, question.reply_id)))

    events = [event for record in records for event in record.events]
    assert [result.text_content for result in results(records[-1])] == [f"{HEAD}gone", f"{HEAD}gone too"]
    assert len([event for event in events if isinstance(event, ev.SubagentExposedEvent)]) == 1
    check_subagents(agent, events)


def test_what_a_disposal_has_left_open_in_a_spawned_agent_is_closed_before_it_is_talked_to() -> None:
    def slow(asked: ScriptedCall) -> Any:
        return "fine" if asked.results or asked.text == "more" else tool_call("remove", {"path": "/x"}, "r")

    @tool(name="remove")
    def removes(path: str) -> str:
        """Remove a file."""
        raise AssertionError("is not run")

    child = ReActAgent("researcher", model=ScriptedModel(slow), toolkit=[removes])
    agent = boss(send("x", "more"), "done", subagents=[child])
    check_disposal(child, "find it", RuntimeContext("s"), after=6)
    entry = SpawnEntry(KEY, "researcher", "s", "x", 1)
    agent.update_state(
        lambda state: evolve(state, tool_context=evolve(state.tool_context, spawn_registry={KEY: entry}))
    ).run()

    record = check_call(agent, "hi")

    assert [result.text_content for result in results(record)] == [f"{HEAD}fine"]
    (closed, *_) = child.get_agent_state(RuntimeContext("s")).context[1].get_content_blocks(ToolResultBlock)
    assert closed.state is ToolResultState.INTERRUPTED


def test_an_agent_that_waits_for_a_human_is_not_talked_over() -> None:
    child = ReActAgent(
        "researcher", model=ScriptedModel(tool_call("remove", path="/x"), "gone"), toolkit=[remove]
    )
    agent = boss(send("x", "more"), "done", subagents=[child])
    paused = check_call(child, "find it", RuntimeContext("s"))
    assert paused.message is not None
    assert paused.message.generate_reason is GenerateReason.PERMISSION_ASKING
    entry = SpawnEntry(KEY, "researcher", "s", "x", 1)
    agent.update_state(
        lambda state: evolve(state, tool_context=evolve(state.tool_context, spawn_registry={KEY: entry}))
    ).run()

    (result,) = results(check_call(agent, "hi"))

    assert result.state is ToolResultState.ERROR
    assert "researcher waits for an answer of somebody else's" in result.text_content


def test_spawned_agents_spawn_agents() -> None:
    inner = ReActAgent(
        "researcher", model=ScriptedModel(spawn("k2", "helper"), "inner"), subagents=[researcher("helper")]
    )
    agent = boss(spawn(), "outer", subagents=[inner])

    record = check_call(agent, "hi")

    messages = check_subagents(agent, record.events)
    assert [m.text_content for m in messages["main/researcher/helper"]] == ["heard find it"]
    state = agent.subagent("researcher").get_agent_state(RuntimeContext("boss/researcher/k1"))
    (entry,) = state.tool_context.spawn_registry.values()
    assert (entry.session_id, entry.depth) == ("boss/researcher/k1/helper/k2", 2)


@pytest.mark.parametrize(
    ("subagents", "words"),
    [
        ("researcher", "subagents is 'researcher'; give a list of agents"),
        (3, "subagents is 3; give a list"),
        ([3], "3 is no agent; give one"),
        ([researcher(), researcher()], "two subagents are named 'researcher': rename one"),
    ],
)
def test_what_is_no_list_of_agents_is_refused(subagents: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        boss("done", subagents=subagents)


def test_a_choice_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="expose_to_user is 'yes'; give True, False, or None"):
        SubagentDeclaration(researcher(), expose_to_user="yes")  # type: ignore[arg-type]


def test_a_tool_that_is_called_as_those_for_subagents_is_refused() -> None:
    @tool
    def agent_send() -> None: ...

    with pytest.raises(ConfigurationError, match="two tools are named 'agent_send'"):
        boss("done", toolkit=[agent_send])


def test_a_copy_of_an_agent_has_the_tools_for_subagents_once() -> None:
    agent = boss("done", subagents=[researcher()])

    copy = evolve(agent, max_iters=3)

    assert copy.toolkit.names == agent.toolkit.names == ("agent_spawn", "agent_send")


@pytest.mark.asyncio
async def test_another_process_finds_those_that_were_spawned() -> None:
    store = InMemoryAgentStateStore()
    await acheck_call(boss(spawn(), "done", state_store=store), "hi")

    other = boss(send(KEY, "and then?"), "done", state_store=store)
    await other.update_state(lambda state: state)
    record = await acheck_call(other, "more")

    assert results(record)[0].text_content == f"{HEAD}heard find it, and then?"
