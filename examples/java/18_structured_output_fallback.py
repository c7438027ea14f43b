"""Structured output of a model that cannot be held to a schema: it calls a tool `generate_response`.

Java: documentation2/structuredoutput/StructuredOutputFallbackExample.java
"""

from collections.abc import Sequence
from dataclasses import dataclass

from reactivex import Observable, operators as ops

from agentscope_rx import AgentEvent, ReActAgent, UserMessage, on_agent
from agentscope_rx.event import ToolCallEndEvent, ToolResultEndEvent, ToolResultTextDeltaEvent
from agentscope_rx.message import Msg, ToolUseBlock
from agentscope_rx.model import ChatModel, ChatResponse, GenerateOptions, ToolSchema
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call

from example_utils import get_model, print_welcome


@dataclass
class ProductRequirements:
    product_type: str
    min_ram: int
    max_budget: float


@dataclass
class ContactInfo:
    name: str
    email: str


class FallbackModel:
    """Any model, without its own support for structured output."""

    supports_native_structured_output = False

    def __init__(self, delegate: ChatModel) -> None:
        self._delegate = delegate

    @property
    def model_name(self) -> str:
        return self._delegate.model_name

    def stream(
        self, messages: Sequence[Msg], tools: Sequence[ToolSchema], options: GenerateOptions
    ) -> Observable[ChatResponse]:
        return self._delegate.stream(messages, tools, options)


def answer(asked: ScriptedCall) -> ToolUseBlock:
    """Stand in for a model: it forgets the budget at first, and is told so."""
    if "contact" in asked.text:
        return tool_call("generate_response", response={"name": "Ada Okafor", "email": "ada@example.com"})
    product = {"product_type": "laptop", "min_ram": 16}
    return tool_call("generate_response", response=product | ({"max_budget": 2000} if asked.results else {}))


def trace(event: AgentEvent) -> None:
    match event:
        case ToolCallEndEvent():
            print(f"[trace] {event.tool_call_name} is called")
        case ToolResultTextDeltaEvent():
            print(f"[trace] {event.tool_call_name}: {event.delta}")
        case ToolResultEndEvent():
            print(f"[trace] {event.tool_call_name}: {event.state}\n")
        case _:
            pass


print_welcome(
    "Structured Output: the generate_response Tool",
    "This example takes the support for structured output away from a model.\n"
    "The agent gives it a tool, and the reply ends when the tool has what it needs.",
)

agent = ReActAgent(
    name="FallbackAgent",
    sys_prompt="You are an analyst. Read what you are given, and answer with what it says.",
    model=FallbackModel(get_model(ScriptedModel(answer, native_structured_output=True))),
    middlewares=[on_agent(ops.tap(trace))],
)

print("=== Product Requirements ===\n")

message = agent.reply(
    UserMessage("Extract the product: a laptop with 16 GB of memory, for $2000."),
    output=ProductRequirements,
).run()
product = message.get_structured_data(ProductRequirements)
print("  Product Type:", product.product_type)
print(f"  Min RAM: {product.min_ram} GB")
print(f"  Max Budget: ${product.max_budget:.2f}")

print("\n=== Contact Information ===\n")

message = agent.reply(
    UserMessage("Extract the contact: ada@example.com is Ada Okafor."), output=ContactInfo
).run()
contact = message.get_structured_data(ContactInfo)
print("  Raw:", message.metadata["_structured_output"])
print("  Name:", contact.name)
print("  Email:", contact.email)

print("\n=== All examples completed ===")
