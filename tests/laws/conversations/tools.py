"""Tools of every kind; each call has a key, and what a tool says begins with it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import reactivex as rx
from attrs import evolve
from reactivex import Observable, operators as ops

from agentscope_rx.agent import RuntimeContext
from agentscope_rx.errors import ToolSuspendError
from agentscope_rx.message import Base64Source, ContentBlock, DataBlock, TextBlock, URLSource
from agentscope_rx.permission import PermissionDecision
from agentscope_rx.state import AgentState, SessionState, Task
from agentscope_rx.tool import Retry, ToolEmitter, Toolkit, external_tool, tool
from tests.laws.conversations.world import World, mark_of

__all__ = ["HELPFUL", "KEYED", "TOOLKIT", "said_by"]


@tool
async def quick(key: str, world: World, ctx: RuntimeContext, note: str = "") -> str:
    """Answer at once."""
    with world.work(ctx, key):
        return f"{key} quick {note}"


@tool(read_only=True)
async def look(key: str, world: World, ctx: RuntimeContext) -> Any:
    """Look, and return JSON."""
    with world.work(ctx, key):
        await asyncio.sleep(0)
        return {"key": key, "seen": [1, 2.5, None, "ü"]}


@tool
async def slow(key: str, seconds: float, world: World, ctx: RuntimeContext) -> str:
    """Take a time."""
    with world.work(ctx, key):
        await asyncio.sleep(seconds)
        return f"{key} slow"


@tool
def threaded(key: str, pieces: int, world: World, ctx: RuntimeContext, out: ToolEmitter) -> str | None:
    """Say something from a thread, now and then."""
    with world.work(ctx, key):
        for number in range(pieces):
            out.emit(f"{key}:{number} ")
            world.sleep(0.01)
        return None if pieces else f"{key} threaded"


@tool
async def streaming(key: str, pieces: int, world: World, ctx: RuntimeContext) -> AsyncIterator[str]:
    """Say something now and then."""
    with world.work(ctx, key):
        for number in range(pieces):
            yield f"{key}:{number} "
            await asyncio.sleep(0.01)


@tool
def ticking(key: str, world: World, ctx: RuntimeContext) -> Observable[str]:
    """Return a stream."""

    def ticks(_: object) -> Observable[str]:
        work = world.work(ctx, key)
        work.__enter__()
        texts = rx.interval(0.01).pipe(ops.take(2), ops.map(lambda number: f"{key}:{number} "))
        return texts.pipe(ops.finally_action(lambda: work.__exit__(None, None, None)))

    return rx.defer(ticks)


@tool(concurrency_safe=False)
async def alone(key: str, world: World, ctx: RuntimeContext) -> str:
    """Have the session to itself."""
    with world.work(ctx, key, alone=True):
        await asyncio.sleep(0.01)
        return f"{key} alone"


@tool
async def failing(key: str, pieces: int, world: World, ctx: RuntimeContext, out: ToolEmitter) -> str:
    """Say something, and fail."""
    with world.work(ctx, key):
        for number in range(pieces):
            await out.emit(f"{key}:{number} ")
        raise RuntimeError(f"{key} is broken")


@tool(timeout=0.05)
async def late(key: str, world: World, ctx: RuntimeContext) -> str:
    """Take longer than allowed."""
    with world.work(ctx, key):
        await asyncio.sleep(10)
        return "never"


@tool
async def tidy(key: str, world: World, ctx: RuntimeContext) -> str:
    """Clean up slowly when cancelled."""
    with world.work(ctx, key):
        try:
            await asyncio.sleep(0.05)
        finally:
            await asyncio.sleep(0.02)
        return f"{key} tidy"


@tool(retry=Retry(2, initial_backoff=0.01))
async def flaky(key: str, world: World, ctx: RuntimeContext) -> str:
    """Fail the first time."""
    with world.work(ctx, key):
        if world.runs[key] == 1:
            raise ConnectionError(key)
        return f"{key} flaky"


@tool
async def picture(key: str, world: World, ctx: RuntimeContext) -> list[ContentBlock]:
    """Return text and media."""
    with world.work(ctx, key):
        return [
            TextBlock(f"{key} picture"),
            DataBlock(Base64Source("image/png", "iVBORw0KGgo=")),
            DataBlock(URLSource("https://example.org/a.png", "image/png"), name="a"),
        ]


@tool
async def remember(key: str, world: World, ctx: RuntimeContext, session: SessionState) -> str:
    """Keep something in the session."""

    def with_task(state: AgentState) -> AgentState:
        tasks = state.tasks_context
        return evolve(state, tasks_context=evolve(tasks, tasks=(*tasks.tasks, Task(key))))

    with world.work(ctx, key):
        session.update(with_task)
        await asyncio.sleep(0.01)
        return f"{key} remembered"


def asks(arguments: Mapping[str, Any], _: object) -> PermissionDecision:
    return PermissionDecision.ask(f"{arguments['key']}?")


@tool(check_permission=asks)
async def delicate(key: str, world: World, ctx: RuntimeContext, note: str = "") -> str:
    """Ask first."""
    with world.work(ctx, key):
        await asyncio.sleep(0.001)
        return f"{key} delicate {note}"


@tool
async def hanging(key: str, world: World, ctx: RuntimeContext, out: ToolEmitter) -> str:
    """Suspend the call."""
    with world.work(ctx, key):
        await asyncio.sleep(0)
        out.emit(f"{key} before ")
        raise ToolSuspendError(f"{key} waits")


@tool
async def stopping(key: str, world: World, ctx: RuntimeContext, out: ToolEmitter) -> str:
    """End the call after this step."""
    with world.work(ctx, key):
        out.request_stop(f"{key} wants it")
        await asyncio.sleep(0.01)
        return f"{key} stopping"


@tool
async def inward(key: str, world: World, ctx: RuntimeContext) -> str:
    """Call the own session, which cannot be."""
    with world.work(ctx, key):
        return (await world.agents[mark_of(ctx)].reply("again", ctx)).text_content


_KEY: Final = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}

TOOLKIT: Final = Toolkit(
    quick,
    look,
    slow,
    threaded,
    streaming,
    ticking,
    alone,
    failing,
    late,
    tidy,
    flaky,
    picture,
    remember,
    delicate,
    hanging,
    stopping,
    inward,
    external_tool("outside", "Runs elsewhere.", _KEY),
)

HELPFUL: Final = Toolkit(quick, slow, streaming, failing)
"""What a helper has: nothing that pauses its call."""

KEYED: Final = tuple(
    name for name in TOOLKIT.names if name not in {"slow", "threaded", "streaming", "failing"}
)
"""The tools that need a key, and nothing else."""


def said_by(name: str, arguments: Mapping[str, Any]) -> str:
    """Return what a call of a tool says when it has succeeded."""
    key, note = arguments["key"], arguments.get("note", "")
    pieces = "".join(f"{key}:{number} " for number in range(arguments.get("pieces", 2)))
    match name:
        case "threaded":
            return pieces or f"{key} threaded"
        case "streaming" | "ticking":
            return pieces
        case "look":
            return f'{{"key":"{key}","seen":[1,2.5,null,"ü"]}}'
        case "remember":
            return f"{key} remembered"
        case "quick" | "delicate":
            return f"{key} {name} {note}"
        case _:
            return f"{key} {name}"
