"""What a model says: something of everything, and what it must not have been asked."""

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, Final

from attrs import frozen

from agentscope_rx import wire
from agentscope_rx.errors import ModelConnectionError, ModelTimeoutError
from agentscope_rx.message import (
    Base64Source,
    ChatUsage,
    DataBlock,
    Msg,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.model import ToolCallChunk
from agentscope_rx.output import GENERATE_RESPONSE
from agentscope_rx.testing import ScriptedCall, ScriptedModel, pause, thinking, tool_call
from tests.laws.conversations.tools import KEYED
from tests.laws.conversations.world import MARKS, World, mark_of

__all__ = ["Finding", "model"]


@frozen
class Finding:
    """A structured output."""

    mark: str
    number: int


CALLS: Final = {
    **{name: lambda r: {} for name in KEYED},
    "slow": lambda r: {"seconds": r.choice([0, 0.005, 0.03])},
    "threaded": lambda r: {"pieces": r.randrange(3)},
    "streaming": lambda r: {"pieces": r.randrange(3)},
    "failing": lambda r: {"pieces": r.randrange(2)},
    "nowhere": lambda r: {},
}


def model(world: World, *, delay: float, native: bool, name: str = "scripted") -> ScriptedModel:
    """Return the model of a conversation, which serves all its sessions."""

    def answer(asked: ScriptedCall) -> Iterable[Any]:
        system, *messages = asked.messages
        assert isinstance(system, SystemMessage)
        mark = mark_of(system.text_content)
        world.wrong += _wrong_in(messages, mark)
        r = world.dice(mark)
        wanted = any(tool.name == GENERATE_RESPONSE for tool in asked.tools)
        if (wanted or asked.options.response_format) and r.random() < 0.6:
            return _structured(mark, r, by_tool=wanted)
        return list(_answer(world, mark, r, can_call=bool(asked.tools)))

    return ScriptedModel(answer, name=name, delay=delay, native_structured_output=native)


def _structured(mark: str, r: Random, by_tool: bool) -> Iterable[Any]:
    right = {"mark": mark, "number": r.randrange(9)}
    wrong = {"mark": mark, "number": "many"}
    value = right if r.random() < 0.7 else wrong
    if by_tool:
        return [thinking(f"{mark} knows"), tool_call(GENERATE_RESPONSE, {"response": value})]
    return [wire.dumps(value).decode()]


def _wrong_in(messages: list[Msg], mark: str) -> Iterator[str]:
    """What no provider would take, or no session should see."""
    for msg in messages:
        text = wire.dumps_msg(msg).decode().lower()
        for other in MARKS:
            if other != mark and other in text:
                yield f"the model of {mark} sees what is {other}'s: {msg!r}"
        calls = [call.id for call in msg.get_content_blocks(ToolUseBlock)]
        results = [result.id for result in msg.get_content_blocks(ToolResultBlock)]
        if sorted(calls) != sorted(results) or len(set(calls)) != len(calls):
            yield f"the model of {mark} sees the calls {calls} with the results {results}"
        for result in msg.get_content_blocks(ToolResultBlock):
            if result.state is ToolResultState.RUNNING:
                yield f"the model of {mark} sees a result that is none yet: {result!r}"


def _answer(world: World, mark: str, r: Random, can_call: bool) -> Iterator[Any]:
    if r.random() < 0.04:
        return
    calls = list(_calls(world, mark, r)) if r.random() < (0.6 if can_call else 0.2) else []
    pieces: list[Any] = []
    if r.random() < 0.3:
        pieces.append(thinking(f"{mark} thinks", **({"signature": mark} if r.random() < 0.5 else {})))
    if r.random() < 0.7 or not calls:
        pieces.append(r.choice([f"{mark} says something", f"{mark}", TextBlock(f"{mark}\n\n ü")]))
    if r.random() < 0.1:
        pieces.append(DataBlock(Base64Source("image/png", "iVBORw0KGgo=")))
    if r.random() < 0.1:
        pieces.append(pause(r.choice([0.001, 0.02])))
    if r.random() < 0.2:
        r.shuffle(pieces)
    pieces += calls
    if calls and r.random() < 0.1:
        pieces.append(f"{mark} adds")
    if r.random() < 0.5:
        pieces.append(ChatUsage(r.randrange(5), 2, r.randrange(2), 0.5))
    if r.random() < 0.1:
        error = r.choice([ModelConnectionError, ModelTimeoutError, ValueError])(f"{mark} lost the line")
        pieces.insert(r.randrange(len(pieces) + 1), error)
    yield from pieces


def _calls(world: World, mark: str, r: Random) -> Iterator[Any]:
    count = r.choice([1, 1, 1, 2, 2, 3, 5])
    calls = [_call(world, mark, r) for _ in range(count)]
    if len(calls) > 1 and r.random() < 0.2:
        yield from _interleaved(calls)
    else:
        yield from calls


def _call(world: World, mark: str, r: Random) -> ToolUseBlock:
    key = world.new_key(mark)
    name = r.choice(list(CALLS))
    if r.random() < 0.04:
        return tool_call("call_helper", message=f"{mark} needs help")
    id = r.choice([key, key, "", f"{mark} again"])
    arguments = {"key": key, **CALLS[name](r)}
    match r.random():
        case chance if chance < 0.04:
            return tool_call(name, f'{{"key": "{key}", ', id)
        case chance if chance < 0.08:
            return tool_call(name, {**arguments, "key": 5}, id)
        case chance if chance < 0.12:
            return tool_call(name, {**arguments, "more": mark}, id)
        case _:
            return tool_call(name, arguments, id)


def _interleaved(calls: list[ToolUseBlock]) -> Iterator[ToolCallChunk]:
    """The fragments of several calls, taking turns."""
    for index, call in enumerate(calls):
        yield ToolCallChunk("", call.id, call.name, index)
    texts = [call.content or "" for call in calls]
    for start in range(0, max(map(len, texts)), 9):
        for index, text in enumerate(texts):
            if start < len(text):
                yield ToolCallChunk(text[start : start + 9], index=index)
