"""The task list before the model's eyes."""

from __future__ import annotations

from typing import Any, cast

import pytest
import reactivex as rx

from agentscope_rx.agent import RuntimeContext
from agentscope_rx.message import UserMessage
from agentscope_rx.middleware import ReasoningInput, TaskReminderMiddleware
from agentscope_rx.state import AgentState, SessionState, Task, TaskContextState, TaskState

ANY = cast(Any, None)


def asked(*tasks: Task, session: bool = True) -> ReasoningInput:
    """What `next` gets, when the session has these tasks."""
    state = SessionState(AgentState(tasks_context=TaskContextState(tasks)))
    ctx = RuntimeContext(objects=[state] if session else [])
    got: list[ReasoningInput] = []

    def next(input: ReasoningInput) -> rx.Observable[Any]:
        got.append(input)
        return rx.empty()

    TaskReminderMiddleware().on_reasoning(ANY, ctx, ReasoningInput([UserMessage("hi")]), next)
    return got[0]


def test_open_tasks_are_shown_behind_the_prompt() -> None:
    shown = asked(Task("read", state=TaskState.COMPLETED), Task("write", metadata={"priority": "low"}))

    assert [msg.text_content for msg in shown.messages[:-1]] == ["hi"]
    reminder = shown.messages[-1]
    assert isinstance(reminder, UserMessage)
    assert reminder.name == "system"
    assert "- [x] read\n- [ ] write (priority: low)\n</system-reminder>" in reminder.text_content
    assert reminder.metadata == {"agentscope_synthetic": True, "agentscope_reminder_kind": "todo_state"}


@pytest.mark.parametrize(
    ("tasks", "session"),
    [((), True), ([Task("read", state=TaskState.COMPLETED)], True), ([Task("read")], False)],
)
def test_without_an_open_task_nothing_is_shown(tasks: Any, session: bool) -> None:
    assert [msg.text_content for msg in asked(*tasks, session=session).messages] == ["hi"]


@pytest.mark.parametrize(
    ("prompt", "start"), [("Be kind.", "Be kind.\n\n## Task list\n"), ("", "## Task list\n")]
)
def test_the_system_prompt_says_what_the_list_is_for(prompt: str, start: str) -> None:
    grounded = TaskReminderMiddleware().on_system_prompt(ANY, RuntimeContext(), prompt)

    assert grounded.startswith(start)
    assert "todo_write" in grounded
