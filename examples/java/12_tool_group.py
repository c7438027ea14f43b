"""Groups of tools that an agent takes up as it needs them; which are active belongs to the session.

Java: documentation2/tool/ToolGroupExample.java
"""

import ipaddress
import math
import re
from pathlib import Path

from reactivex import operators as ops

from agentscope_rx import AgentEvent, ReActAgent, Toolkit, UserMessage, tool
from agentscope_rx.event import TextBlockDeltaEvent, ToolCallStartEvent
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call
from agentscope_rx.tool import ToolGroup

from example_utils import get_model, print_welcome, read_line


class FileTools:
    @tool(read_only=True)
    def list_files(self, directory: str) -> str:
        """List the files of a directory.

        Args:
            directory: Directory path
        """
        return ", ".join(sorted(path.name for path in Path(directory).iterdir())) or "There are none."


class MathTools:
    @tool
    def factorial(self, n: int) -> str:
        """Calculate the factorial of a number.

        Args:
            n: A number from 0 to 20
        """
        return f"factorial({n}) = {math.factorial(n)}" if 0 <= n <= 20 else "Error: n is not from 0 to 20"

    @tool
    def is_prime(self, n: int) -> str:
        """Check whether a number is prime.

        Args:
            n: The number
        """
        prime = n > 1 and all(n % i for i in range(2, math.isqrt(n) + 1))
        return f"{n} is {'a' if prime else 'no'} prime number"


class NetworkTools:
    @tool
    def dns_lookup(self, domain: str) -> str:
        """Look up the address of a domain (simulated).

        Args:
            domain: Domain name
        """
        return f"{domain}: {ipaddress.ip_address(0xC0A80000 + len(domain))}"


NEEDS = {
    r"factorial of (\d+)": ("math_ops", "factorial", "n"),
    r"Is (\d+) prime": ("math_ops", "is_prime", "n"),
    r"address of ([\w.]+)": ("network_ops", "dns_lookup", "domain"),
    r"files in (\S+)": ("file_ops", "list_files", "directory"),
}


def answer(asked: ScriptedCall) -> str | list[ToolUseBlock]:
    """Stand in for a model: take up the groups that a question needs, use their tools, repeat the results."""
    wanted = [
        (group, tool_call(name, {argument: found[1]}))
        for words, (group, name, argument) in NEEDS.items()
        if (found := re.search(words, asked.text))
    ]
    at_hand = {schema.name for schema in asked.tools}
    calls = [call for _, call in wanted if call.name in at_hand]
    results = [result for result in asked.results if result.name != "reset_equipped_tools"]
    if results or not wanted:
        return "; ".join(result.text_content for result in results) or "I have no tool for that."
    if len(calls) == len(wanted):
        return calls
    return [tool_call("reset_equipped_tools", to_activate=sorted({group for group, _ in wanted}))]


def show(event: AgentEvent) -> None:
    match event:
        case ToolCallStartEvent():
            print(f"[{event.tool_call_name}]", end=" ")
        case TextBlockDeltaEvent():
            print(event.delta, end="")
        case _:
            pass


print_welcome(
    "Tool Group Example",
    "The agent begins without any tool but reset_equipped_tools,\n"
    "with which it takes up the groups that a task needs.",
)

toolkit = Toolkit(
    ToolGroup("file_ops", "Files: list", [FileTools()], active=False),
    ToolGroup("math_ops", "Calculations: factorial, is_prime", [MathTools()], active=False),
    ToolGroup("network_ops", "The network: dns_lookup", [NetworkTools()], active=False),
    meta_tool=True,
)

print("Groups:")
for group in toolkit.groups:
    print(f"  - {group.name}: {', '.join(each.name for each in group.tools)}")
print(f"At hand at first: {', '.join(toolkit.names)}\n")

agent = ReActAgent(
    name="SmartAgent",
    sys_prompt="You are a helpful assistant. Activate the groups of tools that a task needs, then use them.",
    model=get_model(ScriptedModel(answer)),
    toolkit=toolkit,
)

print("Try: 'What is the factorial of 5', then 'Is 17 prime, and what is the address of github.com'\n")
while (line := read_line("You: ")).lower() != "exit":
    if line:
        print("\nAgent: ", end="")
        agent.stream_events(UserMessage(line)).pipe(ops.tap(show)).run()
        active = agent.get_agent_state().tool_context.activated_groups
        print(f"\n(active: {', '.join(active) or 'no group'})\n")
print("\nGoodbye!")
