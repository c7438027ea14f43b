"""The same middleware in both spellings: a class with hooks, and functions on streams."""

from attrs import evolve
from reactivex import Observable, operators as ops

from agentscope_rx import (
    AgentEvent,
    MiddlewareBase,
    ReActAgent,
    RuntimeContext,
    TextBlockDeltaEvent,
    on_acting,
    on_reasoning,
    operators as agent_ops,
    tool,
)
from agentscope_rx.agent import Agent
from agentscope_rx.event import ToolResultTextDeltaEvent
from agentscope_rx.middleware import ActingInput, Phase, ReasoningInput
from agentscope_rx.testing import ScriptedModel, tool_call


@tool
def read_account(name: str) -> str:
    """Read an account."""
    return f"{name}: password=hunter2"


def without_password(event: ToolResultTextDeltaEvent) -> ToolResultTextDeltaEvent:
    return evolve(event, delta=event.delta.replace("hunter2", "***"))


class Careful(MiddlewareBase):
    """Hide passwords in tool results, and show what the model says."""

    def on_acting(
        self, agent: Agent, ctx: RuntimeContext, input: ActingInput, next: Phase[ActingInput]
    ) -> Observable[AgentEvent]:
        print(f"  [{agent.name} runs {', '.join(call.name for call in input.tool_calls)}]")
        return next(input).pipe(agent_ops.map_type(ToolResultTextDeltaEvent, without_password))

    def on_reasoning(
        self, agent: Agent, ctx: RuntimeContext, input: ReasoningInput, next: Phase[ReasoningInput]
    ) -> Observable[AgentEvent]:
        return next(input).pipe(ops.do_action(show))


def show(event: AgentEvent) -> None:
    if isinstance(event, TextBlockDeltaEvent):
        print(f"  [text {event.delta!r}]")


@on_acting
def careful(events: Observable[AgentEvent]) -> Observable[AgentEvent]:
    return events.pipe(agent_ops.map_type(ToolResultTextDeltaEvent, without_password))


def ask(*middlewares: MiddlewareBase) -> None:
    model = ScriptedModel([tool_call("read_account", name="ann")], "Done.")
    agent = ReActAgent("Friday", model=model, toolkit=[read_account], middlewares=middlewares)
    message = agent.reply("Read ann's account").run()
    print(message.content[1])


print("class:")
ask(Careful())
print("functions:")
ask(careful, on_reasoning(ops.do_action(show)))
