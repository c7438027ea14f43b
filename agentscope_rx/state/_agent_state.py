"""What an agent remembers of one session between calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, final

from attrs import field, frozen

from agentscope_rx._repr import Brief
from agentscope_rx.message import Msg
from agentscope_rx.permission import PermissionContextState
from agentscope_rx.state._values import PlanModeContextState, TaskContextState, ToolContextState

__all__ = ["AgentState"]


def _msgs(msgs: Iterable[Msg]) -> tuple[Msg, ...]:
    return tuple(msgs)


@final
@frozen
class AgentState(Brief):
    """One session of one agent, in Java's fields and order.

    Attributes:
        session_id: the conversation.
        user_id: the user; None where there is only one.
        summary: a summary of what `context` no longer holds.
        context: the conversation; the last message may be of a reply that is not finished.
        reply_id: the newest reply's id.
        cur_iter: reasoning phases that the newest reply has begun, over all its calls.
        shutdown_interrupted: whether a shutdown ended the last call.
        permission_context: rules and mode.
        tool_context: active tool groups and what tools keep.
        tasks_context: the task list.
        plan_mode_context: whether the agent plans.
        checkpoint: the fold of the newest reply, if that is not finished (ours); None once it is.
    """

    session_id: str = ""
    user_id: str | None = None
    summary: str = ""
    context: tuple[Msg, ...] = field(default=(), converter=_msgs)
    reply_id: str = ""
    cur_iter: int = 0
    shutdown_interrupted: bool = False
    permission_context: PermissionContextState = field(factory=PermissionContextState)
    tool_context: ToolContextState = field(factory=ToolContextState)
    tasks_context: TaskContextState = field(factory=TaskContextState)
    plan_mode_context: PlanModeContextState = field(factory=PlanModeContextState)
    checkpoint: Mapping[str, Any] | None = field(default=None, hash=False, repr=False)
