"""One agent, many conversations: each session remembers its own turns, and nothing of the others."""

import re

from agentscope_rx import ReActAgent, RuntimeContext
from agentscope_rx.testing import ScriptedCall, ScriptedModel


def remember(asked: ScriptedCall) -> str:
    """Stand in for a model: look for a name in all that was said."""
    said = " ".join(msg.text_content for msg in asked.messages)
    name = re.search(r"My name is (\w+)", said)
    return f"You are {name[1]}." if name else "You did not tell me."


agent = ReActAgent("Friday", model=ScriptedModel(remember))
ann = RuntimeContext(session_id="monday", user_id="ann")
bob = RuntimeContext(session_id="monday", user_id="bob")

for ctx, text in [(ann, "My name is Ann."), (bob, "Who am I?"), (ann, "Who am I?")]:
    message = agent.reply(text, ctx).run()
    print(f"{ctx.user_id}: {text}\n     {message.text_content}")

print("\nWhat ann's session holds:")
for msg in agent.get_agent_state(ann).context:
    print(f"{msg.role:10}{msg.text_content}")
