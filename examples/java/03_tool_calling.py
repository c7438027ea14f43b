"""An agent with three tools: the methods of one object.

Java: documentation2/tool/ToolCallingExample.java
"""

import re
from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo

from agentscope_rx import ReActAgent, Toolkit, tool
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call

from example_utils import get_model, print_welcome, start_chat

OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": float.__add__,
    "-": float.__sub__,
    "*": float.__mul__,
    "/": float.__truediv__,
}


class SimpleTools:
    @tool
    def get_current_time(self, timezone: str) -> str:
        """Get the current time in a specific timezone.

        Args:
            timezone: Timezone name, e.g., 'Asia/Tokyo', 'America/New_York', 'Europe/London'
        """
        return f"Current time in {timezone}: {datetime.now(ZoneInfo(timezone)):%Y-%m-%d %H:%M:%S}"

    @tool
    def calculate(self, expression: str) -> str:
        """Calculate simple math expressions.

        Args:
            expression: Math expression, e.g., '123 + 456', '10 * 20'
        """
        parts = re.fullmatch(r"\s*([\d.]+)\s*([-+*/])\s*([\d.]+)\s*", expression)
        if parts is None:
            return "Error: Invalid expression. Example: '123 + 456'"
        left, sign, right = parts.groups()
        return f"{expression} = {OPERATIONS[sign](float(left), float(right)):.2f}"

    @tool(name="search")
    def search_web(self, query: str) -> str:
        """Search for information (simulated).

        Args:
            query: Search query
        """
        return f"1. Example result about {query} - Wikipedia\n2. Latest news about {query} - News Site"


def answer(asked: ScriptedCall) -> str | ToolUseBlock:
    """Stand in for a model: pick the tool by a word of the question, and repeat what it returns."""
    if asked.results:
        return "\n".join(result.text_content for result in asked.results)
    match asked.text.split(maxsplit=1):
        case ["time", place]:
            return tool_call("get_current_time", timezone=place)
        case ["search", query]:
            return tool_call("search", query=query)
        case _:
            return tool_call("calculate", expression=asked.text)


print_welcome(
    "Tool Calling Example",
    "This example demonstrates how to equip an Agent with tools.\n"
    "The agent has access to: time checking, calculator, and search.",
)

toolkit = Toolkit(SimpleTools())

print("Registered tools:")
for each in toolkit:
    print(f"  - {each.name}: {each.description}")
print()

agent = ReActAgent(
    name="ToolAgent",
    sys_prompt=(
        "You are a helpful assistant with access to tools. "
        "Use tools when needed to answer questions accurately. "
        "Always explain what you're doing when using tools."
    ),
    model=get_model(ScriptedModel(answer)),
    toolkit=toolkit,
)

start_chat(agent)
