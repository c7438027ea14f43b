"""Middleware: functions on the streams of a call, a reasoning phase, an acting phase or a model call."""

from agentscope_rx.middleware._base import MiddlewareBase as MiddlewareBase, Phase as Phase
from agentscope_rx.middleware._chain import (
    chain as chain,
    in_order as in_order,
    system_prompt as system_prompt,
    with_hook as with_hook,
)
from agentscope_rx.middleware._inputs import (
    ActingInput as ActingInput,
    AgentInput as AgentInput,
    ModelCallInput as ModelCallInput,
    ReasoningInput as ReasoningInput,
)
from agentscope_rx.middleware._lift import (
    on_acting as on_acting,
    on_agent as on_agent,
    on_model_call as on_model_call,
    on_reasoning as on_reasoning,
)
from agentscope_rx.middleware._task_reminder import TaskReminderMiddleware as TaskReminderMiddleware

__all__ = [
    "ActingInput",
    "AgentInput",
    "MiddlewareBase",
    "ModelCallInput",
    "Phase",
    "ReasoningInput",
    "TaskReminderMiddleware",
    "chain",
    "in_order",
    "on_acting",
    "on_agent",
    "on_model_call",
    "on_reasoning",
    "system_prompt",
    "with_hook",
]
