"""Messages, tools and options as the body of a chat completions request: pure.

The turns are those of `history`; a round is one assistant message with its tool calls and, right behind it,
a message for each result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from agentscope_rx.message import Msg, TextBlock, ThinkingBlock, ToolUseBlock
from agentscope_rx.model._chunks import Json, as_list
from agentscope_rx.model._history import (
    AssistantTurn,
    Media,
    Result,
    SystemTurn,
    Turn,
    UserTurn,
    arguments_text,
    as_text,
    history,
    kept,
)
from agentscope_rx.model._response import GenerateOptions, ToolSchema
from agentscope_rx.model._strict import response_format
from agentscope_rx.model.openai._details import DETAILS, joined

__all__ = ["build_messages", "build_request"]

_PLAIN_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_AUDIO_FORMATS: Final = {"mpeg": "mp3", "mp3": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}
_SAME: Final = (
    "temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty", "seed", "thinking_budget",
    "reasoning_effort",
)  # fmt: skip


def build_request(
    model: str,
    messages: Sequence[Msg],
    tools: Sequence[ToolSchema],
    options: GenerateOptions,
    *,
    max_tokens_key: str = "max_tokens",
    reasoning_key: str | None = None,
    cache_marks: bool = False,
    details: bool = False,
) -> Json:
    """Return the request's body.

    Args:
        model: the model's name.
        messages: the conversation.
        tools: the tools that the model may call.
        options: how it is to answer.
        max_tokens_key: what the server calls the limit.
        reasoning_key: the key in assistant messages under which thinking goes back; None for not at all.
        cache_marks: whether the server wants to be told what to keep for the next call.
        details: whether thinking that came with `reasoning_details` goes back with them.
    """
    turns = history(messages)
    if cache_marks and options.cache_control:
        turns = kept(turns)
    body: Json = {"model": model, "messages": _all_messages(turns, reasoning_key, cache_marks, details)}
    body["stream"] = True
    body["stream_options"] = {"include_usage": True}
    for name in _SAME:
        body[name] = getattr(options, name)
    body[max_tokens_key] = options.max_tokens
    body["stop"] = list(options.stop) or None
    body["response_format"] = response_format(options.response_format)
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
        body["tool_choice"] = _tool_choice(options.tool_choice)
        body["parallel_tool_calls"] = options.parallel_tool_calls
    return {key: value for key, value in {**body, **options.extra_body}.items() if value is not None}


def _tool(tool: ToolSchema) -> Json:
    function: Json = {"name": tool.name, "description": tool.description}
    function["parameters"] = dict(tool.parameters) or {"type": "object", "properties": {}}
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _tool_choice(choice: str | None) -> Json | str | None:
    if choice is None or choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


def build_messages(
    messages: Sequence[Msg],
    *,
    reasoning_key: str | None = None,
    cache_marks: bool = False,
    details: bool = False,
) -> list[Json]:
    """Return the conversation as the API has it."""
    return _all_messages(history(messages), reasoning_key, cache_marks, details)


def _all_messages(
    turns: Iterable[Turn], reasoning_key: str | None, cache_marks: bool, details: bool
) -> list[Json]:
    messages: list[Json] = []
    for turn in turns:
        messages += _messages(turn, reasoning_key, details)
        if turn.cached and cache_marks:
            messages[-1]["content"] = _marked(messages[-1]["content"])
    return messages


def _marked(content: str | list[Json]) -> list[Json]:
    """Content with a mark at its last part, as the servers have it that know marks."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [*parts[:-1], {**parts[-1], "cache_control": {"type": "ephemeral"}}]


def _messages(turn: Turn, reasoning_key: str | None, details: bool) -> list[Json]:
    match turn:
        case SystemTurn():
            return [{"role": "system", "content": turn.text}]
        case UserTurn():
            return [_user(turn)]
        case AssistantTurn():
            return _round(turn, reasoning_key, details)


def _user(turn: UserTurn) -> Json:
    plain = turn.name is not None and _PLAIN_NAME.fullmatch(turn.name)
    parts = [_part(part) for part in (turn.parts if plain else turn.named_parts)]
    lone_text = len(parts) == 1 and parts[0]["type"] == "text"
    message: Json = {"role": "user", "content": parts[0]["text"] if lone_text else parts}
    return {**message, "name": turn.name} if plain else message


def _round(turn: AssistantTurn, reasoning_key: str | None, details: bool) -> list[Json]:
    """The assistant's message, a message for each result, and one for the media in them."""
    said = [part for part in turn.parts if isinstance(part, TextBlock | Media)]
    message: Json = {"role": "assistant", "content": as_text(said) if said else None}
    message |= _thinking(turn, reasoning_key, details)
    if turn.results:
        message["tool_calls"] = [_call(call) for call in turn.calls]
    results = [
        {"role": "tool", "tool_call_id": result.call.id, "content": result.text} for result in turn.results
    ]
    media = [part for result in turn.results for part in _result_media(result)]
    return [message, *results, *([{"role": "user", "content": media}] if media else [])]


def _thinking(turn: AssistantTurn, reasoning_key: str | None, details: bool) -> Json:
    thoughts = [part for part in turn.parts if isinstance(part, ThinkingBlock)]
    fragments = [each for part in thoughts for each in as_list((part.metadata or {}).get(DETAILS))]
    if details and fragments:
        return {DETAILS: joined(fragments)}
    thinking = "".join(part.thinking for part in thoughts)
    return {reasoning_key: thinking} if reasoning_key is not None and thinking else {}


def _call(call: ToolUseBlock) -> Json:
    extra = call.metadata.get("extra_content")
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments_text(call)},
        **({} if extra is None else {"extra_content": extra}),
    }


def _result_media(result: Result) -> list[Json]:
    """Media in results: the API takes only text there, so a user message carries them."""
    if not result.media:
        return []
    words = f"Media in the result of {result.call.name} ({result.call.id}):"
    return [{"type": "text", "text": words}, *map(_part, result.media)]


def _part(part: TextBlock | Media) -> Json:
    if isinstance(part, TextBlock):
        return {"type": "text", "text": part.text}
    match part.kind:
        case "image" | "video" as kind:
            return {"type": f"{kind}_url", f"{kind}_url": {"url": part.address}}
        case "audio":
            format = _AUDIO_FORMATS.get(part.subtype, part.subtype)
            return {"type": "input_audio", "input_audio": {"data": part.data or part.url, "format": format}}
        case _:
            file = {"filename": part.name or f"file.{part.subtype}", "file_data": part.address}
            return {"type": "file", "file": file}
