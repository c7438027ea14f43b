"""A human in the loop: the agent pauses before a dangerous tool, and goes on with the answer.

Java: documentation2/hitl/PermissionHITLExample.java
"""

from agentscope_rx import AssistantMessage, ReActAgent, Toolkit, UserMessage, tool
from agentscope_rx.agent import ConfirmResults
from agentscope_rx.event import ConfirmResult
from agentscope_rx.message import GenerateReason, ToolCallState, ToolUseBlock
from agentscope_rx.permission import (
    PermissionBehavior,
    PermissionContextState,
    PermissionMode,
    PermissionRule,
)
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call

from example_utils import get_model, print_welcome, read_line


class DangerousTools:
    @tool(read_only=True)
    def safe_read(self, path: str) -> str:
        """Read a file (safe, always allowed).

        Args:
            path: File path to read
        """
        return f"Content of {path}: [simulated data]"

    @tool
    def dangerous_delete(self, path: str) -> str:
        """Permanently delete a file (requires confirmation).

        Args:
            path: File path to delete permanently
        """
        print(f"[TOOL] deleting {path}")
        return f"Deleted: {path}"


def answer(asked: ScriptedCall) -> str | list[ToolUseBlock]:
    """Stand in for a model: read or delete the files that are named, and repeat what came of it."""
    if asked.results:
        return " ".join(result.text_content for result in asked.results)
    name = "dangerous_delete" if "Delete" in asked.text else "safe_read"
    return [tool_call(name, path=word) for word in asked.text.split() if word.startswith("/")]


def guarded_agent(mode: PermissionMode) -> ReActAgent:
    ask = PermissionRule("dangerous_delete", None, PermissionBehavior.ASK, source="policy")
    return ReActAgent(
        name="GuardedAgent",
        sys_prompt="You are a file assistant. You have safe_read and dangerous_delete tools.",
        model=get_model(ScriptedModel(answer)),
        toolkit=Toolkit(DangerousTools()),
        permission=PermissionContextState(mode, ask_rules={"dangerous_delete": [ask]}),
    )


def confirm(paused: AssistantMessage) -> ConfirmResults:
    """Ask about each call that asks: yes, no, or another path instead."""
    print("\n[HITL] The agent wants to execute tools that require your approval.")
    results: list[ConfirmResult] = []
    for call in paused.get_content_blocks(ToolUseBlock):
        if call.state is not ToolCallState.ASKING:
            continue
        print(f"[HITL] {call.name} {dict(call.input)}: allow? (yes, no, or another path)")
        said = read_line("You: ")
        if said.startswith("/"):
            call = ToolUseBlock(call.id, call.name, {"path": said})
        results.append(ConfirmResult(said in ("yes", "y") or said.startswith("/"), call))
    return ConfirmResults(results)


print_welcome(
    "Permission HITL Example",
    "Demonstrates human-in-the-loop confirmation via the permission engine.\n"
    "safe_read is auto-allowed; dangerous_delete requires confirmation.",
)

print("First without a human (DONT_ASK): what would ask is denied.")
message = guarded_agent(PermissionMode.DONT_ASK).reply("Delete the file /tmp/important.txt").run()
print(f"Reason: {message.generate_reason}")
print(f"Agent: {message.text_content}\n")

print("Now with you (DEFAULT). Try: 'Read /tmp/a.txt', 'Delete /tmp/a.txt /tmp/b.txt'\n")
agent = guarded_agent(PermissionMode.DEFAULT)
while (line := read_line("You: ")).lower() != "exit":
    if not line:
        continue
    message = agent.reply(UserMessage("user", line)).run()
    while message.generate_reason is GenerateReason.PERMISSION_ASKING:
        message = agent.reply(confirm(message)).run()
    print(f"\nAgent: {message.text_content}\n")
print("\nGoodbye!")
