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
from agentscope_rx.message import ToolResultBlock
from agentscope_rx.middleware import ActingInput, Phase, ReasoningInput
from agentscope_rx.testing import ScriptedModel, tool_call


@tool
def read_account(name: str) -> str:
    """Read an account."""
    return f"{name}: password=hunter2"


def without_password(event: ToolResultTextDeltaEvent) -> ToolResultTextDeltaEvent:
    return evolve(event, delta=event.delta.replace("hunter2", "***"))


def show(event: AgentEvent) -> None:
    if isinstance(event, TextBlockDeltaEvent):
        print(f"  [text {event.delta!r}]")


class Careful(MiddlewareBase):
    """A class where you need what a hook is given: the agent, the input, `next`."""

    def on_acting(
        self, agent: Agent, ctx: RuntimeContext, input: ActingInput, next: Phase[ActingInput]
    ) -> Observable[AgentEvent]:
        print(f"  [{agent.name} runs {', '.join(call.name for call in input.tool_calls)}]")
        return next(input).pipe(agent_ops.map_type(ToolResultTextDeltaEvent, without_password))

    def on_reasoning(
        self, agent: Agent, ctx: RuntimeContext, input: ReasoningInput, next: Phase[ReasoningInput]
    ) -> Observable[AgentEvent]:
        return next(input).pipe(ops.tap(show))


@on_acting
def careful(events: Observable[AgentEvent]) -> Observable[AgentEvent]:
    """A function where the events are enough."""
    return events.pipe(agent_ops.map_type(ToolResultTextDeltaEvent, without_password))


def ask(*middlewares: MiddlewareBase) -> None:
    model = ScriptedModel([tool_call("read_account", name="ann")], "That is Ann's account.")
    agent = ReActAgent("Friday", model=model, toolkit=[read_account], middlewares=middlewares)
    message = agent.reply("Read Ann's account").run()
    for result in message.get_content_blocks(ToolResultBlock):
        print(f"  {result.name}: {result.text_content}")  # what the model got to see, too


print("A class:")
ask(Careful())

print("Functions:")
ask(careful, on_reasoning(ops.tap(show)))
