"""Every event of a call, from its start to its end, with two tools that run side by side.

Java: documentation2/streaming/AgentEventStreamExample.java
"""

from reactivex import operators as ops

from agentscope_rx import ReActAgent, Toolkit, UserMessage, tool
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    TextBlockDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultEndEvent,
)
from agentscope_rx.message import ChatUsage
from agentscope_rx.testing import ScriptedModel, tool_call

from example_utils import get_model, print_welcome


class WeatherTools:
    @tool
    async def get_weather(self, city: str) -> str:
        """Get the current weather for a city.

        Args:
            city: City name
        """
        match city.lower():
            case "beijing":
                return "Beijing: 28°C, partly cloudy"
            case "shanghai":
                return "Shanghai: 32°C, humid and sunny"
            case _:
                return f"{city}: 25°C, clear skies"


def handle_event(event: AgentEvent) -> None:
    match event:
        case AgentStartEvent() as e:
            print(f"[AGENT_START]        agent={e.name}  replyId={e.reply_id}")
        case ModelCallStartEvent() as e:
            print(f"[MODEL_CALL_START]   replyId={e.reply_id}")
        case TextBlockDeltaEvent() as e:
            print(e.delta, end="", flush=True)
        case ModelCallEndEvent(usage=None):
            print("\n[MODEL_CALL_END]")
        case ModelCallEndEvent() as e:
            print(f"\n[MODEL_CALL_END]     inputTokens={e.input_tokens}  outputTokens={e.output_tokens}")
        case ToolCallStartEvent() as e:
            print(f"[TOOL_CALL_START]    tool={e.tool_call_name}  callId={e.tool_call_id}")
        case ToolCallEndEvent() as e:
            print(f"[TOOL_CALL_END]      callId={e.tool_call_id}")
        case ToolResultEndEvent() as e:
            print(f"[TOOL_RESULT_END]    callId={e.tool_call_id}  state={e.state}")
        case AgentEndEvent() as e:
            print(f"[AGENT_END]          replyId={e.reply_id}")
        case _:
            print(f"[{event.type:<24}] (skipped)")


print_welcome(
    "AgentEvent Stream Example",
    "Shows every lifecycle event emitted by stream_events(), including tool calls.",
)

offline = ScriptedModel(
    [
        tool_call("get_weather", city="Beijing"),
        tool_call("get_weather", city="Shanghai"),
        ChatUsage(input_tokens=60, output_tokens=30),
    ],
    ["It is cooler in Beijing.", ChatUsage(input_tokens=110, output_tokens=6)],
)
agent = ReActAgent(
    name="WeatherAgent",
    sys_prompt="You are a helpful assistant. Use tools when appropriate.",
    model=get_model(offline),
    toolkit=Toolkit(WeatherTools()),
)

user_msg = UserMessage("user", "What is the weather like in Beijing and Shanghai?")
print(f"User: {user_msg.text_content}\n")

agent.stream_events(user_msg).pipe(ops.tap(handle_event)).run()
