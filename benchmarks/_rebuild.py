"""A reply's message from its events, in three ways: ours, a loop by hand, and RxPY's own operators.

The loop and the stock chain know one reply, every block opened and closed once, and nothing of copies, late
events or subagents: they are what speed is measured by, not what one should use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx.event import (
    AgentEvent,
    BlockEvent,
    ModelCallEndEvent,
    TextBlockDeltaEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallStartEvent,
    ToolEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.identity import format_timestamp
from agentscope_rx.message import (
    AssistantMessage,
    ContentBlock,
    GenerateReason,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.operators import to_msg

__all__ = ["by_hand", "ours", "outline", "stock"]


def ours(events: Sequence[AgentEvent]) -> AssistantMessage:
    """Rebuild the message with `to_msg`, from a stock source."""
    return _only(rx.from_iterable(events).pipe(to_msg()))


def by_hand(events: Sequence[AgentEvent]) -> AssistantMessage:
    """Rebuild the message with one loop, as tight as Python lets it be."""
    texts: dict[str, list[str]] = {}
    arguments: dict[str, list[str]] = {}
    outputs: dict[str, list[str]] = {}
    opened: list[tuple[Any, list[str]]] = []
    states: dict[str, ToolResultState] = {}
    others: list[Any] = []
    for event in events:
        cls = type(event)
        if cls is TextBlockDeltaEvent:  # noqa: SIM114 - a class's own branch has its own inline caches
            texts[event.block_id].append(event.delta)
        elif cls is ThinkingBlockDeltaEvent:
            texts[event.block_id].append(event.delta)
        elif cls is ToolCallDeltaEvent:
            arguments[event.tool_call_id].append(event.delta)
        elif cls is ToolResultTextDeltaEvent:
            outputs[event.tool_call_id].append(event.delta)
        elif cls is TextBlockStartEvent or cls is ThinkingBlockStartEvent:
            texts[event.block_id] = chunks = []
            opened.append((event, chunks))
        elif cls is ToolCallStartEvent:
            arguments[event.tool_call_id] = chunks = []
            opened.append((event, chunks))
        elif cls is ToolResultStartEvent:
            outputs[event.tool_call_id] = chunks = []
            opened.append((event, chunks))
        elif cls is ToolResultEndEvent:
            states[event.tool_call_id] = event.state
        else:
            others.append(event)
    return _message(others, [_block(start, "".join(chunks), states) for start, chunks in opened])


def stock(events: Sequence[AgentEvent]) -> AssistantMessage:
    """Rebuild the message with `ops.group_by`, and `ops.flat_map` of `ops.reduce`."""
    return _only(
        rx.from_iterable(events).pipe(
            ops.group_by(_key),
            ops.flat_map(lambda group: group.pipe(ops.reduce(_collect, []))),
            ops.to_list(),
            ops.map(_assemble),
        )
    )


def _only(source: Observable[AssistantMessage]) -> AssistantMessage:
    items: list[AssistantMessage] = []
    source.subscribe(items.append)
    [item] = items
    return item


def _key(event: Any) -> tuple[str, str]:
    """Return the group of an event: a block, a call, a result, or the message itself."""
    if isinstance(event, BlockEvent):
        return "block", event.block_id
    if not isinstance(event, ToolEvent):
        return "message", event.reply_id
    return "result" if isinstance(event, _RESULT) else "call", event.tool_call_id


_RESULT = (ToolResultTextDeltaEvent, ToolResultStartEvent, ToolResultEndEvent)


def _collect(group: list[Any], event: Any) -> list[Any]:
    group.append(event)
    return group


def _assemble(groups: list[list[Any]]) -> AssistantMessage:
    """Reduce the groups, which come in order of opening, to the message; the first is the message's own."""
    others, *blocks = groups
    ends = [group[-1] for group in blocks if type(group[-1]) is ToolResultEndEvent]
    states = {end.tool_call_id: end.state for end in ends}
    return _message(
        others, [_block(start, "".join(event.delta for event in rest), states) for start, *rest, _ in blocks]
    )


def _block(start: Any, text: str, states: Mapping[str, ToolResultState]) -> ContentBlock:
    match start:
        case TextBlockStartEvent():
            return TextBlock(text)
        case ThinkingBlockStartEvent():
            return ThinkingBlock(text)
        case ToolCallStartEvent(tool_call_id=id, tool_call_name=name):
            state = ToolCallState.FINISHED if id in states else ToolCallState.PENDING
            return ToolUseBlock(id, name, json.loads(text), text, state=state)
        case ToolResultStartEvent(tool_call_id=id, tool_call_name=name):
            return ToolResultBlock(id, name, (TextBlock(text),), state=states[id])
        case _:
            raise TypeError(f"a {type(start).__name__} opens no block")


def _message(others: Sequence[Any], content: Sequence[ContentBlock]) -> AssistantMessage:
    start = others[0]
    usages = [event.usage for event in others if type(event) is ModelCallEndEvent]
    return AssistantMessage(
        name=start.name,
        id=start.reply_id,
        content=content,
        usage=reduce(add, usages) if usages else None,
        timestamp=format_timestamp(start.created_at),
        generate_reason=GenerateReason.MODEL_STOP,
    )


def outline(msg: AssistantMessage) -> list[tuple[str, ...]]:
    """Return the message's blocks as plain tuples, to be compared with a peer's."""
    return [_outline(block) for block in msg.content]


def _outline(block: ContentBlock) -> tuple[str, ...]:
    match block:
        case TextBlock(text=text):
            return "text", text
        case ThinkingBlock(thinking=text):
            return "thinking", text
        case ToolUseBlock(id=id, name=name, content=content):
            return "tool_use", id, name, str(content)
        case ToolResultBlock(id=id, name=name, output=output, state=state):
            return "tool_result", id, name, str(state), *(str(part.text) for part in output)
        case _:
            raise TypeError(f"no outline for a {type(block).__name__}")
