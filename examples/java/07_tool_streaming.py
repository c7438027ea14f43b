"""A tool that reports its steps while it works; unlike in Java they are part of its result, before the rest.

Java: documentation2/streaming/ToolStreamingExample.java
"""

import time

from reactivex import operators as ops

from agentscope_rx import AgentEvent, ReActAgent, Toolkit, UserMessage, tool
from agentscope_rx.event import (
    TextBlockDeltaEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call
from agentscope_rx.tool import ToolEmitter

from example_utils import get_model, print_welcome

STEPS = ("Looking for sources", "Reading the 12 that were found", "Comparing what they say", "Summing up")


class ResearchTools:
    @tool
    def research_topic(self, topic: str, emitter: ToolEmitter) -> str:
        """Research a topic and return a summary.

        Args:
            topic: The topic to research
        """
        for step in STEPS:
            emitter.emit(f"{step}: {topic}\n")
            time.sleep(0.05)
        return f"Summary: of {topic} there is more every year, with fewer errors."


def answer(asked: ScriptedCall) -> str | ToolUseBlock:
    """Stand in for a model: research what is asked for, and repeat the last line of what was found."""
    if asked.results:
        return asked.results[-1].text_content.splitlines()[-1]
    return tool_call("research_topic", topic=asked.text.removeprefix("Research "))


def handle(event: AgentEvent) -> None:
    match event:
        case ToolResultStartEvent():
            print(f"[Tool started] {event.tool_call_name}")
        case ToolResultTextDeltaEvent():
            print(f"  ▸ {event.delta.rstrip()}")
        case ToolResultDataDeltaEvent():
            print(f"  ▸ [{event.media_type}]")
        case ToolResultEndEvent():
            print(f"[Tool finished] {event.tool_call_name}: {event.state}\n")
        case TextBlockDeltaEvent():
            print(event.delta, end="")
        case _:
            pass


print_welcome("Tool Streaming Example", "A tool reports its progress through a ToolEmitter while it works.")

agent = ReActAgent(
    name="ResearchAgent",
    sys_prompt="You are a research assistant. Use research_topic to investigate topics.",
    model=get_model(ScriptedModel(answer)),
    toolkit=Toolkit(ResearchTools()),
)

print("User: Research quantum computing\n")
agent.stream_events(UserMessage("user", "Research quantum computing")).pipe(ops.tap(handle)).run()
print("\n\nDone.")
