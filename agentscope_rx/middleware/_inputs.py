"""What each hook is given: Java's records, frozen. Change one with `attrs.evolve(input, messages=…)`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, final

from attrs import field, frozen

from agentscope_rx.message import Msg, ToolUseBlock
from agentscope_rx.model import ChatModel, GenerateOptions, ToolSchema

__all__ = ["ActingInput", "AgentInput", "ModelCallInput", "ReasoningInput"]


def _tuple(items: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(items)


@final
@frozen
class AgentInput:
    """A whole call.

    Attributes:
        msgs: the messages that the call brings; empty when it goes on with an earlier reply.
    """

    msgs: tuple[Msg, ...] = field(default=(), converter=_tuple)


@final
@frozen
class ReasoningInput:
    """One reasoning phase.

    Attributes:
        messages: what the model will see, the system message first.
        tools: the tools that it may call.
        options: how it is to answer.
    """

    messages: tuple[Msg, ...] = field(converter=_tuple)
    tools: tuple[ToolSchema, ...] = field(default=(), converter=_tuple)
    options: GenerateOptions = field(factory=GenerateOptions)


@final
@frozen
class ActingInput:
    """One acting phase.

    Attributes:
        tool_calls: the calls to run.
        rerun: run calls again that have a result already; else `next` gives the result they have.
    """

    tool_calls: tuple[ToolUseBlock, ...] = field(converter=_tuple)
    rerun: bool = False


@final
@frozen
class ModelCallInput:
    """One call of a model, inside a reasoning phase or for the summary at the iteration limit."""

    messages: tuple[Msg, ...] = field(converter=_tuple)
    tools: tuple[ToolSchema, ...] = field(default=(), converter=_tuple)
    options: GenerateOptions = field(factory=GenerateOptions)
    model: ChatModel = field(kw_only=True)
