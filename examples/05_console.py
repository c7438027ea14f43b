"""A console: what an agent does as it does it, and then the message that its events fold to."""

import sys

from reactivex import operators as ops

from agentscope_rx import AgentEvent, ReActAgent, operators as agent_ops, tool
from agentscope_rx.event import (
    TextBlockDeltaEvent,
    TextBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallStartEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.message import ContentBlock, TextBlock, ToolResultBlock, ToolUseBlock
from agentscope_rx.testing import ScriptedModel, tool_call

QUESTION = "How is the weather in Lisbon?"


@tool
def weather(city: str) -> str:
    """Tell the weather in a city."""
    return f"sunny, 24 °C in {city}"


def show(event: AgentEvent) -> None:
    """Print what is new, where it is new."""
    match event:
        case TextBlockStartEvent():
            print("\n        ", end="")
        case ToolCallStartEvent():
            print(f"\n        {event.tool_call_name} ", end="")
        case ToolResultStartEvent():
            print("\n        → ", end="")
        case TextBlockDeltaEvent() | ToolCallDeltaEvent() | ToolResultTextDeltaEvent():
            print(event.delta, end="", flush=True)
        case _:
            pass


def told(block: ContentBlock) -> str:
    """Say what is in a block."""
    match block:
        case TextBlock():
            return block.text
        case ToolUseBlock():
            return f"{block.name} {dict(block.input)} ({block.state})"
        case ToolResultBlock(output=(TextBlock(text=text),)):
            return f"{text} ({block.state})"
        case _:
            return repr(block)


model = ScriptedModel(
    ["Let me look.", tool_call("weather", city="Lisbon")],
    "It is sunny in Lisbon, at 24 °C.",
    delay=0.08 if sys.stdout.isatty() else 0.0,
)
friend = ReActAgent("friend", model=model, toolkit=[weather])

print(f"you     {QUESTION}\nfriend", end="")
message = friend.call(QUESTION).pipe(ops.tap(show), agent_ops.to_msg()).run()

print("\n\nThe message that the events make:")
for block in message.content:
    print(f"{block.type:<12} {told(block)}")
