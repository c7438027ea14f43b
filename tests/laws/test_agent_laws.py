"""The laws of a call, with every operator that may do harm in every hook, alone and in random stacks."""

import asyncio
import random
from collections.abc import Callable
from typing import Any, Final

import pytest

from agentscope_rx.agent import ReActAgent, RuntimeContext
from agentscope_rx.errors import RateLimitedError
from agentscope_rx.message import Base64Source, ChatUsage, DataBlock, ToolCallState, ToolUseBlock
from agentscope_rx.middleware import MiddlewareBase, on_acting, on_agent, on_model_call, on_reasoning
from agentscope_rx.testing import (
    ScriptedModel,
    acheck_call,
    acheck_disposal,
    check_call,
    check_disposal,
    pause,
    thinking,
    tool_call,
)
from agentscope_rx.tool import ToolEmitter, tool
from tests.laws.harmful import OPERATORS

pytestmark = pytest.mark.filterwarnings("ignore::agentscope_rx.errors.MiddlewareProtocolWarning")

HOOKS: Final = {f.__name__: f for f in (on_agent, on_reasoning, on_acting, on_model_call)}


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@tool
async def wait(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return f"waited {seconds}"


@tool
async def count(to: int) -> Any:
    """Count."""
    for number in range(to):
        yield f"{number} "
        await asyncio.sleep(0)


@tool(concurrency_safe=False)
def alone() -> str:
    """Run alone, and fail."""
    raise RuntimeError("kaputt")


@tool
async def stop(out: ToolEmitter) -> str:
    """Stop the call."""
    out.request_stop("enough")
    return "stopped"


TOOLS: Final = [add, wait, count, alone, stop]

ANSWER: Final = [
    thinking("let me see"),
    "Here we go ",
    tool_call("add", a=1, b=2),
    tool_call("wait", seconds=0.001),
    tool_call("count", to=2),
    tool_call("alone"),
]


def friday(*middlewares: MiddlewareBase, script: Any = (ANSWER, "fin"), **options: Any) -> ReActAgent:
    return ReActAgent(
        "Friday",
        model=ScriptedModel(*script, *["later"] * 30),
        toolkit=TOOLS,
        middlewares=middlewares,
        max_iters=3,
        **options,
    )


def assert_clean(agent: ReActAgent) -> None:
    state = agent.get_agent_state()
    assert agent._sessions.get(RuntimeContext("Friday")).gate.is_idle
    if state.context and state.checkpoint is None:
        calls = state.context[-1].get_content_blocks(ToolUseBlock)
        assert all(call.state is ToolCallState.FINISHED for call in calls)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("hook", HOOKS)
def test_an_operator_in_a_hook_leaves_the_laws_whole(hook: str, name: str) -> None:
    agent = friday(HOOKS[hook](OPERATORS[name]))
    check_call(agent, "hi", outer=hook == "on_agent")
    check_call(agent, outer=hook == "on_agent")
    check_call(agent, "more", outer=hook == "on_agent")

    assert_clean(agent)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("hook", ["on_reasoning", "on_acting", "on_model_call"])
def test_a_call_through_an_operator_may_be_disposed_and_gone_on_with(hook: str, name: str) -> None:
    for events in (1, 7, 14, 20):
        agent = friday(HOOKS[hook](OPERATORS[name]))
        check_disposal(agent, "hi", after=events)
        check_call(agent)

        assert_clean(agent)


def pieces(random: random.Random) -> list[Any]:
    choices: list[Callable[[], Any]] = [
        lambda: "some words",
        lambda: thinking("let me see"),
        lambda: tool_call("add", a=1, b=random.randrange(10)),
        lambda: tool_call("add", {"a": 1}, "same", b=2),
        lambda: tool_call("add", '{"a":'),
        lambda: tool_call("wait", seconds=0.001),
        lambda: tool_call("count", to=2),
        lambda: tool_call("alone"),
        lambda: tool_call("nope"),
        lambda: tool_call("stop"),
        lambda: pause(0.001),
        lambda: ChatUsage(1, 2),
        lambda: DataBlock(Base64Source("image/png", "AAAA")),
        lambda: RateLimitedError("slow down", retry_after=0.001),
    ]
    return [random.choice(choices)() for _ in range(random.randrange(5))]


def random_agent(seed: int) -> tuple[ReActAgent, bool]:
    """An agent with a random stack and script; whether a hook changes what is seen outside."""
    r = random.Random(seed)
    stack = [(r.choice(list(HOOKS)), r.choice(list(OPERATORS))) for _ in range(r.randrange(4))]
    agent = friday(
        *[HOOKS[hook](OPERATORS[name]) for hook, name in stack],
        script=[pieces(r) for _ in range(1 + r.randrange(4))],
        max_concurrent_tools=r.choice([None, 1, 2]),
        max_retries=r.choice([0, 2]),
    )
    return agent, any(hook == "on_agent" for hook, _ in stack)


@pytest.mark.parametrize("seed", range(120))
def test_random_conversations_through_random_stacks_keep_the_laws(seed: int) -> None:
    async def main() -> None:
        agent, outer = random_agent(seed)
        r = random.Random(-seed)
        for message in ("hi", r.choice(["more", None]), None):
            if outer or r.random() < 0.6:
                await acheck_call(agent, message, outer=outer)
            else:
                await acheck_disposal(agent, message, after=r.randrange(25))
        assert_clean(agent)

    asyncio.run(main())
