"""What a session keeps beside its messages."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.identity import deterministic
from agentscope_rx.state import (
    ReadCacheEntry,
    SpawnEntry,
    Task,
    TaskContextState,
    TaskState,
    ToolContextState,
)


def test_a_task_is_pending_and_gets_an_id_and_a_time() -> None:
    with deterministic("t"):
        task = Task("write tests")

    assert (task.state, task.id, task.created_at) == (TaskState.PENDING, "t1", "2026-01-01T00:00:00.000Z")


def test_lists_become_tuples() -> None:
    task = Task("a", blocks=["t2"], blocked_by=["t3"])  # type: ignore[arg-type]

    assert (task.blocks, task.blocked_by) == (("t2",), ("t3",))
    assert TaskContextState([task]).tasks == (task,)  # type: ignore[arg-type]
    assert ReadCacheEntry(["a", "b"]).lines == ("a", "b")  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(task)) == task


def test_limits_of_the_read_cache_are_javas() -> None:
    state = ToolContextState()

    assert (state.max_cache_files, state.max_cache_bytes) == (100, 25_000.0)
    assert (state.activated_groups, state.spawn_registry) == ((), {})


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Task(5), "Task.subject is 5; give a str"),
        (lambda: Task("a", state="done"), "Task.state is 'done'; give TaskState"),
        (lambda: Task("a", blocks="t2"), "'t2' is no sequence; give a list of str"),
        (lambda: TaskContextState(["x"]), "'x' is no Task"),
        (lambda: ToolContextState(spawn_registry=5), "5 is no mapping; give a dict"),
        (lambda: ToolContextState(spawn_registry={"k": {}}), "{} is no SpawnEntry"),
        (lambda: ToolContextState(max_cache_files=1), "max_cache_files is 1; give a number over 1"),
        (
            lambda: ToolContextState(max_cache_bytes=1e4),
            "max_cache_bytes is 10000.0; give a number over 10000",
        ),
        (lambda: ToolContextState(max_cache_files="9"), "max_cache_files is '9'; give a number over 1"),
        (lambda: SpawnEntry(depth=1.5), "SpawnEntry.depth is 1.5; give an int"),
    ],
)
def test_a_wrong_argument_raises_with_its_value_and_the_remedy(make: Any, complaint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()

    assert complaint in str(caught.value)


def test_a_task_list_reads_as_a_checklist() -> None:
    tasks = TaskContextState(
        [
            Task("read", state=TaskState.COMPLETED),
            Task("write", state=TaskState.IN_PROGRESS, metadata={"priority": "high"}),
            Task("rest", metadata={"color": "red"}),
        ]
    )

    assert tasks.checklist == "- [x] read\n- [~] write (priority: high)\n- [ ] rest"
    assert [task.subject for task in tasks.open_tasks] == ["write", "rest"]
    assert TaskContextState().checklist == ""
