"""The simplest agent to talk to.

Java: documentation2/quickstart/BasicChatExample.java
"""

from agentscope_rx import ReActAgent, Toolkit
from agentscope_rx.testing import ScriptedModel, thinking

from example_utils import get_model, print_welcome, start_chat

print_welcome(
    "Basic Chat Example",
    "This example demonstrates the simplest Agent setup.\nYou'll chat with an AI assistant.",
)

offline = ScriptedModel(lambda asked: [thinking("What did they say?"), f"You said: {asked.text}"])

# The conversation is kept in AgentState automatically.
agent = ReActAgent(
    name="Assistant",
    sys_prompt="You are a helpful AI assistant. Be friendly and concise.",
    model=get_model(offline),
    toolkit=Toolkit(),
)

start_chat(agent)
