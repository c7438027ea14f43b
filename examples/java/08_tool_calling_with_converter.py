"""What a model sees of a tool's result, decided by a converter: secrets masked, a schema added.

Java: documentation2/tool/ToolCallingWithConverterExample.java
"""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from reactivex import operators as ops

from agentscope_rx import AgentEvent, ReActAgent, Toolkit, UserMessage, tool
from agentscope_rx.event import ToolResultTextDeltaEvent
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call
from agentscope_rx.tool import json_schema

from example_utils import get_model, print_welcome, show

SENSITIVE = re.compile(r"password|api_?key|token|secret|ssn", re.IGNORECASE)
CARD = re.compile(r"(?:\d{4}[- ]?){3}(\d{4})")


@dataclass
class UserInfo:
    user_id: str
    name: str
    email: str
    password: str
    api_key: str
    credit_card: str


@dataclass
class Order:
    id: Annotated[str, "ORD and three digits"]
    product: str
    status: Annotated[
        int, "0 waits for payment, 1 is paid, 2 waits for shipment, 3 is shipped, 4 has arrived"
    ]
    price: Annotated[float, "the total, shipping included, in EUR"]
    address: Annotated[str, "where the product was made"]


def masked(user: UserInfo) -> str:
    """Hide what no model needs to know."""

    def shown(field: str, value: str) -> str:
        return "***MASKED***" if SENSITIVE.search(field) else CARD.sub(r"****-****-****-\1", value)

    fields = {field: shown(field, value) for field, value in asdict(user).items()}
    return f"Sensitive data has been masked.\n{json.dumps(fields, indent=2)}"


def with_schema(returned: Any) -> Callable[[Any], str]:
    """Make a converter that says below the data what its fields mean."""
    schema = json.dumps(json_schema(returned)["items"]["properties"], indent=2)

    def convert(orders: list[Order]) -> str:
        data = json.dumps([asdict(order) for order in orders], indent=2)
        return f"Data:\n{data}\n\nWhat the fields mean:\n{schema}"

    return convert


class SimpleTools:
    @tool(converter=masked)
    def get_user_info(self, user_id: str) -> UserInfo:
        """Retrieve a user.

        Args:
            user_id: User ID
        """
        return UserInfo(user_id, "Ann Dee", "ann@example.com", "open sesame", "sk-123", "4567-1234-8888-6666")

    @tool(converter=with_schema(list[Order]))
    def list_orders(self, user_id: str) -> list[Order]:
        """Retrieve the orders of a user.

        Args:
            user_id: User ID
        """
        return [Order("ORD001", f"Teapot for {user_id}", 3, 59.99, "Hangzhou")]


def answer(asked: ScriptedCall) -> str | ToolUseBlock:
    """Stand in for a model: pick the tool by a word of the question."""
    if asked.results:
        return f"I have read {len(asked.results[-1].text_content.splitlines())} lines about that."
    name = "list_orders" if "orders" in asked.text else "get_user_info"
    return tool_call(name, user_id=asked.text.split()[-1])


def show_result(event: AgentEvent) -> None:
    if isinstance(event, ToolResultTextDeltaEvent):
        print(f"[{event.tool_call_name}]\n{event.delta}\n")


print_welcome(
    "Tool Result Converter Example",
    "Two tools whose results pass a converter: get_user_info masks what is secret,\n"
    "list_orders adds what its fields mean.",
)

agent = ReActAgent(
    name="ToolAgent",
    sys_prompt="You are a helpful assistant with access to tools. Use them to answer accurately.",
    model=get_model(ScriptedModel(answer)),
    toolkit=Toolkit(SimpleTools()),
)

for question in ("Who is user ann", "What are the orders of user ann"):
    print(f"User: {question}\n")
    agent.stream_events(UserMessage(question)).pipe(ops.tap(show_result), ops.tap(show)).run()
    print("\n")
