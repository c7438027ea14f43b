"""A middleware that stops before dangerous tools, and what can be done then: go on, or call it off.

Java: documentation2/hitl/HookStopAgentExample.java
"""

import reactivex as rx
from reactivex import Observable

from agentscope_rx import (
    AgentEvent,
    AssistantMessage,
    MiddlewareBase,
    ReActAgent,
    RuntimeContext,
    Toolkit,
    UserMessage,
    tool,
)
from agentscope_rx.agent import Agent
from agentscope_rx.event import RequestStopEvent
from agentscope_rx.message import GenerateReason, ToolCallState, ToolUseBlock
from agentscope_rx.middleware import ActingInput, Phase
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call

from example_utils import get_model, print_welcome, read_line

DANGEROUS_TOOLS = {"delete_file", "send_email"}
CONFIRMED = RuntimeContext(attributes={"confirmed": True})
"""What a call is given that goes on with what was confirmed, so that the middleware lets it pass."""


class ToolConfirmationMiddleware(MiddlewareBase):
    def __init__(self, dangerous_tools: set[str]) -> None:
        self._dangerous_tools = dangerous_tools

    def on_acting(
        self, agent: Agent, ctx: RuntimeContext, input: ActingInput, next: Phase[ActingInput]
    ) -> Observable[AgentEvent]:
        dangerous = any(call.name in self._dangerous_tools for call in input.tool_calls)
        if dangerous and not ctx.attributes.get("confirmed"):
            print("\n[MIDDLEWARE] Dangerous tool detected: requesting stop for confirmation.")
            return rx.of(RequestStopEvent("Dangerous tool requires user confirmation"))
        return next(input)


class SensitiveTools:
    @tool
    def delete_file(self, filename: str) -> str:
        """Delete a file from the filesystem.

        Args:
            filename: Path to the file to delete
        """
        print(f"[TOOL] Deleting file: {filename}")
        return f"File '{filename}' deleted successfully."

    @tool
    def send_email(self, to: str, subject: str, body: str) -> str:
        """Send an email to a recipient.

        Args:
            to: Recipient email address
            subject: Email subject
            body: Email body
        """
        print(f"[TOOL] Sending email to {to}, subject: {subject}")
        return f"Email sent to '{to}'."

    @tool
    def search_web(self, query: str) -> str:
        """Search the web for information.

        Args:
            query: The search query
        """
        print(f"[TOOL] Searching web for: {query}")
        return f"Search results for '{query}': [Simulated results]"


def answer(asked: ScriptedCall) -> str | ToolUseBlock:
    """Stand in for a model: take the tool that the first word asks for, and repeat what came of it."""
    if asked.results:
        return asked.results[-1].text_content
    verb, last = asked.text.split()[0], asked.text.split()[-1]
    if verb == "Delete":
        return tool_call("delete_file", filename=last)
    if verb == "Send":
        return tool_call("send_email", to=asked.text.split()[4], subject=last, body=last)
    return tool_call("search_web", query=asked.text.removeprefix("Search for "))


def display_pending(paused: AssistantMessage) -> None:
    print("\nAgent paused: a dangerous tool requires confirmation.")
    for call in paused.get_content_blocks(ToolUseBlock):
        if call.state is ToolCallState.PENDING:
            print(f"  - {call.name} {dict(call.input)}")


print_welcome(
    "Middleware Stop-Agent Example",
    "Demonstrates human-in-the-loop tool confirmation.\n"
    "Sensitive tools (delete_file, send_email) require explicit approval\n"
    "before execution. Safe tools (search_web) run without interruption.",
)

agent = ReActAgent(
    name="SafeAgent",
    sys_prompt="You are a helpful assistant with access to file and email tools. Always use the appropriate "
    "tool when asked to delete files or send emails.",
    model=get_model(ScriptedModel(answer)),
    toolkit=Toolkit(SensitiveTools()),
    middlewares=[ToolConfirmationMiddleware(DANGEROUS_TOOLS)],
)

print("Try these commands:")
print("  - 'Delete the file temp.txt'")
print("  - 'Send an email to john@example.com saying Hello'")
print("  - 'Search for weather forecast'\n")

while (line := read_line("You: ")).lower() != "exit":
    if not line:
        continue
    response = agent.reply(UserMessage("user", line)).run()
    if response.generate_reason is GenerateReason.MIDDLEWARE_STOP_REQUESTED:
        display_pending(response)
        print("Confirm execution? (yes/no)")
        if read_line("You: ") in ("yes", "y"):
            print("Resuming execution...\n")
            response = agent.reply(None, CONFIRMED).run()
        else:
            agent.interrupt(msg=UserMessage("user", "I have changed my mind.")).run()
            print("Operation cancelled by user.\n")
            continue
    print(f"\nAgent: {response.text_content}\n")
print("\nGoodbye!")
