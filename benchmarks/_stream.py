"""The replies that the rows work on, fixed, since ratios depend on them.

The peer looks for the block of each delta among all blocks, in the order of the message, and for the type of
an event among all types: a text costs it least, the result of a tool most. In a mixed reply, all blocks have
the same number of deltas; with two thirds of them in texts and thinking, the ratios are a tenth lower.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator

from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.identity import emitting, new_emitter
from agentscope_rx.message import ChatUsage

__all__ = ["mixed", "one_image", "texts"]

REPLY = "reply"
TOOL = "search"


def mixed(events: int) -> list[AgentEvent]:
    """Return a reply of whole iterations, 435 events in 8 blocks each, until there are at least so many."""
    return _reply(_iteration(number) for number in range(-(-(events - 2) // 435)))


def texts(blocks: int, deltas: int) -> list[AgentEvent]:
    """Return a reply of so many text blocks, of so many deltas each."""
    return _reply(_text(f"text-{number}", deltas) for number in range(blocks))


def one_image(chunks: int, size: int) -> list[AgentEvent]:
    """Return a reply of one image in so many chunks of base64, each of so many bytes and padded alone."""
    chunk = base64.b64encode(bytes(range(256)) * (size // 256) + bytes(size % 256)).decode()
    deltas = (DataBlockDeltaEvent(REPLY, "data-1", chunk, media_type="image/png") for _ in range(chunks))
    start, end = DataBlockStartEvent(REPLY, "data-1", "image/png"), DataBlockEndEvent(REPLY, "data-1")
    return _reply([[start, *deltas, end]])


def _reply(parts: Iterable[Iterable[AgentEvent]]) -> list[AgentEvent]:
    # Ids as in a call: one emitter, and no other that draws from it.
    with emitting(new_emitter()):
        return [
            AgentStartEvent("session", REPLY, "assistant"),
            *(event for part in parts for event in part),
            AgentEndEvent(REPLY),
        ]


def _iteration(number: int) -> Iterator[AgentEvent]:
    calls = [f"call-{number}-{index}" for index in range(3)]
    yield ModelCallStartEvent(REPLY, "model")
    yield from _thinking(f"thinking-{number}", 52)
    yield from _text(f"text-{number}", 53)
    yield from _interleaved(_call(call, 52) for call in calls)
    yield ModelCallEndEvent(REPLY, ChatUsage(100, 50))
    yield from _interleaved(_result(call, 52) for call in calls)


def _interleaved(streams: Iterable[Iterator[AgentEvent]]) -> Iterator[AgentEvent]:
    for events in zip(*streams, strict=True):
        yield from events


def _text(block: str, deltas: int) -> Iterator[AgentEvent]:
    yield TextBlockStartEvent(REPLY, block)
    for index in range(deltas):
        yield TextBlockDeltaEvent(REPLY, block, f"word{index} ")
    yield TextBlockEndEvent(REPLY, block)


def _thinking(block: str, deltas: int) -> Iterator[AgentEvent]:
    yield ThinkingBlockStartEvent(REPLY, block)
    for index in range(deltas):
        yield ThinkingBlockDeltaEvent(REPLY, block, f"step{index} ")
    yield ThinkingBlockEndEvent(REPLY, block)


def _call(call: str, deltas: int) -> Iterator[AgentEvent]:
    yield ToolCallStartEvent(REPLY, call, TOOL)
    yield ToolCallDeltaEvent(REPLY, call, TOOL, '{"query": "')
    for index in range(deltas - 2):
        yield ToolCallDeltaEvent(REPLY, call, TOOL, f"part{index} ")
    yield ToolCallDeltaEvent(REPLY, call, TOOL, '"}')
    yield ToolCallEndEvent(REPLY, call, TOOL)


def _result(call: str, deltas: int) -> Iterator[AgentEvent]:
    yield ToolResultStartEvent(REPLY, call, TOOL)
    for index in range(deltas):
        yield ToolResultTextDeltaEvent(REPLY, call, TOOL, f"line{index}\n")
    yield ToolResultEndEvent(REPLY, call, TOOL)
