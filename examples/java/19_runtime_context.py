"""What one call is to know beside its messages, and a store from which the next program goes on.

Java: documentation2/context/RuntimeContextExample.java
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from reactivex import Observable

from agentscope_rx import AgentEvent, MiddlewareBase, ReActAgent, RuntimeContext, UserMessage
from agentscope_rx.agent import Agent
from agentscope_rx.middleware import AgentInput, Phase
from agentscope_rx.store import JsonFileAgentStateStore
from agentscope_rx.testing import ScriptedCall, ScriptedModel

from example_utils import get_model, print_welcome


class RequestLog(MiddlewareBase):
    """Every hook and tool of a call sees its context; nothing of it is stored."""

    def on_agent(
        self, agent: Agent, ctx: RuntimeContext, input: AgentInput, next: Phase[AgentInput]
    ) -> Observable[AgentEvent]:
        print(f"[{ctx.attributes['request_id']}] user={ctx.user_id} session={ctx.session_id}")
        return next(input)


def answer(asked: ScriptedCall) -> str:
    """Stand in for a model: look for a name in all that was said."""
    said = " ".join(msg.text_content for msg in asked.messages)
    name = re.search(r"my name is (\w+)", said)
    return f"Your name is {name[1]}." if name else "You did not tell me."


def assistant(sessions: Path) -> ReActAgent:
    return ReActAgent(
        name="Assistant",
        sys_prompt="You are a helpful assistant. Remember details from prior turns.",
        model=get_model(ScriptedModel(answer)),
        middlewares=[RequestLog()],
        state_store=JsonFileAgentStateStore(sessions),
    )


def ask(agent: ReActAgent, text: str, request_id: str) -> None:
    ctx = RuntimeContext("runtime-context-demo", "alice", attributes={"request_id": request_id})
    message = agent.reply(UserMessage(text), ctx).run()
    print(f"User: {text}\nAssistant: {message.text_content}")
    print(f"Context: {len(agent.get_agent_state(ctx).context)} message(s)\n")


print_welcome(
    "RuntimeContext Example",
    "Shows per-call RuntimeContext metadata and JsonFileAgentStateStore persistence.",
)

with TemporaryDirectory() as folder:
    agent = assistant(Path(folder))
    ask(agent, "Hi, my name is Alice.", "req-001")
    ask(agent, "What is my name?", "req-002")

    print("Another agent, as after a restart:\n")
    ask(assistant(Path(folder)), "And now, what is my name?", "req-003")
