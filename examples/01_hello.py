"""An agent with a tool, offline: its text as it streams, then the message that its events make."""

from reactivex import operators as ops

from agentscope_rx import AgentEvent, ReActAgent, TextBlockDeltaEvent, operators as agent_ops, tool
from agentscope_rx.testing import ScriptedModel, tool_call


@tool
def get_weather(city: str) -> str:
    """Look up the weather in a city."""
    return f"18 °C and sunny in {city}"


def show(event: AgentEvent) -> None:
    if isinstance(event, TextBlockDeltaEvent):
        print(event.delta, end="", flush=True)


model = ScriptedModel(
    ["Let me look. ", tool_call("get_weather", city="Paris")],
    "It is 18 °C and sunny in Paris.",
)
agent = ReActAgent("Friday", "You are a helpful assistant.", model=model, toolkit=[get_weather])

events = agent.call("What is the weather in Paris?")
message = events.pipe(ops.tap(show), agent_ops.to_msg()).run()

print("\n")
for block in message.content:
    print(block)
