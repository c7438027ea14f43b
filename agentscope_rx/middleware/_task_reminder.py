"""What keeps a model's task list before its eyes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from attrs import evolve
from reactivex import Observable

from agentscope_rx.context import RuntimeContext
from agentscope_rx.event import AgentEvent
from agentscope_rx.message import UserMessage
from agentscope_rx.middleware._base import MiddlewareBase, Phase
from agentscope_rx.middleware._inputs import ReasoningInput
from agentscope_rx.state import SessionState

if TYPE_CHECKING:
    from agentscope_rx.agent import Agent

__all__ = ["TaskReminderMiddleware"]

GROUNDING: Final = """\
## Task list
With the tool `todo_write` you keep a list of the tasks of this session. Use it for work of several steps:
write the steps down, keep the one that you are doing in_progress, and give the whole list again when it
changes. While tasks are open, the list is shown to you before each step in a `<system-reminder>`; what it
says there is how things stand."""

REMINDER: Final = """\
<system-reminder>
Your task list as it is now; older states do not count. Give the whole list to todo_write when it changes.

{}
</system-reminder>"""


@final
class TaskReminderMiddleware(MiddlewareBase):
    """Tells the model how to use `todo_write`, and shows it the open tasks before each reasoning phase.

    1. The system prompt says what the list is for.
    2. While a task is open, a message behind the prompt shows the list. It is of this one phase: no event,
       and nowhere stored.

    `ReActAgent(…, enable_task_list=True)` has it. It needs nothing but the session's `tasks_context`, so that
    it works beside other tools that write there.

    Source: Java `TaskReminderMiddleware`.
    """

    def on_system_prompt(self, agent: Agent, ctx: RuntimeContext, prompt: str) -> str:
        """Say what the list is for."""
        return f"{prompt}\n\n{GROUNDING}" if prompt.strip() else GROUNDING

    def on_reasoning(
        self, agent: Agent, ctx: RuntimeContext, input: ReasoningInput, next: Phase[ReasoningInput]
    ) -> Observable[AgentEvent]:
        """Show the list."""
        session = ctx.get(SessionState)
        if session is None or not session.value.tasks_context.open_tasks:
            return next(input)
        shown = UserMessage(
            "system",
            REMINDER.format(session.value.tasks_context.checklist),
            metadata={"agentscope_synthetic": True, "agentscope_reminder_kind": "todo_state"},
        )
        return next(evolve(input, messages=(*input.messages, shown)))
