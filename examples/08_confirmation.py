"""A human in the loop: the agent asks before it changes something, and goes on with the answers."""

import sys

from reactivex import operators as ops

from agentscope_rx import AgentEvent, AssistantMessage, ReActAgent, operators as agent_ops, tool
from agentscope_rx.agent import CallInput, ConfirmResults
from agentscope_rx.event import (
    ConfirmResult,
    RequireUserConfirmEvent,
    TextBlockDeltaEvent,
    TextBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallStartEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.message import ToolResultBlock, ToolUseBlock
from agentscope_rx.testing import ScriptedModel, tool_call

REQUEST = "Tidy up, and tell Ann."


@tool(read_only=True)
def list_files() -> str:
    """List the files."""
    return "notes.txt, old.log, taxes.pdf"


@tool
def delete(file: str) -> str:
    """Delete a file."""
    return f"{file} is gone"


@tool
def mail(to: str, text: str) -> str:
    """Send a mail."""
    return f"sent to {to}: {text}"


def show(event: AgentEvent) -> None:
    """Print what is new, where it is new."""
    match event:
        case TextBlockStartEvent():
            print("\n        ", end="")
        case ToolCallStartEvent():
            print(f"\n        {event.tool_call_name} ", end="")
        case ToolResultStartEvent():
            print(f"\n        {event.tool_call_name} → ", end="")
        case TextBlockDeltaEvent() | ToolCallDeltaEvent() | ToolResultTextDeltaEvent():
            print(event.delta, end="", flush=True)
        case RequireUserConfirmEvent():
            print("\nasks    " + "\n        ".join(f"may I {told(call)}?" for call in event.tool_calls))
        case _:
            pass


def told(call: ToolUseBlock) -> str:
    """Say what a call would do."""
    return " ".join([call.name, *map(repr, call.input.values())])


def say(input: CallInput, before: AssistantMessage | None = None) -> AssistantMessage:
    """Call the agent and print its events; they fold to the message, or go on with the one `before`."""
    print("friend", end="")
    return agent.call(input).pipe(ops.tap(show), agent_ops.to_msg(seed=before)).run()


model = ScriptedModel(
    ["Let me see.", tool_call("list_files")],
    [
        tool_call("delete", file="old.log"),
        tool_call("delete", file="taxes.pdf"),
        tool_call("mail", to="Ann", text="All is deleted."),
    ],
    "The log is gone, the taxes stay, and Ann knows.",
    delay=0.05 if sys.stdout.isatty() else 0.0,
)
agent = ReActAgent("friend", model=model, toolkit=[list_files, delete, mail], permission="default")

print(f"you     {REQUEST}")
paused = say(REQUEST)

log, taxes, letter = (call for call in paused.get_content_blocks(ToolUseBlock) if call.name != "list_files")
edited = ToolUseBlock(letter.id, letter.name, {**letter.input, "text": "The log is deleted."})
print("\nyou     yes; no; and yes, but say: The log is deleted.")
answers = [ConfirmResult(True, log), ConfirmResult(False, taxes), ConfirmResult(True, edited)]
message = say(ConfirmResults(answers), paused)

print("\n\nOne message, although there was a pause in it:")
for block in message.content:
    match block:
        case ToolUseBlock():
            print(f"{block.type:<12} {told(block)} ({block.state})")
        case ToolResultBlock():
            print(f"{block.type:<12} {block.text_content} ({block.state})")
        case _:
            print(f"{block.type:<12} {getattr(block, 'text', '')}")
