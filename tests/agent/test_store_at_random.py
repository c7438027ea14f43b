"""Random conversations over a store that is slow and fails, and that agents made anew go on from."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest
from attrs import evolve
from reactivex import operators as ops

from agentscope_rx import event as ev, wire
from agentscope_rx.agent import ConfirmResults, ExternalResults, ReActAgent
from agentscope_rx.errors import ModelConnectionError, StateError, StateSaveError
from agentscope_rx.event import ConfirmResult
from agentscope_rx.message import ToolCallState, ToolResultBlock, ToolResultState, ToolUseBlock
from agentscope_rx.middleware import on_acting, on_agent, on_model_call, on_reasoning
from agentscope_rx.permission import PermissionBehavior, PermissionDecision
from agentscope_rx.state import AgentState
from agentscope_rx.store import StateKey, Versioned
from agentscope_rx.testing import ScriptedModel, acheck_call, acheck_disposal, pause, thinking, tool_call
from agentscope_rx.tool import ToolEmitter, tool
from tests.agent.friend import is_free
from tests.agent.stores import Watched, bring, stored
from tests.agent.test_interrupt import Tapped

pytestmark = pytest.mark.filterwarnings("ignore::agentscope_rx.errors.MiddlewareProtocolWarning")


class ThroughJson(Watched):
    """A store that gives back what it has as another process would read it."""

    async def load(self, key: StateKey) -> Versioned | None:
        found = await super().load(key)
        if found is None:
            return None
        state = wire.loads(AgentState, wire.dumps(found.state))
        assert state == found.state
        return evolve(found, state=state)


def ask(input: Any, context: Any) -> PermissionDecision:
    return PermissionDecision(PermissionBehavior.ASK, "may I?")


class Conversation:
    """One conversation, drawn by lot."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.ran: list[str] = []
        self.known: dict[str, int] = {}
        """By tool, how often it had run when its result was first stored and seen."""
        self.names: dict[str, str] = {}
        self.calls = 0
        self.store = ThroughJson()
        if random.random() < 0.7:
            self.store.delay = lambda: random.choice((0, 0, 0.0005, 0.002))
        if random.random() < 0.5:
            often = random.choice((0.02, 0.1, 0.3))
            self.store.fail_save = lambda _: StateSaveError("full") if random.random() < often else None
        self.tools = self._tools()

    def _tools(self) -> list[Any]:
        def ran(name: str) -> str:
            self.ran.append(name)
            return name

        @tool
        async def slow(name: str) -> str:
            """Run, after a while."""
            await asyncio.sleep(self.random.random() * 0.002)
            return ran(name)

        @tool(concurrency_safe=False)
        def alone(name: str) -> str:
            """Run alone, in a thread."""
            return ran(name)

        @tool(check_permission=ask)
        async def asking(name: str) -> str:
            """Run, if the human lets it."""
            return ran(name)

        @tool
        async def stopping(name: str, out: ToolEmitter) -> str:
            """Run, and stop the call."""
            out.request_stop("enough")
            return ran(name)

        @tool(external=True)
        def outside(name: str) -> str:
            """Run elsewhere."""
            raise AssertionError

        @tool
        def failing(name: str) -> str:
            """Fail."""
            raise RuntimeError("kaputt")

        return [slow, alone, asking, stopping, outside, failing]

    def agent(self) -> ReActAgent:
        r = self.random
        hooks = (on_agent, on_reasoning, on_acting, on_model_call)
        return ReActAgent(
            "friend",
            model=ScriptedModel(self.answer),
            toolkit=self.tools,
            state_store=self.store,
            max_iters=r.choice((2, 5)),
            max_retries=0,
            middlewares=[hook(ops.delay(0.0007)) for hook in hooks if r.random() < 0.1],
        )

    def answer(self, asked: Any) -> Any:
        r = self.random
        said: list[Any] = [thinking("let me see")] if r.random() < 0.3 else []
        said += ["some words "] if r.random() < 0.5 else []
        said += [pause(0.001)] if r.random() < 0.2 else []
        way = r.randrange(10)
        if way < 6:
            for _ in range(r.randrange(1, 4)):
                self.calls += 1
                said.append(tool_call(r.choice(self.tools).name, name=f"n{self.calls}"))
        elif way == 6:
            said.append(ModelConnectionError("no"))
        return said or "the end"

    def see(self, event: ev.AgentEvent) -> None:
        if isinstance(event, ev.ToolResultTextDeltaEvent) and event.delta in self.ran:
            self.names[event.tool_call_id] = event.delta
        elif isinstance(event, ev.ToolResultEndEvent) and event.tool_call_id in self.names:
            name = self.names[event.tool_call_id]
            if event.tool_call_id in self.stored_results():
                self.known.setdefault(name, self.ran.count(name))

    def stored_results(self) -> set[str]:
        context = self.store.newest.context if self.store.saved else ()
        blocks = [block for msg in context for block in msg.get_content_blocks(ToolResultBlock)]
        return {block.id for block in blocks if block.state is ToolResultState.SUCCESS}

    def next_input(self, state: AgentState) -> Any:
        r = self.random
        calls = [call for msg in state.context[-3:] for call in msg.get_content_blocks(ToolUseBlock)]
        asking = [call for call in calls if call.state is ToolCallState.ASKING]
        outside = [call for call in calls if call.state is ToolCallState.SUBMITTED]
        if asking and r.random() < 0.8:
            return ConfirmResults([ConfirmResult(r.random() < 0.7, call) for call in asking])
        if outside and r.random() < 0.8:
            some = outside[: r.randrange(1, len(outside) + 1)]
            return ExternalResults([ToolResultBlock(call.id, call.name, "found") for call in some])
        return r.choice((None, None, "more"))

    async def hold(self) -> None:
        r = self.random
        agent, input = self.agent(), "hi"
        for turn in range(6):
            agent = self.agent() if r.random() < 0.5 else agent
            await bring(agent)
            await self.turn(agent, input, f"stop {turn}")
            assert is_free(agent)
            if self.store.fail_save(0) is None and self.store.saved:
                assert self.store.newest == await stored(agent)
            input = self.next_input(agent.get_agent_state())
        assert {name: self.ran.count(name) for name in self.known} == self.known

    async def turn(self, agent: ReActAgent, input: Any, words: str) -> None:
        at = self.random.randrange(1, 40)
        what = self.random.choice(("nothing", "nothing", "interrupt", "twice", "stop", "dispose"))
        outer = any("on_agent" in repr(each) for each in agent.middlewares)
        told: list[Any] = []
        count = 0

        def see(event: ev.AgentEvent) -> None:
            nonlocal count
            count += 1
            self.see(event)
            if count != at:
                return
            if what in ("interrupt", "twice"):
                told.append(agent.interrupt(None, words))
            if what == "twice":
                told.append(agent.interrupt(None, words))
            if what == "stop":
                agent.request_stop()

        watcher: Any = Tapped(agent, see)
        tasks = asyncio.all_tasks()
        if what == "dispose":
            await acheck_disposal(watcher, input, after=at) if not outer else await left(watcher, input, at)
        elif what in ("nothing", "stop"):
            await acheck_call(watcher, input, outer=outer)
        else:
            await asyncio.wait_for(ended(watcher.call(input)), 20)
        for stream in told:
            await asyncio.wait_for(ended(stream), 20)
        while asyncio.all_tasks() - tasks or not is_free(agent):
            await asyncio.sleep(0.001)


async def ended(stream: Any) -> None:
    await stream.pipe(ops.materialize(), ops.to_list())


async def left(watcher: Any, input: Any, at: int) -> None:
    await ended(watcher.call(input).pipe(ops.take(at)))


@pytest.mark.parametrize("seed", range(60))
def test_a_random_conversation_over_a_failing_store_keeps_the_laws(seed: int) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        others: list[Any] = []

        def handle(_: Any, context: dict[str, Any]) -> None:
            if not isinstance(context.get("exception"), StateError):
                others.append(context)

        loop.set_exception_handler(handle)
        await asyncio.wait_for(Conversation(seed).hold(), 60)
        assert others == []

    asyncio.run(main())
