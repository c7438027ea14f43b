"""What a tool gets besides what the model says: the agent, objects of the toolkit, objects of the call.

Java: documentation2/tool/ToolExecutionContextExample.java
"""

from typing import Annotated

from attrs import asdict, frozen
from reactivex import operators as ops

from agentscope_rx import AgentEvent, ReActAgent, RuntimeContext, Toolkit, UserMessage, tool
from agentscope_rx.agent import Agent
from agentscope_rx.event import ToolResultEndEvent, ToolResultTextDeltaEvent
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call
from agentscope_rx.tool import Injected, ToolEmitter

from example_utils import get_model, print_welcome, show


class DataSource:
    """A service: no JSON value could be one, so the call fills it in."""

    def __init__(self, url: str) -> None:
        self.url = url


@frozen
class UserContext:
    """A value that a model could write as well: `Injected` says that the call fills it in."""

    user_id: str
    tenant: str


class ContextDemoTools:
    @tool
    def context_demo(
        self,
        query: str,
        user: Annotated[UserContext, Injected],
        source: DataSource,
        agent: Agent,
        context: RuntimeContext,
        call: ToolUseBlock,
        emitter: ToolEmitter,
    ) -> str:
        """Show all that a tool can have filled in.

        Args:
            query: What to look for
        """
        emitter.emit(f"Working on: {query}\n")
        return (
            f"user:    {user.user_id} of {user.tenant}\n"
            f"source:  {source.url}\n"
            f"agent:   {agent.name}\n"
            f"session: {context.session_id}\n"
            f"call:    {call.name} {call.input}"
        )

    @tool
    def user_info(self, field: str, user: Annotated[UserContext | None, Injected]) -> str:
        """Look up who is asking.

        Args:
            field: What to look up
        """
        return "nobody is logged in" if user is None else f"{field}: {asdict(user).get(field)}"


def answer(asked: ScriptedCall) -> str | ToolUseBlock:
    """Stand in for a model: pick the tool by the question."""
    if asked.results:
        return "That is what the tool has."
    if asked.text == "test":
        return tool_call("context_demo", query="everything")
    return tool_call("user_info", field="tenant")


def show_result(event: AgentEvent) -> None:
    match event:
        case ToolResultTextDeltaEvent():
            print(event.delta, end="")
        case ToolResultEndEvent():
            print()
        case _:
            pass


print_welcome(
    "Tool Execution Context Example",
    "Tools get objects by their type, unseen by the model: of the toolkit in every call,\n"
    "and of the one call that they belong to.",
)

toolkit = Toolkit(ContextDemoTools(), objects=[DataSource("mysql://prod-db:3306/mydb")])

print("What the model is told of each tool's parameters:")
for each in toolkit:
    print(f"  - {each.name}: {', '.join(each.parameters['properties'])}")
print()

agent = ReActAgent(
    name="ContextAgent",
    sys_prompt="For `test`, use the tool context_demo; for `user`, the tool user_info.",
    model=get_model(ScriptedModel(answer)),
    toolkit=toolkit,
)

ann = RuntimeContext("session-1", objects=[UserContext("user-9527", "acme")])
bob = RuntimeContext("session-2", objects=[UserContext("user-1", "globex")])
nobody = RuntimeContext("session-3")

for question, ctx in [("test", ann), ("user", ann), ("user", bob), ("user", nobody)]:
    print(f">>> {question} ({ctx.session_id})")
    agent.stream_events(UserMessage(question), ctx).pipe(ops.tap(show_result), ops.tap(show)).run()
    print("\n")
