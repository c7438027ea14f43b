"""A tool with a say in what it may be called for: what it refuses, asks about, and which rule would do.

Java: documentation2/tool/ToolBaseExample.java
"""

from collections.abc import Mapping
from typing import Annotated, Any

from reactivex import operators as ops

from agentscope_rx import AgentEvent, ReActAgent, TextBlockDeltaEvent, Toolkit, UserMessage, tool
from agentscope_rx.agent import CallInput, ConfirmResults
from agentscope_rx.event import ConfirmResult, RequireUserConfirmEvent, ToolResultEndEvent
from agentscope_rx.message import TextBlock, ToolResultBlock, ToolUseBlock
from agentscope_rx.permission import PermissionContextState, PermissionDecision, PermissionRule
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call

from example_utils import get_model, print_welcome, read_line


class TemperatureTool:
    """Knows how warm it is, and where it may look; Java derives from `ToolBase` for all this."""

    def __init__(self, *safe: str) -> None:
        self.safe = safe

    def check_permission(
        self, input: Mapping[str, Any], context: PermissionContextState
    ) -> PermissionDecision | None:
        location: str = input["location"]
        if "/" in location or "\\" in location:
            return PermissionDecision.deny(f"Suspicious path in the location: {location!r}")
        if location not in self.safe:
            return PermissionDecision.ask(f"May I look up {location}?")
        return None  # leave it to the rules and the mode

    def match_rule(self, content: str, input: Mapping[str, Any]) -> bool:
        return content == f"location:{input['location']}"

    def suggest_rules(self, input: Mapping[str, Any]) -> list[PermissionRule]:
        return [PermissionRule("get_temperature", f"location:{input['location']}", source="suggested")]

    @tool(
        read_only=True,
        concurrency_safe=True,
        check_permission=check_permission,
        match_rule=match_rule,
        suggest_rules=suggest_rules,
    )
    async def get_temperature(
        self, location: Annotated[str, "City or region name, e.g. 'Shanghai'"]
    ) -> ToolResultBlock:
        """Get the current temperature for a city or location."""
        text = TextBlock(f"Temperature in {location}: 22°C (simulated)")
        return ToolResultBlock("", "get_temperature", (text,), metadata={"unit": "C"})


def answer(asked: ScriptedCall) -> str | ToolUseBlock:
    """Stand in for a model: look up the last word, and repeat what came of it."""
    if asked.results:
        return asked.results[-1].text_content
    return tool_call("get_temperature", location=asked.text.split()[-1])


def show(event: AgentEvent) -> None:
    if isinstance(event, TextBlockDeltaEvent):
        print(event.delta, end="", flush=True)
    elif isinstance(event, ToolResultEndEvent):
        print(f"[{event.tool_call_name}: {event.state}] ", end="")


def chat(input: CallInput) -> None:
    """Send an input, answer every question with yes and accept the rules that are suggested."""
    questions: list[RequireUserConfirmEvent] = []

    def note(event: AgentEvent) -> None:
        if isinstance(event, RequireUserConfirmEvent):
            questions.append(event)

    agent.stream_events(input).pipe(ops.tap(show), ops.tap(note)).run()
    for question in questions:
        rules = question.suggested_rules
        for call in question.tool_calls:
            accepted = ", ".join(f"{rule.rule_content}" for rule in rules[call.id])
            print(f"[asked about {call.name}; yes, and from now on for {accepted}] ", end="")
        answers = [ConfirmResult(True, call, rules[call.id]) for call in question.tool_calls]
        chat(ConfirmResults(answers))


print_welcome(
    "ToolBase Example",
    "A tool that checks its own calls: it refuses paths, and asks about places\nthat are not on its list.",
)

agent = ReActAgent(
    name="WeatherAgent",
    sys_prompt="You are a weather assistant. Use the temperature tool.",
    model=get_model(ScriptedModel(answer)),
    toolkit=Toolkit(TemperatureTool("Shanghai", "Beijing")),
)

print("Try: 'Temperature in Shanghai', 'Temperature in Lisbon' (twice), 'Temperature in /etc/passwd'\n")
while (line := read_line("You: ")).lower() != "exit":
    if line:
        print("\nAgent: ", end="")
        chat(UserMessage(line))
        print("\n")
print("\nGoodbye!")
