"""A router whose tools are agents: each tool asks a specialist, and returns what that says.

Java: documentation2/tool/RoutingByToolCallsExample.java
"""

from agentscope_rx import ReActAgent, Toolkit, UserMessage, tool
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call

from example_utils import get_model, print_welcome

QUICK_SORT = """\
def quick_sort(items):
    if len(items) < 2:
        return items
    first, *rest = items
    return [
        *quick_sort([item for item in rest if item < first]),
        first,
        *quick_sort([item for item in rest if item >= first]),
    ]"""
POEM = "An old silent stream -\nan event leaps into it.\nSplash! on_next."


class SimpleTools:
    @tool(name="generate_Python_code")
    def generate_python(self, demand: str) -> str:
        """Generate Python code based on the demand.

        Args:
            demand: The demand for the Python code
        """
        print("PythonAgent: generating code for:", demand)
        agent = ReActAgent(
            name="PythonAgent",
            sys_prompt="You're a Python expert. Generate Python code based on the demand.",
            model=get_model(ScriptedModel(QUICK_SORT)),
        )
        return agent.reply(UserMessage(demand)).run().text_content

    @tool
    def generate_poem(self, demand: str) -> str:
        """Generate a poem based on the demand.

        Args:
            demand: The demand for the poem
        """
        print("PoemAgent: generating poem for:", demand)
        agent = ReActAgent(
            name="PoemAgent",
            sys_prompt="You're a poet. Generate poems based on the demand.",
            model=get_model(ScriptedModel(POEM)),
        )
        return agent.reply(UserMessage(demand)).run().text_content


def route(asked: ScriptedCall) -> str | ToolUseBlock:
    """Stand in for the router's model: who asks for a poem gets the poet."""
    if asked.results:
        return asked.results[-1].text_content
    name = "generate_poem" if "poem" in asked.text else "generate_Python_code"
    return tool_call(name, demand=asked.text)


print_welcome(
    "Routing By Tool Calls Example",
    "A router agent delegates to specialist agents by calling tools.\n"
    "Each tool makes an agent, asks it, and waits for its answer.",
)

router_agent = ReActAgent(
    name="RouterImplicit",
    sys_prompt="You're a routing agent. Your target is to route the user query to the right follow-up task.",
    model=get_model(ScriptedModel(route)),
    toolkit=Toolkit(SimpleTools()),
)

for question in (
    "Help me to generate a quick sort function in Python",
    "Write a poem about an event stream",
):
    print("User>", question)
    response = router_agent.reply(UserMessage(question)).run()
    print(f"Agent> {response.text_content}\n")
