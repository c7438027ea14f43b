"""What goes into a model call and what comes out of it, piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, final

from attrs import field, frozen

from agentscope_rx.message import (
    ChatUsage,
    DataBlock,
    FrozenDict,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)

__all__ = ["ChatResponse", "GenerateOptions", "ResponsePart", "ToolCallChunk", "ToolSchema"]


@final
@frozen
class ToolSchema:
    """A tool as the model sees it; `parameters` is a JSON schema of an object."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(factory=FrozenDict, converter=FrozenDict, hash=False)
    strict: bool | None = None


@final
@frozen
class GenerateOptions:
    """How a model is to answer; what is None is left to the provider.

    Attributes:
        tool_choice: `auto`, `none`, `required`, or the name of the tool to call.
        response_format: a JSON schema that the answer must have.
        extra_headers, extra_body, extra_query: go into the request as they are.
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    thinking_budget: int | None = None
    reasoning_effort: str | None = None
    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None
    response_format: Mapping[str, Any] | None = field(default=None, hash=False)
    extra_headers: Mapping[str, str] = field(factory=FrozenDict, converter=FrozenDict, hash=False, repr=False)
    extra_body: Mapping[str, Any] = field(factory=FrozenDict, converter=FrozenDict, hash=False)
    extra_query: Mapping[str, str] = field(factory=FrozenDict, converter=FrozenDict, hash=False)


@final
@frozen
class ToolCallChunk:
    """A fragment of a tool call as a provider sends it; what it leaves out is empty.

    Attributes:
        arguments: the next characters of the arguments' JSON text.
        id: the provider's id of the call.
        name: the tool.
        index: the provider's number of the call within the answer.
        metadata: what the provider wants back unchanged, as a signature.
    """

    arguments: str = ""
    id: str = ""
    name: str = ""
    index: int | None = None
    metadata: Mapping[str, Any] = field(factory=FrozenDict, converter=FrozenDict, hash=False)


ResponsePart: TypeAlias = TextBlock | ThinkingBlock | DataBlock | ToolCallChunk | ToolUseBlock
"""A piece of an answer: more text, more thinking, whole data, a fragment of a call, or a whole call."""


def _parts(parts: Iterable[ResponsePart]) -> tuple[ResponsePart, ...]:
    return tuple(parts)


@final
@frozen
class ChatResponse:
    """One piece of a model's answer: what is new since the piece before.

    Attributes:
        content: new parts, in order of arrival.
        usage: tokens of the whole model call so far; the last one that is not None counts.
        finish_reason: why the model stopped, in the provider's word; empty until it has.
        id: the provider's id of the answer.
        metadata: free.
    """

    content: tuple[ResponsePart, ...] = field(default=(), converter=_parts)
    usage: ChatUsage | None = None
    finish_reason: str = ""
    id: str = ""
    metadata: Mapping[str, Any] = field(factory=FrozenDict, converter=FrozenDict, hash=False)
