"""Random families of agents, answered, disposed, interrupted, gone on with: the laws hold for each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any, Final

import pytest
import reactivex as rx
from attrs import evolve
from reactivex.disposable import SerialDisposable

from agentscope_rx import event as ev, operators as agent_ops
from agentscope_rx.agent import ConfirmResults, ExternalResults, ReActAgent
from agentscope_rx.agent._waiting import Questions
from agentscope_rx.errors import AnswerError
from agentscope_rx.message import GenerateReason, ToolResultBlock, ToolUseBlock
from agentscope_rx.permission import PermissionContextState, PermissionDecision
from agentscope_rx.store import InMemoryAgentStateStore
from agentscope_rx.testing import ScriptedCall, ScriptedModel, check_subagents, pause, tool_call
from agentscope_rx.tool import external_tool, tool

TROUBLES: Final = ("none", "dispose", "interrupt", "stop")


@tool
async def add(a: int) -> str:
    """Add."""
    await asyncio.sleep(0)
    return f"{a} added"


@tool
def fail() -> str:
    """Fail."""
    raise RuntimeError("kaputt")


@tool
async def wait() -> str:
    """Wait."""
    await asyncio.sleep(0.002)
    return "waited"


def sure(_: Any, __: PermissionContextState) -> PermissionDecision:
    return PermissionDecision.ask("sure?")


@tool(check_permission=sure)
def remove(path: str) -> str:
    """Remove."""
    return f"removed {path}"


pay = external_tool("pay", "Pay.")
TOOLS: Final = (add, fail, wait, remove, pay)


def family(random: Random, depth: int = 0) -> ReActAgent:
    """Make an agent, and those that work for it."""
    children = [family(random, depth + 1) for _ in range(random.randrange(3 if depth < 2 else 1))]
    if depth == 0 and not children:
        children = [family(random, 1)]
    names = [tool.name for tool in TOOLS] + [f"call_{child.name}" for child in children] * 3
    rounds = [
        [some_call(random, random.choice(names), f"c{i}") for i in range(random.randrange(1, 4))]
        for _ in range(random.randrange(1, 3))
    ]

    def step(asked: ScriptedCall) -> list[Any]:
        left = len(asked.results)
        for calls in rounds:
            left -= len(calls)
            if left < 0:
                return ["Hm. ", *calls]
        return ["Done ", pause(0), f"by {len(asked.results)}"]

    name = f"a{random.randrange(10**9)}"
    return ReActAgent(name, model=ScriptedModel(step), toolkit=[*TOOLS, *children], max_iters=6)


def some_call(random: Random, name: str, id: str) -> ToolUseBlock:
    arguments: dict[str, dict[str, Any]] = {"add": {"a": 1}, "remove": {"path": "/x"}}
    if name.startswith("call_"):
        return tool_call(name, {"message": "go"}, id)
    return tool_call(name, arguments.get(name, {}), id)


Asked = ev.RequireUserConfirmEvent | ev.RequireExternalExecutionEvent


class Conversation:
    """What has been said so far."""

    def __init__(self, seed: int, troubles: Sequence[str] = TROUBLES, **options: Any) -> None:
        self.random = Random(seed)
        self.agent = evolve(family(self.random), **options)
        self.troubles = troubles
        self.events: list[ev.AgentEvent] = []
        self.asked: list[Asked] = []
        self.reason: GenerateReason | None = GenerateReason.MODEL_STOP
        self.cut = False

    async def run(self) -> None:
        for _ in range(6):
            await self.turn(self.random.choice(self.troubles))
        for _ in range(40):
            if self.reason is GenerateReason.MODEL_STOP and not self.cut:
                break
            await self.turn("none")
        assert self.reason in (GenerateReason.MODEL_STOP, GenerateReason.MAX_ITERATIONS)

    async def turn(self, trouble: str) -> None:
        """Make a call, with some trouble in it, and check the laws."""
        input = self.input()
        after = self.random.randrange(1, 60)
        before, tasks = self.agent.get_agent_state(), asyncio.all_tasks()
        events, error, disposed = await call(self.agent, input, trouble, after)
        if not events and not disposed:
            assert isinstance(error, AnswerError), error
            assert self.cut, "answers are stale only if nobody has seen that their question was"
            self.asked.clear()
            return
        await quiet(tasks)
        self.events += events
        own = [event for event in events if not event.source]
        self.cut = disposed
        if not disposed:
            assert error is None
            rx.from_iterable(events).pipe(agent_ops.well_formed()).run()
            assert isinstance(events[-1], ev.AgentEndEvent)
            self.reason = events[-1].generate_reason
        if events:
            assert isinstance(events[0], ev.AgentStartEvent)
            assert {event.reply_id for event in own if isinstance(event, ev.ReplyEvent)} == {
                events[0].reply_id
            }
            goes_on = before.reply_id == events[0].reply_id
            seed = before.checkpoint if goes_on else None
            message = await rx.from_iterable(events).pipe(agent_ops.to_msg(seed=seed))
            stored = self.agent.get_agent_state().context
            assert message == next(msg for msg in reversed(stored) if msg.id == message.id)
        self.asked = still_open(events)

    def input(self) -> Any:
        if not self.asked:
            over = self.reason in (
                GenerateReason.MODEL_STOP,
                GenerateReason.INTERRUPTED,
                GenerateReason.MAX_ITERATIONS,
            )
            return "hi" if over and not self.cut else None
        asked = self.random.choice(self.asked)
        if isinstance(asked, ev.RequireUserConfirmEvent):
            return ConfirmResults(
                [ev.ConfirmResult(self.random.random() < 0.7, call) for call in asked.tool_calls],
                asked.reply_id,
            )
        outcomes = [ToolResultBlock.text("paid", id=call.id, name=call.name) for call in asked.tool_calls]
        return ExternalResults(outcomes[: self.random.randrange(1, len(outcomes) + 1)], asked.reply_id)


def still_open(events: list[ev.AgentEvent]) -> list[Asked]:
    """Return the questions in a stream that nothing in it has settled."""
    questions = Questions()
    for event in events:
        questions.take(event)
    open = {(question.reply_id, call) for question in questions.open() for call in question.calls}
    asked = [event for event in events if isinstance(event, Asked)]
    return [each for each in asked if all((each.reply_id, call.id) in open for call in each.tool_calls)]


async def call(
    agent: ReActAgent, input: Any, trouble: str, after: int
) -> tuple[list[ev.AgentEvent], Exception | None, bool]:
    """Call an agent; after so many events dispose the call, interrupt or stop it."""
    events: list[ev.AgentEvent] = []
    ended: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
    subscription = SerialDisposable()
    disposed = False
    closing: list[ev.AgentEvent | None] = []
    over = asyncio.Event()

    def end(error: Exception | None) -> None:
        if not ended.done():
            ended.set_result(error)

    def take(event: ev.AgentEvent) -> None:
        nonlocal disposed
        events.append(event)
        if len(events) != after:
            return
        if trouble == "dispose" and not (isinstance(event, ev.AgentEndEvent) and not event.source):
            disposed = True
            subscription.dispose()
            end(None)
        elif trouble == "interrupt":
            agent.interrupt().subscribe(closing.append, end, lambda: over.set())
        elif trouble == "stop":
            agent.request_stop()

    subscription.disposable = agent.call(input).subscribe(take, end, lambda: end(None))
    error = await asyncio.wait_for(ended, 10)
    if trouble == "interrupt" and len(events) >= after:
        await asyncio.wait_for(over.wait(), 10)
        events += [event for event in closing if event is not None and event not in events]
    return events, error, disposed


async def quiet(tasks: set[asyncio.Task[Any]]) -> None:
    for _ in range(2_000):
        if asyncio.all_tasks() <= tasks:
            return
        await asyncio.sleep(0.001)
    raise AssertionError(f"tasks stay behind: {asyncio.all_tasks() - tasks}")


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_to_a_family_each_of_it_has_stored_what_it_has_streamed(seed: int) -> None:
    conversation = Conversation(seed)

    asyncio.run(conversation.run())

    check_subagents(conversation.agent, conversation.events)


@pytest.mark.parametrize("seed", range(15))
def test_so_it_is_where_there_is_a_store(seed: int) -> None:
    """But for disposals: what waits for a write is stored, and not yet seen."""
    conversation = Conversation(seed, ("none", "interrupt", "stop"), state_store=InMemoryAgentStateStore())

    asyncio.run(conversation.run())

    check_subagents(conversation.agent, conversation.events)
