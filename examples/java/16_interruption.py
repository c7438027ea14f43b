"""A call that is interrupted while its tool works: the tool is cancelled, and what it has said so far stays.

Java: documentation2/hitl/InterruptionExample.java
"""

import asyncio
from collections.abc import AsyncIterator
from threading import Event, Thread

from reactivex import operators as ops

from agentscope_rx import (
    AgentEndEvent,
    AgentEvent,
    ReActAgent,
    TextBlockDeltaEvent,
    ToolCallStartEvent,
    Toolkit,
    ToolResultEndEvent,
    UserMessage,
    tool,
)
from agentscope_rx.event import TextBlockEndEvent, ToolResultTextDeltaEvent
from agentscope_rx.message import ContentBlock, TextBlock, ToolResultBlock, ToolUseBlock
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call

from example_utils import get_model, print_welcome

stop_pressed = Event()


class DataTools:
    @tool
    async def process_data(self, dataset_name: str) -> AsyncIterator[str]:
        """Process a large dataset. This takes a long time.

        Args:
            dataset_name: Name of the dataset
        """
        try:
            for percent in (20, 40, 60):
                yield f"{percent}% of {dataset_name} processed. "
                await asyncio.sleep(0.05)
            await asyncio.sleep(60)
            yield "Done."
        finally:
            print("[TOOL] Cancelled; closing its files")


def answer(asked: ScriptedCall) -> str | ToolUseBlock:
    """Stand in for a model: begin what is asked for, and afterwards say how far it came."""
    results = [block for msg in asked.messages for block in msg.get_content_blocks(ToolResultBlock)]
    if results:
        return f"It was {results[-1].state} after: {results[-1].text_content.split('. ')[-2]}."
    return tool_call("process_data", dataset_name="customers")


def show(event: AgentEvent) -> None:
    match event:
        case ToolCallStartEvent():
            print(f"[TOOL_CALL] {event.tool_call_name}")
        case ToolResultTextDeltaEvent():
            print(f"[PROGRESS] {event.delta}")
            if event.delta.startswith("60%"):
                stop_pressed.set()
        case ToolResultEndEvent():
            print(f"[TOOL_RESULT_END] state={event.state}")
        case TextBlockDeltaEvent():
            print(event.delta, end="")
        case TextBlockEndEvent():
            print()
        case AgentEndEvent():
            print(f"[AGENT_END] reason={event.generate_reason}")
        case _:
            pass


def stop_button() -> None:
    """Another thread, as that of a user interface."""
    stop_pressed.wait()
    print("\n>>> The user presses Stop\n")
    agent.interrupt(msg=UserMessage("Stop, that takes too long."))


def brief(block: ContentBlock) -> str:
    match block:
        case TextBlock():
            return block.text
        case ToolUseBlock() | ToolResultBlock():
            return f"{type(block).__name__}({block.state})"
        case _:
            return type(block).__name__


print_welcome(
    "Interruption Example",
    "Interrupts an agent from another thread while its tool runs.\n"
    "The tool is cancelled, its call gets a result that says so, and the session goes on.",
)

agent = ReActAgent(
    name="DataAgent",
    sys_prompt="You process data with process_data. Tell the user honestly how far you came.",
    model=get_model(ScriptedModel(answer)),
    toolkit=Toolkit(DataTools()),
)

Thread(target=stop_button).start()
print("User: Process the customers dataset\n")
agent.stream_events(UserMessage("Process the customers dataset")).pipe(ops.tap(show)).run()

print("\nWhat the session holds:")
for msg in agent.get_agent_state().context:
    print(f"  {msg.role:9} {' | '.join(map(brief, msg.content))}")

print("\nUser: How far did you come?\n")
agent.stream_events(UserMessage("How far did you come?")).pipe(ops.tap(show)).run()
