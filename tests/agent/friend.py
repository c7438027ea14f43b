"""An agent with a bit of everything, for tests of what may happen to it at any event."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from agentscope_rx.agent import ReActAgent, RuntimeContext
from agentscope_rx.testing import ScriptedModel, thinking, tool_call
from agentscope_rx.tool import tool

__all__ = ["ANN", "ANSWERS", "TOOLS", "friend", "is_free"]

ANN: Final = RuntimeContext("monday", "ann")


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


@tool(external=True)
def lookup(what: str) -> str:
    """Look something up elsewhere."""
    raise AssertionError


@tool
def fail() -> str:
    """Fail."""
    raise RuntimeError("kaputt")


TOOLS: Final = (add, wait, count, lookup, fail)

ANSWERS: Final = (
    [
        thinking("hm"),
        "Let me see ",
        tool_call("wait", seconds=0.003),
        tool_call("add", a=1, b=2),
        tool_call("count", to=3),
        tool_call("fail"),
    ],
    ["and ", tool_call("add", a=3, b=4)],
    "It is seven.",
)


def friend(*script: Any, **options: Any) -> ReActAgent:
    """The agent; without a script it has two rounds of tools, and then says a few words at most."""
    options.setdefault("toolkit", TOOLS)
    asked = len(script) == 1 and callable(script[0])  # such a script has no end
    model = ScriptedModel(*script) if asked else ScriptedModel(*(script or ANSWERS), *["later"] * 9)
    return ReActAgent("friend", model=model, **options)


def is_free(agent: ReActAgent, ctx: RuntimeContext | None = None) -> bool:
    """Whether nobody is in the session, and nobody waits."""
    return agent._sessions.get(ctx or RuntimeContext(agent.name)).gate.is_idle
