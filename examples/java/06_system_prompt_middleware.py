"""Two middlewares that add to the system prompt: the time of each call, and where it happens.

Java: documentation2/middleware/SystemPromptMiddlewareExample.java
"""

from datetime import UTC, datetime

from agentscope_rx import MiddlewareBase, ReActAgent, RuntimeContext, UserMessage
from agentscope_rx.agent import Agent
from agentscope_rx.testing import ScriptedCall, ScriptedModel

from example_utils import get_model, print_welcome, start_chat


class TimestampMiddleware(MiddlewareBase):
    def on_system_prompt(self, agent: Agent, ctx: RuntimeContext, prompt: str) -> str:
        return f"{prompt}\n\n[Context] Current UTC time: {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


class EnvironmentMiddleware(MiddlewareBase):
    def __init__(self, environment: str, user_id: str) -> None:
        self.environment = environment
        self.user_id = user_id

    def on_system_prompt(self, agent: Agent, ctx: RuntimeContext, prompt: str) -> str:
        return f"{prompt}\n[Context] Environment: {self.environment} | User ID: {self.user_id}"


def answer(asked: ScriptedCall) -> str:
    """Stand in for a model: say what the system prompt says of the context."""
    return asked.messages[0].text_content.partition("\n\n")[2]


print_welcome(
    "System Prompt Middleware Example",
    "Demonstrates on_system_prompt() to inject timestamp and environment info.\n"
    "Ask 'What time is it?' — the agent knows the current UTC time\n"
    "because the middleware injects it on every call.",
)

agent = ReActAgent(
    name="ContextAwareAgent",
    sys_prompt="You are a helpful assistant.",
    model=get_model(ScriptedModel(answer)),
    middlewares=[TimestampMiddleware(), EnvironmentMiddleware("demo", "user-42")],
)

print("Try: 'What time is it?' or 'Who am I?'\n")

response = agent.reply(UserMessage("user", "What time is it and what environment am I in?")).run()
print(f"Agent: {response.text_content}\n")

start_chat(agent)
