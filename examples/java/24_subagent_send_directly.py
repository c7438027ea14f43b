"""A subagent that the user can talk to: the event that exposes it says in which session.

Java: documentation2/harness/subagent/SubagentSendDirectlyExample.java
"""

from reactivex import operators as ops

from agentscope_rx import AgentEvent, ReActAgent, RuntimeContext
from agentscope_rx.agent import SubagentDeclaration
from agentscope_rx.event import SubagentExposedEvent
from agentscope_rx.message import MsgRole, ToolUseBlock
from agentscope_rx.operators import to_msg
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call

from example_utils import get_model, print_welcome

exposed: list[SubagentExposedEvent] = []


def orchestrate(asked: ScriptedCall) -> str | ToolUseBlock:
    """Stand in for a model: hand over to a researcher."""
    if asked.results:
        return "The researcher knows more by now. You can talk to it directly."
    return tool_call("agent_spawn", agent_id="researcher", task=asked.text, label="AI trends")


def research(asked: ScriptedCall) -> str:
    """Stand in for the researcher's model, which remembers what it was asked before."""
    questions = [msg.text_content for msg in asked.messages if msg.role is MsgRole.USER]
    return f"That is question {len(questions)}; the first was {questions[0]!r}."


def handle(event: AgentEvent) -> None:
    if isinstance(event, SubagentExposedEvent):
        exposed.append(event)
        print(f"[SUBAGENT_EXPOSED] agentId={event.agent_id} label={event.label}")


print_welcome("Exposed Subagents", "An agent spawns another, and the user talks to that one directly.")

researcher = ReActAgent("researcher", model=get_model(ScriptedModel(research)), description="Researches.")
agent = ReActAgent(
    "orchestrator",
    "You are an orchestrator. When asked to research, spawn a researcher subagent.",
    get_model(ScriptedModel(orchestrate)),
    subagents=[SubagentDeclaration(researcher, expose_to_user=True)],
)

ctx = RuntimeContext("chat-1", "user-1")
print("User: Please research recent AI trends")
reply = agent.call("Please research recent AI trends", ctx).pipe(ops.tap(handle), to_msg()).run()
print(f"Orchestrator: {reply.text_content}\n")

thread = exposed[-1]
print(f"User, to {thread.label}: Compare LLM agent frameworks")
directly = RuntimeContext(thread.session_id, ctx.user_id)
answer = agent.subagent("researcher").reply("Compare LLM agent frameworks", directly).run()
print(f"Researcher: {answer.text_content}")
