"""What goes into a model call and what comes out of it, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any, Final, TypeAlias, cast, final

from attrs import Attribute, field, fields, frozen

from agentscope_rx._check import a_str, a_str_or_none, tuple_of
from agentscope_rx._frozen import EMPTY, freeze, freeze_or_none
from agentscope_rx._repr import Brief
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import (
    ChatUsage,
    DataBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)

__all__ = ["ChatResponse", "GenerateOptions", "ResponsePart", "ToolCallChunk", "ToolSchema"]


@final
@frozen
class ToolSchema(Brief):
    """A tool as the model sees it; `parameters` is a JSON schema of an object."""

    name: str = field(validator=a_str)
    description: str = field(default="", validator=a_str)
    parameters: Mapping[str, Any] = field(default=EMPTY, converter=freeze, hash=False)
    strict: bool | None = None


def _wrong(owner: object, attribute: Attribute[Any], problem: str) -> ConfigurationError:
    return ConfigurationError(f"{type(owner).__name__}.{attribute.name} {problem}")


def _number(owner: object, attribute: Attribute[Any], value: object) -> None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)):
        return
    raise _wrong(owner, attribute, f"is {value!r}; give a number, or None")


def _whole(owner: object, attribute: Attribute[Any], value: object) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise _wrong(owner, attribute, f"is {value!r}; give a whole number, or None")


def _strings(owner: object, attribute: Attribute[Any], value: Mapping[Any, Any]) -> None:
    for key, item in value.items():
        if not isinstance(key, str) or not isinstance(item, str) or "\n" in key + item or "\r" in key + item:
            raise _wrong(owner, attribute, f"has something else than a text of one line at {key!r}")


def _stops(stop: str | Iterable[str]) -> tuple[str, ...]:
    return (stop,) if isinstance(stop, str) else tuple_of(str, stop)


@final
@frozen
class GenerateOptions(Brief):
    """How a model is to answer; what is None is left to the provider.

    Attributes:
        stop: texts at which the model is to stop; a lone string is one.
        thinking_budget: tokens that the model may think.
        tool_choice: `auto`, `none`, `required`, or the name of the tool to call.
        response_format: a JSON schema that the answer's text must have, if the model can be held to one; its
            title is its name.
        cache_control: whether the conversation so far is to be in the provider's cache, where that must be
            asked for; a message with the metadata `_cache_control` asks for itself.
        extra_headers, extra_body, extra_query: go into the request as they are; a None in `extra_body`
            takes its key out of the request.
    """

    temperature: float | None = field(default=None, validator=_number)
    top_p: float | None = field(default=None, validator=_number)
    top_k: int | None = field(default=None, validator=_whole)
    max_tokens: int | None = field(default=None, validator=_whole)
    frequency_penalty: float | None = field(default=None, validator=_number)
    presence_penalty: float | None = field(default=None, validator=_number)
    seed: int | None = field(default=None, validator=_whole)
    stop: tuple[str, ...] = field(default=(), converter=_stops)
    thinking_budget: int | None = field(default=None, validator=_whole)
    reasoning_effort: str | None = field(default=None, validator=a_str_or_none)
    tool_choice: str | None = field(default=None, validator=a_str_or_none)
    parallel_tool_calls: bool | None = None
    response_format: Mapping[str, Any] | None = field(default=None, converter=freeze_or_none, hash=False)
    cache_control: bool | None = None
    extra_headers: Mapping[str, str] = field(
        default=EMPTY, converter=freeze, validator=_strings, hash=False, repr=False
    )
    extra_body: Mapping[str, Any] = field(default=EMPTY, converter=freeze, hash=False, repr=False)
    extra_query: Mapping[str, str] = field(
        default=EMPTY, converter=freeze, validator=_strings, hash=False, repr=False
    )

    def over(self, defaults: GenerateOptions) -> GenerateOptions:
        """Return these options, and those of `defaults` where they say nothing; the extras key by key."""
        values: dict[str, Any] = {}
        for name in _OPTIONS:
            mine, default = getattr(self, name), getattr(defaults, name)
            values[name] = (
                {**default, **mine} if name.startswith("extra_") else default if _unset(mine) else mine
            )
        return GenerateOptions(**values)


def _unset(value: object) -> bool:
    return value is None or value == ()


_OPTIONS: Final = tuple(attribute.name for attribute in fields(GenerateOptions))


@final
@frozen
class ToolCallChunk(Brief):
    """A fragment of a tool call as a provider sends it; what it leaves out is empty.

    Attributes:
        arguments: the next characters of the arguments' JSON text.
        id: the provider's id of the call.
        name: the tool.
        index: the provider's number of the call within the answer.
        metadata: what the provider wants back unchanged, as a signature.
    """

    arguments: str = field(default="", validator=a_str)
    id: str = field(default="", validator=a_str)
    name: str = field(default="", validator=a_str)
    index: int | None = None
    metadata: Mapping[str, Any] = field(default=EMPTY, converter=freeze, hash=False)


ResponsePart: TypeAlias = TextBlock | ThinkingBlock | DataBlock | ToolCallChunk | ToolUseBlock
"""A piece of an answer: more text, more thinking, whole data, a fragment of a call, or a whole call."""


_parts: Final = cast("Callable[[Iterable[ResponsePart]], tuple[ResponsePart, ...]]", tuple)


@final
@frozen
class ChatResponse(Brief):
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
    metadata: Mapping[str, Any] = field(default=EMPTY, converter=freeze, hash=False)
