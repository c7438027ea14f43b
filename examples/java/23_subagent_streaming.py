"""A subagent that works in its parent's stream: its events come live, and their `source` says whose they are.

Java: documentation2/harness/subagent/SubagentStreamingExample.java
"""

from reactivex import operators as ops

from agentscope_rx import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    ReActAgent,
    RuntimeContext,
    TextBlockDeltaEvent,
    ToolCallStartEvent,
    ToolResultEndEvent,
    UserMessage,
)
from agentscope_rx.agent import SubagentDeclaration
from agentscope_rx.event import TextBlockStartEvent
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call

from example_utils import get_model, print_welcome

QUESTION = "What are the latest trends in LLM agents?"
FINDINGS = "Three trends: longer tasks, several agents that work together, and more questions to the human."


def orchestrate(asked: ScriptedCall) -> str | ToolUseBlock:
    """Stand in for a model: let the researcher find out, and say what that came to."""
    if asked.results:
        return f"The researcher says: {asked.results[-1].text_content.splitlines()[-1]}"
    return tool_call("agent_spawn", agent_id="researcher", task=f"Investigate: {asked.text}")


def handle(event: AgentEvent) -> None:
    """Show an event, and whose it is: those of the parent have no source."""
    prefix = f"[{event.source}] " if event.source else ""
    match event:
        case AgentStartEvent() if event.source:
            print(f"\n── child agent started: {event.source} ──")
        case AgentStartEvent():
            print(f"[AGENT_START] agent={event.name}")
        case TextBlockStartEvent():
            print(prefix, end="")
        case TextBlockDeltaEvent():
            print(event.delta, end="")
        case ToolCallStartEvent():
            print(f"\n{prefix}[TOOL_CALL] {event.tool_call_name}")
        case ToolResultEndEvent():
            print(f"{prefix}[TOOL_RESULT_END] state={event.state}")
        case AgentEndEvent() if event.source:
            print(f"\n── child agent finished: {event.source} ──")
        case AgentEndEvent():
            print("\n[AGENT_END]")
        case _:
            pass


print_welcome("Subagent Streaming", "The events of a spawned agent stand in its parent's stream.")

researcher = ReActAgent(
    name="researcher",
    description="Research specialist. Use when the user needs in-depth investigation on a topic.",
    sys_prompt="You are a research assistant. Investigate the given topic and provide a concise summary.",
    model=get_model(ScriptedModel(FINDINGS)),
)
agent = ReActAgent(
    name="orchestrator",
    sys_prompt="You are an orchestrator. When the user asks a question, spawn the researcher subagent to "
    "investigate, then summarize the findings.",
    model=get_model(ScriptedModel(orchestrate)),
    subagents=[SubagentDeclaration(researcher)],
)

print(f"User: {QUESTION}\n")
ctx = RuntimeContext(session_id="demo-subagent-stream")
agent.stream_events(UserMessage(QUESTION), ctx).pipe(ops.tap(handle)).run()
