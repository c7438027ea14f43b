"""State: what a session keeps between calls."""

from agentscope_rx.state._agent_state import AgentState as AgentState
from agentscope_rx.state._session_state import SessionState as SessionState
from agentscope_rx.state._values import (
    PlanModeContextState as PlanModeContextState,
    ReadCacheEntry as ReadCacheEntry,
    SpawnEntry as SpawnEntry,
    Task as Task,
    TaskContextState as TaskContextState,
    TaskState as TaskState,
    ToolContextState as ToolContextState,
    ToolkitState as ToolkitState,
)

__all__ = [
    "AgentState",
    "PlanModeContextState",
    "ReadCacheEntry",
    "SessionState",
    "SpawnEntry",
    "Task",
    "TaskContextState",
    "TaskState",
    "ToolContextState",
    "ToolkitState",
]
