"""Sessions that outlive the program: stored by themselves, brought back, gone on with, changed and deleted.

Java: documentation2/state/StateAutoSaveExample.java
"""

import asyncio
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import evolve

from agentscope_rx import (
    ReActAgent,
    RuntimeContext,
    Toolkit,
    ToolResultEndEvent,
    UserMessage,
    to_async_iterable,
    tool,
)
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.store import AgentStateStore, SQLiteAgentStateStore, StateKey
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call

from example_utils import get_model, print_welcome

MONDAY = RuntimeContext("monday", "ann")
TUESDAY = RuntimeContext("tuesday", "ann")


class OrderTools:
    @tool(concurrency_safe=False)
    def order(self, item: str) -> str:
        """Order something.

        Args:
            item: What to order
        """
        print(f"[TOOL] Ordering {item}")
        return f"ordered {item}"


def answer(asked: ScriptedCall) -> str | list[ToolUseBlock]:
    """Stand in for a model: order what is asked for, and look for a name in all that was said."""
    if asked.results:
        return "; ".join(result.text_content for result in asked.results)
    if asked.text.startswith("Order"):
        items = re.findall(r"\b(tea|cake)\b", asked.text)
        return [tool_call("order", item=item) for item in items]
    name = re.search(r"My name is (\w+)", " ".join(msg.text_content for msg in asked.messages))
    return f"Your name is {name[1]}." if name else "You did not tell me."


def assistant(store: AgentStateStore) -> ReActAgent:
    return ReActAgent(
        name="Assistant",
        sys_prompt="You are a helpful assistant. Use order for what the user wants, once for each thing.",
        model=get_model(ScriptedModel(answer)),
        toolkit=Toolkit(OrderTools()),
        state_store=store,
    )


async def ask(agent: ReActAgent, text: str | None, ctx: RuntimeContext) -> None:
    message = await agent.reply(text and UserMessage(text), ctx)
    print(f"{ctx.session_id}: {text or '(go on)'}\n  -> {message.text_content}")


async def show_sessions(store: AgentStateStore) -> None:
    print(f"Stored: {[key.session_id for key in await store.list_sessions('ann')]}\n")


async def first_program(database: Path) -> None:
    store = SQLiteAgentStateStore(database)
    agent = assistant(store)
    await ask(agent, "My name is Ann.", MONDAY)
    await ask(agent, "Do you know my name?", TUESDAY)
    await show_sessions(store)

    print("It is left in the middle of a call, when the first of two orders is through:")
    async with to_async_iterable(agent.call(UserMessage("Order tea and cake, please."), MONDAY)) as events:
        async for event in events:
            if isinstance(event, ToolResultEndEvent):
                break
    await store.close()


async def second_program(database: Path) -> None:
    store = SQLiteAgentStateStore(database)
    agent = assistant(store)
    await ask(agent, None, MONDAY)
    await ask(agent, "What is my name?", MONDAY)

    print("\nWhat was said first is forgotten, and the other session deleted:")
    state = await agent.update_state(lambda state: evolve(state, context=state.context[2:]), MONDAY)
    print(f"{len(state.context)} message(s) are left of monday.")
    await store.delete(StateKey("ann", "tuesday", agent.name))
    await show_sessions(store)
    await ask(agent, "And now, what is my name?", MONDAY)
    await store.close()


print_welcome(
    "State Example",
    "Every call stores its session: nobody has to save. Another agent on the same store, in this program\n"
    "or in the next one, goes on with it, also in the middle of a call.",
)

with TemporaryDirectory() as folder:
    print("--- The first program ---\n")
    asyncio.run(first_program(Path(folder) / "state.db"))
    print("\n--- The second program ---\n")
    asyncio.run(second_program(Path(folder) / "state.db"))
