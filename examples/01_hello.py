"""An agent with a tool, offline: its text as it streams, then the message that the events make."""

from agentscope_rx import ReActAgent, operators as agent_ops, tool
from agentscope_rx.testing import ScriptedModel, tool_call


@tool
def get_weather(city: str) -> str:
    """Look up the weather in a city."""
    return f"18 °C and sunny in {city}"


model = ScriptedModel(
    ["Let me look. ", tool_call("get_weather", city="Paris")],
    "It is 18 °C and sunny in Paris.",
)
agent = ReActAgent("Friday", "You are a helpful assistant.", model=model, toolkit=[get_weather])

events = agent.call("What is the weather in Paris?")
texts = events.pipe(agent_ops.text())
texts.do_action(lambda delta: print(delta, end="", flush=True)).run()
print()

message = agent.get_agent_state().context[-1]
for block in message.content:
    print(block)
