"""A middleware that watches a call, its reasoning and its tools, and a tool that reports progress.

Java: documentation2/middleware/CustomizedMiddlewareExample.java
"""

import time

from reactivex import Observable, operators as ops

from agentscope_rx import AgentEvent, MiddlewareBase, ReActAgent, RuntimeContext, Toolkit, tool
from agentscope_rx.agent import Agent
from agentscope_rx.event import ToolResultTextDeltaEvent
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.middleware import ActingInput, AgentInput, Phase, ReasoningInput
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call
from agentscope_rx.tool import ToolEmitter
from agentscope_rx.typing import Operator

from example_utils import get_model, print_welcome, start_chat


class MonitoringMiddleware(MiddlewareBase):
    def on_agent(
        self, agent: Agent, ctx: RuntimeContext, input: AgentInput, next: Phase[AgentInput]
    ) -> Observable[AgentEvent]:
        print(f"\n[MIDDLEWARE] on_agent START — agent: {agent.name}, messages: {len(input.msgs)}")
        return next(input).pipe(do_on_complete("[MIDDLEWARE] on_agent END — completed"))

    def on_reasoning(
        self, agent: Agent, ctx: RuntimeContext, input: ReasoningInput, next: Phase[ReasoningInput]
    ) -> Observable[AgentEvent]:
        print(f"[MIDDLEWARE] on_reasoning START — context size: {len(input.messages)}")
        return next(input).pipe(do_on_complete("\n[MIDDLEWARE] on_reasoning END\n"))

    def on_acting(
        self, agent: Agent, ctx: RuntimeContext, input: ActingInput, next: Phase[ActingInput]
    ) -> Observable[AgentEvent]:
        tool_names = ", ".join(call.name for call in input.tool_calls)
        print(f"[MIDDLEWARE] on_acting START — tools: {tool_names}")

        def show(event: AgentEvent) -> None:
            if isinstance(event, ToolResultTextDeltaEvent):
                print(f"[MIDDLEWARE] tool progress chunk: {event.delta.strip()}")

        return next(input).pipe(ops.tap(show), do_on_complete(f"[MIDDLEWARE] on_acting END — {tool_names}\n"))


class ProgressTools:
    @tool
    def process_data(self, dataset_name: str, emitter: ToolEmitter) -> str:
        """Process a dataset and report progress.

        Args:
            dataset_name: Name of the dataset
        """
        print(f"[TOOL] Starting dataset processing: {dataset_name}")
        for i in range(1, 6):
            time.sleep(0.05)
            emitter.emit(f"Processed {i * 20}% of {dataset_name}\n")
        return f"Successfully processed '{dataset_name}'. Total: 1000 records analyzed."


def do_on_complete(text: str) -> Operator[AgentEvent, AgentEvent]:
    return ops.tap(on_completed=lambda: print(text))


def answer(asked: ScriptedCall) -> str | ToolUseBlock:
    """Stand in for a model: process what is asked for, and say how it went."""
    if asked.results:
        return asked.results[-1].text_content.splitlines()[-1]
    return tool_call("process_data", dataset_name=asked.text.removeprefix("Process the "))


print_welcome(
    "Middleware Monitoring Example",
    "Demonstrates lifecycle monitoring via MiddlewareBase.\n"
    "You'll see detailed logs of agent activities including reasoning and tool calls.",
)

print("Registered tools:")
print("  - process_data: Simulate data processing with progress updates\n")

agent = ReActAgent(
    name="HookAgent",
    sys_prompt="You are a helpful assistant. When processing data, use the process_data tool.",
    model=get_model(ScriptedModel(answer)),
    toolkit=Toolkit(ProgressTools()),
    middlewares=[MonitoringMiddleware()],
)

print("Try asking: 'Process the customer dataset'\n")
start_chat(agent)
