"""Turns, tools and options as a request in DashScope's own protocol: pure.

There are two endpoints. That for text takes a text as a message's content; the multimodal one takes a list of
parts, each named after its kind. A round is one assistant message with its tool calls and, right behind it, a
message for each result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from agentscope_rx.message import TextBlock, ThinkingBlock, ToolUseBlock
from agentscope_rx.model._history import (
    AssistantTurn,
    Media,
    SystemTurn,
    Turn,
    UserTurn,
    arguments_text,
    kept,
)
from agentscope_rx.model._response import GenerateOptions, ToolSchema
from agentscope_rx.model._strict import response_format
from agentscope_rx.model.dashscope._decode import SIGNATURE

__all__ = [
    "build_messages",
    "build_request",
    "choice_of",
    "has_media",
    "has_uploads",
    "is_incremental",
    "is_multimodal",
    "thinks",
]

Json: TypeAlias = dict[str, Any]

_KINDS: Final = frozenset({"image", "audio", "video"})
_MULTIMODAL: Final = re.compile(
    r"qvq|.*-(vl|asr|audio|omni)\b|(?!.*-max)qwen(3\.([5-9]|\d\d)|[4-9])|.*kimi-k(2\.[5-9]|[3-9])"
)
_SAME: Final = (
    "temperature", "top_p", "top_k", "max_tokens", "seed", "frequency_penalty", "presence_penalty",
)  # fmt: skip


def is_multimodal(model: str) -> bool:
    """Return whether a model is known by its name to be served by the multimodal endpoint only."""
    return _MULTIMODAL.match(model.lower()) is not None


def has_media(turns: Iterable[Turn]) -> bool:
    """Return whether a conversation shows the model images, sounds or videos."""
    return any(media.kind in _KINDS for turn in turns for media in _shown(turn))


def has_uploads(turns: Iterable[Turn]) -> bool:
    """Return whether a conversation refers to files that were uploaded to the provider before."""
    return any(media.url.startswith("oss://") for turn in turns for media in _shown(turn))


def _shown(turn: Turn) -> Iterable[Media]:
    match turn:
        case UserTurn():
            return [part for part in turn.parts if isinstance(part, Media)]
        case AssistantTurn():
            return [media for result in turn.results for media in result.media]
        case SystemTurn():
            return []


def is_incremental(options: GenerateOptions, default: bool) -> bool:
    """Return whether frames bring what is new, and not all so far; the request says so."""
    wanted = _mapping(options.extra_body.get("parameters")).get("incremental_output", default)
    return wanted is True


def thinks(options: GenerateOptions, default: bool | None) -> bool | None:
    """Return whether the model is to think; None if that is left to the server."""
    if options.reasoning_effort is not None:
        return options.reasoning_effort != "none"
    if options.thinking_budget is not None:
        return options.thinking_budget > 0
    return default


def choice_of(choice: str | None, tools: Sequence[ToolSchema], thinking: bool | None) -> str | None:
    """Return which tool can be asked for: `auto`, `none`, a name, or None.

    1. The server knows no `required`: where there is one tool only, it is that; else the model decides.
    2. A model that thinks cannot be forced: the server refuses it, so the model decides.
    """
    if choice is None or choice in ("auto", "none"):
        return choice
    if choice == "required" and len(tools) == 1:
        choice = tools[0].name
    return "auto" if choice == "required" or thinking else choice


def build_request(
    model: str,
    turns: Sequence[Turn],
    tools: Sequence[ToolSchema],
    options: GenerateOptions,
    *,
    multimodal: bool = False,
    incremental_output: bool = True,
    enable_thinking: bool | None = None,
    enable_search: bool | None = None,
) -> Json:
    """Return the request's body.

    Args:
        model: the model's name.
        turns: the conversation.
        tools: the tools that the model may call.
        options: how it is to answer; objects in `extra_body` under `input` and `parameters` are merged into
            those of the body.
        multimodal: whether it goes to the multimodal endpoint.
        incremental_output: whether frames are to bring only what is new.
        enable_thinking: whether the model is to think, if `options` do not say.
        enable_search: whether it may search the web.
    """
    thinking = thinks(options, enable_thinking)
    parameters: Json = {"result_format": "message", "incremental_output": incremental_output}
    for name in _SAME:
        parameters[name] = getattr(options, name)
    parameters["stop"] = list(options.stop) or None
    parameters["response_format"] = response_format(options.response_format)
    parameters["enable_thinking"] = thinking
    if thinking:
        parameters["thinking_budget"] = options.thinking_budget
        parameters["reasoning_effort"] = options.reasoning_effort
    parameters["enable_search"] = enable_search
    if tools:
        parameters["tools"] = [_tool(tool) for tool in tools]
        parameters["tool_choice"] = _tool_choice(choice_of(options.tool_choice, tools, thinking))
        parameters["parallel_tool_calls"] = options.parallel_tool_calls
    if options.cache_control:
        turns = kept(turns)
    body: Json = {
        "model": model,
        "input": {"messages": build_messages(turns, multimodal=multimodal)},
        "parameters": parameters,
    }
    for key, value in options.extra_body.items():
        inner = key in ("input", "parameters") and isinstance(value, Mapping)
        body[key] = {**body[key], **value} if inner else value
    if isinstance(body["parameters"], Mapping):
        body["parameters"] = _without_none(cast("Mapping[str, Any]", body["parameters"]))
    return _without_none(body)


def _tool(tool: ToolSchema) -> Json:
    function: Json = {"name": tool.name, "description": tool.description}
    function["parameters"] = dict(tool.parameters) or {"type": "object", "properties": {}}
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _tool_choice(choice: str | None) -> Json | str | None:
    if choice is None or choice in ("auto", "none"):
        return choice
    return {"type": "function", "function": {"name": choice}}


def _without_none(entries: Mapping[str, Any]) -> Json:
    return {key: value for key, value in entries.items() if value is not None}


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def build_messages(turns: Iterable[Turn], *, multimodal: bool = False) -> list[Json]:
    """Return the conversation as the API has it."""
    messages: list[Json] = []
    for turn in turns:
        new = _messages(turn, multimodal)
        if turn.cached:
            new[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        for message in new:
            message["content"] = _plain(message["content"], multimodal)
        messages += new
    return messages


def _plain(content: list[Json], multimodal: bool) -> str | list[Json]:
    """The content as it is sent; for text, a text, unless a part has more to say."""
    if multimodal or "cache_control" in content[-1]:
        return content
    return "\n".join(part["text"] for part in content)


def _messages(turn: Turn, multimodal: bool) -> list[Json]:
    match turn:
        case SystemTurn():
            return [{"role": "system", "content": [{"text": turn.text}]}]
        case UserTurn():
            return [{"role": "user", "content": [_part(part, multimodal) for part in turn.named_parts]}]
        case AssistantTurn():
            return _round(turn, multimodal)


def _round(turn: AssistantTurn, multimodal: bool) -> list[Json]:
    """The assistant's message, a message for each result, and one for the media in them."""
    said = [part for part in turn.parts if isinstance(part, TextBlock | Media)]
    texts = [part.text if isinstance(part, TextBlock) else part.mention for part in said]
    message: Json = {
        "role": "assistant",
        "content": [{"text": text} for text in texts if text] or [{"text": ""}],
        **_thinking([part for part in turn.parts if isinstance(part, ThinkingBlock)]),
    }
    if turn.results:
        message["tool_calls"] = [_call(call) for call in turn.calls]
    results: list[Json] = [
        {
            "role": "tool",
            "tool_call_id": result.call.id,
            "name": result.call.name,
            "content": [{"text": result.text}],
        }
        for result in turn.results
    ]
    media: list[Json] = []
    for result in turn.results:
        shown = [_part(part, multimodal) for part in result.media if multimodal and part.kind in _KINDS]
        if shown:
            media += [{"text": f"Media in the result of {result.call.name} ({result.call.id}):"}, *shown]
    return [message, *results, *([{"role": "user", "content": media}] if media else [])]


def _thinking(blocks: Sequence[ThinkingBlock]) -> Json:
    thinking = "".join(block.thinking for block in blocks)
    signature = next(
        filter(None, ((block.metadata or {}).get(SIGNATURE) for block in reversed(blocks))), None
    )
    return _without_none({"reasoning_content": thinking or None, SIGNATURE: signature})


def _call(call: ToolUseBlock) -> Json:
    function = {"name": call.name, "arguments": arguments_text(call)}
    return {"id": call.id, "type": "function", "function": function}


def _part(part: TextBlock | Media, multimodal: bool) -> Json:
    if isinstance(part, TextBlock):
        return {"text": part.text}
    if multimodal and part.kind in _KINDS:
        return {part.kind: part.address, **part.hints}
    return {"text": part.mention}
