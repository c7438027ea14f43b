"""The task list, written by a model."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve
from reactivex import operators as ops

from agentscope_rx.agent import RuntimeContext
from agentscope_rx.identity import deterministic
from agentscope_rx.message import ToolResultBlock, ToolResultState, ToolUseBlock
from agentscope_rx.operators import to_msg
from agentscope_rx.state import AgentState, SessionState, Task, TaskContextState, TaskState
from agentscope_rx.tool import TodoItem, TodoTools, Toolkit, run_tool
from agentscope_rx.tool._todo import problem_of, with_tasks

DOING, DONE = TaskState.IN_PROGRESS, TaskState.COMPLETED


def write(session: SessionState | None, *todos: Any) -> ToolResultBlock:
    call = ToolUseBlock("c1", "todo_write", content=json.dumps({"todos": todos}))
    ctx = RuntimeContext(objects=() if session is None else (session,))
    events = run_tool(call, Toolkit(TodoTools()), reply_id="r", ctx=ctx)
    message = events.pipe(to_msg(), ops.last()).run()
    [result] = message.get_content_blocks(ToolResultBlock)
    return result


def test_the_model_writes_its_list_and_reads_what_has_become_of_it() -> None:
    session = SessionState(AgentState())
    result = write(
        session,
        {"content": "read the log", "status": "completed"},
        {"content": "find the cause", "status": "in_progress", "priority": "high"},
        {"content": "mend it"},
    )

    assert ToolResultState.SUCCESS is result.state
    assert result.text_content == (
        "2 of 3 tasks are open:\n- [x] read the log\n- [~] find the cause (priority: high)\n- [ ] mend it"
    )
    tasks = session.value.tasks_context.tasks
    assert [task.subject for task in tasks] == ["read the log", "find the cause", "mend it"]
    assert [task.state for task in tasks] == [DONE, DOING, TaskState.PENDING]


def test_a_list_replaces_the_one_before_and_an_empty_one_clears_it() -> None:
    session = SessionState(AgentState())
    write(session, {"content": "a"}, {"content": "b"})

    assert write(session, {"content": "b"}).text_content == "1 of 1 tasks are open:\n- [ ] b"
    assert write(session).text_content == "The task list is empty."
    assert session.value.tasks_context.tasks == ()


@pytest.mark.parametrize(
    ("todos", "words"),
    [
        (
            [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "in_progress"}],
            ["one", "in_progress", "a, b"],
        ),
        ([{"content": " "}], ["no content"]),
        ([{"content": "a", "status": "doing"}], ["$.todos[0].status", "doing"]),
        ([{"content": "a", "priority": "urgent"}], ["$.todos[0].priority", "urgent"]),
        ([{"status": "pending"}], ["$.todos[0]", "content"]),
    ],
)
def test_a_wrong_list_is_refused_as_a_whole(todos: list[Any], words: list[str]) -> None:
    before = AgentState(tasks_context=TaskContextState([Task("old")]))
    session = SessionState(before)
    result = write(session, *todos)

    assert ToolResultState.ERROR is result.state
    assert all(word in result.text_content for word in words), result.text_content
    assert session.value is before


def test_outside_of_a_call_there_is_no_list() -> None:
    result = write(None, {"content": "a"})

    assert ToolResultState.ERROR is result.state
    assert "SessionState" in result.text_content


def test_a_task_that_stays_keeps_its_id_and_all_that_the_model_does_not_say() -> None:
    with deterministic("t"):
        old = Task("a", "a", {"priority": "high", "color": "red"}, owner="ann")
    before = AgentState(tasks_context=TaskContextState([old, Task("gone")]), summary="kept")

    after = with_tasks(before, [TodoItem("new"), TodoItem("a", DOING, "low")])

    assert after.summary == "kept"
    new, kept = after.tasks_context.tasks
    assert evolve(old, state=DOING, metadata={"priority": "low", "color": "red"}) == kept
    assert new.id not in ("", old.id)
    assert with_tasks(after, [TodoItem("a")]).tasks_context.tasks[0].metadata["priority"] == "low"


def test_two_tasks_of_the_same_words_are_two_tasks() -> None:
    state = with_tasks(AgentState(), [TodoItem("a"), TodoItem("a")])
    again = with_tasks(state, [TodoItem("a", DONE), TodoItem("a")])

    first, second = again.tasks_context.tasks
    assert first.id != second.id
    assert [first.state, second.state] == [DONE, TaskState.PENDING]


@pytest.mark.parametrize(
    ("todos", "fine"),
    [
        ([], True),
        ([TodoItem("a", DOING)], True),
        ([TodoItem("a", DONE), TodoItem("b", DONE)], True),
        ([TodoItem("a", DOING), TodoItem("b", DOING)], False),
        ([TodoItem("")], False),
    ],
)
def test_what_is_wrong_with_a_list(todos: list[TodoItem], fine: bool) -> None:
    assert (problem_of(todos) is None) is fine


def test_the_schema_says_what_a_task_is() -> None:
    [schema] = Toolkit(TodoTools()).schemas()
    todos = schema.parameters["properties"]["todos"]

    assert schema.name == "todo_write"
    assert "replaces the one before" in schema.description
    assert list(schema.parameters["properties"]) == ["todos"]
    assert list(todos["items"]["properties"]) == ["content", "status", "priority"]
    assert sorted(todos["items"]["properties"]["status"]["enum"]) == ["completed", "in_progress", "pending"]
