"""Stores that note what they are asked, take their time, and fail when they are told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from agentscope_rx.agent import ReActAgent, RuntimeContext
from agentscope_rx.message import ToolResultBlock, ToolResultState
from agentscope_rx.state import AgentState
from agentscope_rx.store import AgentStateStore, InMemoryAgentStateStore, StateKey, Versioned
from agentscope_rx.testing import CallRecord, acheck_call


class Watched:
    """A store around another one.

    Attributes:
        saved: what was stored, in order.
        loads, saves: how often each was asked for.
        delay: seconds that a save takes, or what gives them.
        fail_save: is asked before each save, with its number from 1; what it returns is raised.
        fail_load: what a load raises.
        first: whether a failing save stores all the same, as one whose answer was lost.
    """

    def __init__(self, inner: AgentStateStore | None = None) -> None:
        self.inner = InMemoryAgentStateStore() if inner is None else inner
        self.saved: list[AgentState] = []
        self.durable: list[bool] = []
        self.loads = self.saves = 0
        self.load_delay = 0.0
        self.delay: float | Callable[[], float] | None = None
        self.fail_save: Callable[[int], BaseException | None] = lambda _: None
        self.fail_load: BaseException | None = None
        self.saving = 0

    async def load(self, key: StateKey) -> Versioned | None:
        self.loads += 1
        if self.load_delay:
            await asyncio.sleep(self.load_delay)
        if self.fail_load is not None:
            raise self.fail_load
        return await self.inner.load(key)

    async def save(
        self, key: StateKey, state: AgentState, expected: str | None, *, durable: bool = True
    ) -> str:
        self.saves += 1
        number = self.saves
        self.saving += 1
        try:
            if self.delay is not None:
                await asyncio.sleep(self.delay() if callable(self.delay) else self.delay)
            if (error := self.fail_save(number)) is not None:
                raise error
            version = await self.inner.save(key, state, expected, durable=durable)
        finally:
            self.saving -= 1
        self.saved.append(state)
        self.durable.append(durable)
        return version

    async def delete(self, key: StateKey) -> bool:
        return await self.inner.delete(key)

    async def list_sessions(self, user_id: str | None) -> tuple[StateKey, ...]:
        return await self.inner.list_sessions(user_id)

    async def close(self) -> None:
        await self.inner.close()

    @property
    def newest(self) -> AgentState:
        """What is stored now."""
        return self.saved[-1]


def key_of(agent: ReActAgent, ctx: RuntimeContext | None = None) -> StateKey:
    ctx = ctx or RuntimeContext()
    return StateKey(ctx.user_id, ctx.session_id or agent.name, agent.name)


async def stored(agent: ReActAgent, ctx: RuntimeContext | None = None) -> AgentState | None:
    """What the agent's store has of a session."""
    assert agent.state_store is not None
    found = await agent.state_store.load(key_of(agent, ctx))
    return None if found is None else found.state


async def bring(agent: ReActAgent, ctx: RuntimeContext | None = None) -> None:
    """Let an agent see what is stored, so that the laws can be checked on what goes on from there."""
    await agent.update_state(lambda state: state, ctx)


async def check(agent: ReActAgent, input: Any = None, ctx: RuntimeContext | None = None) -> CallRecord:
    """Check the laws on a call, and that what the agent remembers is what is stored."""
    await bring(agent, ctx)
    record = await acheck_call(agent, input, ctx)
    assert await stored(agent, ctx) == agent.get_agent_state(ctx)
    return record


def results(state: Any) -> dict[str, ToolResultState]:
    """The states of the results in the newest message of a state, by call id; none while one runs."""
    message = state.context[-1] if isinstance(state, AgentState) else state
    return {block.id: block.state for block in message.get_content_blocks(ToolResultBlock)}
