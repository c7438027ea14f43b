"""What an agent remembers of one session between calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, final

from attrs import field, frozen

from agentscope_rx._check import a, a_bool, a_str, a_str_or_none, an_int
from agentscope_rx._repr import Brief
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import Msg
from agentscope_rx.permission import PermissionContextState
from agentscope_rx.state._values import PlanModeContextState, TaskContextState, ToolContextState

__all__ = ["AgentState"]


def _msgs(msgs: Iterable[Msg]) -> tuple[Msg, ...]:
    if not isinstance(msgs, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise ConfigurationError(f"context is {msgs!r}; give a sequence of Msg")
    given = tuple(msgs)
    # By class, not by message: a long conversation is checked again for each state that is made of it.
    for kind in set(map(type, given)):
        if not issubclass(kind, Msg):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            wrong = next(msg for msg in given if type(msg) is kind)
            raise ConfigurationError(f"context holds {wrong!r}, which is no Msg; wrap text in UserMessage(…)")
    return given


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

    Errors: `ConfigurationError` for a value of another type.
    """

    session_id: str = field(default="", validator=a_str)
    user_id: str | None = field(default=None, validator=a_str_or_none)
    summary: str = field(default="", validator=a_str)
    context: tuple[Msg, ...] = field(default=(), converter=_msgs)
    reply_id: str = field(default="", validator=a_str)
    cur_iter: int = field(default=0, validator=an_int)
    shutdown_interrupted: bool = field(default=False, validator=a_bool)
    permission_context: PermissionContextState = field(
        factory=PermissionContextState, validator=a(PermissionContextState)
    )
    tool_context: ToolContextState = field(factory=ToolContextState, validator=a(ToolContextState))
    tasks_context: TaskContextState = field(factory=TaskContextState, validator=a(TaskContextState))
    plan_mode_context: PlanModeContextState = field(
        factory=PlanModeContextState, validator=a(PlanModeContextState)
    )
    checkpoint: Mapping[str, Any] | None = field(
        default=None, hash=False, repr=False, validator=a(Mapping, None)
    )
