"""Operators narrow and change types as they say, in a pipe and in a call's own stream. Checked, never run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import assert_type

import reactivex
from reactivex import Observable

from agentscope_rx import (
    AgentEvent,
    AssistantMessage,
    ReActAgent,
    TextBlockDeltaEvent,
    operators as agent_ops,
)
from agentscope_rx.event import BlockEvent, ToolCallStartEvent
from agentscope_rx.interop.asyncio import from_async_iterable, from_coroutine
from agentscope_rx.message import ContentBlock
from agentscope_rx.operators import Snapshot


def select(events: Observable[AgentEvent]) -> None:
    deltas = events.pipe(agent_ops.of_type(TextBlockDeltaEvent))
    assert_type(deltas, Observable[TextBlockDeltaEvent])
    assert_type(deltas.map(lambda event: event.delta.upper()), Observable[str])
    assert_type(events.pipe(agent_ops.of_type(BlockEvent)), Observable[BlockEvent])
    assert_type(events.pipe(agent_ops.by_source("main/researcher")), Observable[AgentEvent])
    assert_type(events.pipe(agent_ops.with_source("main/researcher")), Observable[AgentEvent])
    assert_type(events.pipe(agent_ops.text()), Observable[str])


def mark(delta: TextBlockDeltaEvent, event: AgentEvent) -> None:
    assert_type(agent_ops.with_source(delta, "main/researcher"), TextBlockDeltaEvent)
    assert_type(agent_ops.with_source(event, "main/researcher"), AgentEvent)
    assert_type(agent_ops.merge(delta, event), AgentEvent | None)


def fold(events: Observable[AgentEvent]) -> None:
    assert_type(events.pipe(agent_ops.to_msg()), Observable[AssistantMessage])
    assert_type(events.pipe(agent_ops.to_msgs()), Observable[AssistantMessage])
    assert_type(events.pipe(agent_ops.snapshots()), Observable[Snapshot])
    assert_type(events.pipe(agent_ops.blocks()), Observable[ContentBlock])
    assert_type(events.pipe(agent_ops.coalesce(), agent_ops.to_msg()), Observable[AssistantMessage])
    assert_type(events.pipe(agent_ops.reduce_with(int, count)), Observable[int])
    assert_type(events.pipe(agent_ops.scan_with(int, count)), Observable[int])


def by_reply(event: AgentEvent) -> str:
    return event.source or ""


def newest(_: AgentEvent, event: AgentEvent) -> AgentEvent:
    return event


def group(events: Observable[AgentEvent]) -> None:
    assert_type(events.pipe(agent_ops.group_reduce(by_reply, newest)), Observable[AgentEvent])
    assert_type(events.pipe(agent_ops.group_reduce(by_reply, count, seed=int)), Observable[int])


def count(so_far: int, event: AgentEvent) -> int:
    return so_far + (type(event) is TextBlockDeltaEvent)


def renamed(event: ToolCallStartEvent) -> ToolCallStartEvent | None:
    return event if event.tool_call_name else None


def change(events: Observable[AgentEvent], others: Observable[AgentEvent]) -> None:
    assert_type(events.pipe(agent_ops.map_type(ToolCallStartEvent, renamed)), Observable[AgentEvent])
    assert_type(events.pipe(agent_ops.switch_if_empty(others)), Observable[AgentEvent])
    assert_type(events.pipe(agent_ops.retry_before_first_event(2)), Observable[AgentEvent])
    assert_type(events.pipe(agent_ops.well_formed()), Observable[AgentEvent])
    assert_type(events.pipe(agent_ops.flat_map_sequential(words)), Observable[str])


def words(event: AgentEvent) -> Observable[str]:
    return reactivex.of(event.id, event.created_at)


async def call(agent: ReActAgent) -> None:
    assert_type(agent.call("hi"), Observable[AgentEvent])
    assert_type(agent.stream_events("hi"), Observable[AgentEvent])
    assert_type(agent.reply("hi"), Observable[AssistantMessage])
    assert_type(agent.reply("hi").run(), AssistantMessage)
    assert_type(await agent.reply("hi"), AssistantMessage)


async def five() -> int:
    return 5


def bridge() -> None:
    assert_type(from_coroutine(five), Observable[int])
    assert_type(from_async_iterable(ticks), Observable[int])


async def ticks() -> AsyncIterator[int]:
    yield 1
