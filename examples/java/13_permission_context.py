"""What an agent may do unasked: rules for single tools, and a mode for all the others.

Java: documentation2/tool/PermissionContextExample.java
"""

from agentscope_rx import AssistantMessage, ReActAgent, Toolkit, UserMessage, tool
from agentscope_rx.message import GenerateReason, ToolResultBlock, ToolUseBlock
from agentscope_rx.permission import (
    AdditionalWorkingDirectory,
    PermissionBehavior,
    PermissionContextState,
    PermissionMode,
    PermissionRule,
)
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call

from example_utils import get_model, print_welcome


class FileTools:
    @tool(read_only=True, path_arguments=["path"])
    def read_file(self, path: str) -> str:
        """Read a file at the given path.

        Args:
            path: Absolute file path
        """
        return f"Simulated content of: {path}"

    @tool(path_arguments=["path"])
    def write_file(self, path: str, content: str) -> str:
        """Write content to a file.

        Args:
            path: Absolute file path
            content: Text content to write
        """
        return f"Wrote {len(content)} chars to: {path}"

    @tool(path_arguments=["path"])
    def delete_file(self, path: str) -> str:
        """Permanently delete a file.

        Args:
            path: Absolute file path to delete
        """
        return f"Deleted: {path}"


def answer(asked: ScriptedCall) -> str | ToolUseBlock:
    """Stand in for a model: do what the first word says, and repeat what came of it."""
    if asked.results:
        return asked.results[-1].text_content
    verb, path = asked.text.split()[0].lower(), asked.text.split()[-1]
    if verb == "write":
        return tool_call("write_file", path=path, content="hello world")
    return tool_call(f"{verb}_file", path=path)


def rule(name: str, behavior: PermissionBehavior) -> dict[str, list[PermissionRule]]:
    """Rules about every call of one tool; with a content they are about some, as `/tmp/**`."""
    return {name: [PermissionRule(name, None, behavior, source="userSettings")]}


def file_agent(permission: PermissionContextState) -> ReActAgent:
    return ReActAgent(
        name="FileAgent",
        sys_prompt="You are a file assistant. You can read, write, and delete files.",
        model=get_model(ScriptedModel(answer)),
        toolkit=Toolkit(FileTools()),
        permission=permission,
    )


def print_result(message: AssistantMessage) -> None:
    for result in message.get_content_blocks(ToolResultBlock):
        print(f"Tool: {result.name} ({result.state}): {result.text_content}")
    if message.generate_reason is GenerateReason.PERMISSION_ASKING:
        for call in message.get_content_blocks(ToolUseBlock):
            print(f"Paused: may {call.name} run with {dict(call.input)}? ({call.state})")
    else:
        print(f"Reason: {message.generate_reason}")
        print(f"Agent: {message.text_content}")


print_welcome(
    "Permission Context Example",
    "Demonstrates how PermissionContextState controls tool access.\n"
    "read_file is allowed since it only reads; write_file requires confirmation;\n"
    "delete_file is denied for good.",
)

agent = file_agent(
    PermissionContextState(
        mode=PermissionMode.EXPLORE,
        ask_rules=rule("write_file", PermissionBehavior.ASK),
        deny_rules=rule("delete_file", PermissionBehavior.DENY),
    )
)

for scenario, expected, request in (
    ("read_file", "allowed", "Read the file /tmp/notes.txt"),
    ("delete_file", "denied", "Delete the file /tmp/notes.txt"),
    ("write_file", "stops for confirmation", "Write 'hello world' to /tmp/out.txt"),
):
    print(f"--- {scenario} (expect: {expected}) ---")
    print_result(agent.reply(UserMessage(request)).run())
    print()

print("--- write_file in a working directory, without any rule, in each mode ---")
directories = {"out": AdditionalWorkingDirectory("/tmp/out")}
for mode in PermissionMode:
    permission = PermissionContextState(mode, working_directories=directories)
    message = file_agent(permission).reply("Write 'hello world' to /tmp/out/hello.txt").run()
    results = message.get_content_blocks(ToolResultBlock)
    print(f"{mode:13}", results[0].state.value if results else "asks")
