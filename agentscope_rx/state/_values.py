"""What a session keeps beside its messages, in the shapes that Java stores; snake_case on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, final

from attrs import field, frozen

from agentscope_rx._check import a, a_str, a_str_or_none, an_int, more_than, tuple_of
from agentscope_rx._frozen import EMPTY, freeze, freeze_without_nulls
from agentscope_rx._repr import Name
from agentscope_rx.identity import new_id, now

__all__ = [
    "PlanModeContextState",
    "ReadCacheEntry",
    "SpawnEntry",
    "Task",
    "TaskContextState",
    "TaskState",
    "ToolContextState",
    "ToolkitState",
]


def _strings(items: Iterable[str]) -> tuple[str, ...]:
    return tuple_of(str, items)


class TaskState(Name):
    """Where a task of the task list stands."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


@final
@frozen
class Task:
    """One entry of an agent's task list; `blocks` and `blocked_by` are task ids, `created_at` ISO 8601."""

    subject: str = field(validator=a_str)
    description: str = field(default="", validator=a_str)
    metadata: Mapping[str, Any] = field(default=EMPTY, converter=freeze_without_nulls, hash=False)
    created_at: str = field(factory=now)
    state: TaskState = field(default=TaskState.PENDING, validator=a(TaskState))
    id: str = field(factory=new_id, validator=a_str)
    owner: str | None = field(default=None, validator=a_str_or_none)
    blocks: tuple[str, ...] = field(default=(), converter=_strings)
    blocked_by: tuple[str, ...] = field(default=(), converter=_strings)


def _tasks(items: Iterable[Task]) -> tuple[Task, ...]:
    return tuple_of(Task, items)


_BOXES: Final = {TaskState.PENDING: "[ ]", TaskState.IN_PROGRESS: "[~]", TaskState.COMPLETED: "[x]"}


@final
@frozen
class TaskContextState:
    """An agent's task list."""

    tasks: tuple[Task, ...] = field(default=(), converter=_tasks)

    @property
    def open_tasks(self) -> tuple[Task, ...]:
        """The tasks that are not completed."""
        return tuple(task for task in self.tasks if task.state is not TaskState.COMPLETED)

    @property
    def checklist(self) -> str:
        """The tasks as a model reads them, one a line: `- [~] write the tests (priority: high)`."""
        return "\n".join(map(_line, self.tasks))


def _line(task: Task) -> str:
    priority = task.metadata.get("priority")
    return f"- {_BOXES[task.state]} {task.subject}" + (f" (priority: {priority})" if priority else "")


@final
@frozen
class PlanModeContextState:
    """Whether the agent plans, and in which file."""

    plan_active: bool = False
    current_plan_file: str | None = None


@final
@frozen
class SpawnEntry:
    """A subagent that was spawned, so that its session can be gone on with; `depth` 1 is a child."""

    key: str | None = field(default=None, validator=a_str_or_none)
    agent_id: str | None = field(default=None, validator=a_str_or_none)
    session_id: str | None = field(default=None, validator=a_str_or_none)
    label: str | None = field(default=None, validator=a_str_or_none)
    depth: int = field(default=0, validator=an_int)


def _spawned(entries: Mapping[str, SpawnEntry]) -> Mapping[str, SpawnEntry]:
    frozen_entries = freeze(entries)
    tuple_of(SpawnEntry, frozen_entries.values())
    return frozen_entries


@final
@frozen
class ToolContextState:
    """What tools keep: limits of the read cache (`max_cache_bytes` in kB), active groups, spawned agents."""

    max_cache_files: int = field(default=100, validator=more_than(1))
    max_cache_bytes: float = field(default=25000.0, validator=more_than(10_000))
    activated_groups: tuple[str, ...] = field(default=(), converter=_strings)
    spawn_registry: Mapping[str, SpawnEntry] = field(default=EMPTY, converter=_spawned, hash=False)


@final
@frozen
class ReadCacheEntry:
    """A file as a tool last read it; `updated_at` in seconds since 1970, `bytes` in kB."""

    lines: tuple[str, ...] = field(default=(), converter=_strings)
    updated_at: float = 0.0
    bytes: float = 0.0
    file_path: str | None = None


@final
@frozen
class ToolkitState:
    """The tool groups that are active (Java's older form)."""

    active_groups: tuple[str, ...] = field(default=(), converter=_strings)
