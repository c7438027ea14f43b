"""The task list tool: a model writes down what it has to do, and how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal, final

from attrs import evolve, frozen
from msgspec import Meta

from agentscope_rx.message import ToolResultBlock
from agentscope_rx.state import AgentState, SessionState, Task, TaskContextState, TaskState
from agentscope_rx.tool._tool import tool

__all__ = ["TodoItem", "TodoTools"]

_WRITE: Final = """\
Keep the task list of this session. Give the complete list every time: it replaces the one before, and what
you leave out is gone.

Use it for work of three steps or more, and for several wishes at once: write the steps down before you begin.
A single step or a plain question needs no list.

States: pending, not begun; in_progress, what you are doing now, never more than one; completed, done and
checked. Change a state when it changes, not later. What is not done stays open; if something is in its way,
add a task that says what."""


@final
@frozen
class TodoItem:
    """One task."""

    content: Annotated[str, Meta(description="What is to be done, short and specific")]
    status: TaskState = TaskState.PENDING
    priority: Literal["high", "medium", "low"] | None = None


@final
class TodoTools:
    """The tool `todo_write`, with which a model keeps the task list of its session.

    `ReActAgent(…, enable_task_list=True)` gives it to an agent, together with the `TaskReminderMiddleware`
    that keeps the list before the model's eyes. The list is in `AgentState.tasks_context`: each session has
    its own, and it is saved with it. Nobody is asked about it: as to permission it only reads.

    Source: Java `TodoTools`.
    """

    @tool(name="todo_write", description=_WRITE, concurrency_safe=False, read_only=True)
    def todo_write(self, todos: list[TodoItem], session: SessionState) -> ToolResultBlock:
        """Replace the task list.

        Args:
            todos: The complete list, in order
        """
        problem = problem_of(todos)
        if problem is not None:
            return ToolResultBlock.error(f"{problem}. The list is as it was.")
        tasks = session.update(lambda state: with_tasks(state, todos)).tasks_context
        return ToolResultBlock.text(told(tasks))


def problem_of(todos: Sequence[TodoItem]) -> str | None:
    """Say what is wrong with a list; None if nothing is."""
    active = [todo.content for todo in todos if todo.status is TaskState.IN_PROGRESS]
    if len(active) > 1:
        return f"Only one task can be in_progress, and these are: {', '.join(active)}"
    if any(not todo.content.strip() for todo in todos):
        return "A task has no content"
    return None


def with_tasks(state: AgentState, todos: Sequence[TodoItem]) -> AgentState:
    """Return the state with these tasks; one that it has already keeps all that the list does not say."""
    known = {task.subject: task for task in reversed(state.tasks_context.tasks)}
    tasks = (_task(todo, known.pop(todo.content, None)) for todo in todos)
    return evolve(state, tasks_context=TaskContextState(tasks))


def _task(todo: TodoItem, known: Task | None) -> Task:
    task = known or Task(todo.content, todo.content)
    priority = {} if todo.priority is None else {"priority": todo.priority}
    return evolve(task, state=todo.status, metadata={**task.metadata, **priority})


def told(tasks: TaskContextState) -> str:
    """Say what the list has become."""
    if not tasks.tasks:
        return "The task list is empty."
    return f"{len(tasks.open_tasks)} of {len(tasks.tasks)} tasks are open:\n{tasks.checklist}"
