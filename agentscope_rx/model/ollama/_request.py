"""Messages, tools and options as a request for Ollama's `/api/chat`: pure.

A message's content is one text, with images in base64 beside it. A round is one assistant message with its
tool calls and, right behind it, a message for each result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeGuard, cast

from agentscope_rx.message import Msg, TextBlock, ThinkingBlock, ToolUseBlock
from agentscope_rx.model._history import (
    AssistantTurn,
    Media,
    Result,
    SystemTurn,
    Turn,
    UserTurn,
    arguments_of,
    as_text,
    history,
)
from agentscope_rx.model._response import GenerateOptions, ToolSchema

__all__ = ["build_messages", "build_request"]

Json: TypeAlias = dict[str, Any]

_OPTIONS: Final = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "max_tokens": "num_predict",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "seed": "seed",
}
"""Names of the model's options, by ours."""


def build_request(
    model: str,
    messages: Sequence[Msg],
    tools: Sequence[ToolSchema],
    options: GenerateOptions,
    *,
    num_ctx: int | None = None,
    think: bool | str | None = None,
    keep_alive: float | str | None = None,
) -> Json:
    """Return the request's body.

    Args:
        model: the model's name.
        messages: the conversation.
        tools: the tools that the model may call. The server cannot be told which to call: of a choice, it
            gets those that may be chosen.
        options: how it is to answer; the object in `extra_body` under `options` is merged into that of the
            body.
        num_ctx: tokens that the conversation, with what is to be answered, may have.
        think: whether the model is to think, or how much, if `options` do not say.
        keep_alive: how long the model stays loaded.
    """
    inner: Json = {"num_ctx": num_ctx}
    inner |= {theirs: getattr(options, ours) for ours, theirs in _OPTIONS.items()}
    inner["stop"] = list(options.stop) or None
    offered = _choice(options.tool_choice, tools)
    body: Json = {
        "model": model,
        "messages": build_messages(messages),
        "stream": True,
        "tools": [_tool(tool) for tool in offered],
        "format": _format(options.response_format),
        "think": _think(options, think),
        "keep_alive": keep_alive,
        "options": inner,
    }
    for key, value in options.extra_body.items():
        merged = key == "options" and isinstance(value, Mapping)
        body[key] = {**inner, **cast("Mapping[str, Any]", value)} if merged else value
    if isinstance(body["options"], Mapping):
        body["options"] = _without_none(cast("Mapping[str, Any]", body["options"])) or None
    body["tools"] = body["tools"] or None
    return _without_none(body)


def _without_none(entries: Mapping[str, Any]) -> Json:
    return {key: value for key, value in entries.items() if value is not None}


def _choice(choice: str | None, tools: Sequence[ToolSchema]) -> Sequence[ToolSchema]:
    if choice == "none":
        return ()
    return [tool for tool in tools if tool.name == choice] or tools


def _tool(tool: ToolSchema) -> Json:
    function: Json = {"name": tool.name, "description": tool.description}
    function["parameters"] = dict(tool.parameters) or {"type": "object", "properties": {}}
    return {"type": "function", "function": function}


def _format(wanted: Mapping[str, Any] | None) -> Json | str | None:
    """A JSON schema, or `json`; also from a `response_format` as OpenAI has it."""
    match None if wanted is None else wanted.get("type"):
        case "json_object":
            return "json"
        case "text":
            return None
        case "json_schema" if wanted is not None:
            return dict(wanted.get("json_schema", {}).get("schema", {})) or "json"
        case _:
            return None if wanted is None else dict(wanted)


def _think(options: GenerateOptions, default: bool | str | None) -> bool | str | None:
    if options.reasoning_effort is not None:
        return False if options.reasoning_effort == "none" else options.reasoning_effort
    return default if options.thinking_budget is None else options.thinking_budget > 0


def build_messages(messages: Iterable[Msg]) -> list[Json]:
    """Return the conversation as the API has it."""
    return [json for turn in history(messages) for json in _messages(turn)]


def _messages(turn: Turn) -> list[Json]:
    match turn:
        case SystemTurn():
            return [{"role": "system", "content": turn.text}]
        case UserTurn():
            return [_user(turn.named_parts)]
        case AssistantTurn():
            return _round(turn)


def _user(parts: Sequence[TextBlock | Media]) -> Json:
    shown = [part for part in parts if _is_image(part)]
    message: Json = {"role": "user", "content": as_text(part for part in parts if not _is_image(part))}
    return {**message, "images": [image.data for image in shown]} if shown else message


def _is_image(part: TextBlock | Media) -> TypeGuard[Media]:
    """Whether the server takes it beside the text: it loads nothing from an address."""
    return isinstance(part, Media) and part.kind == "image" and bool(part.data)


def _round(turn: AssistantTurn) -> list[Json]:
    """The assistant's message, a message for each result, and one for the images in them."""
    said = [part for part in turn.parts if isinstance(part, TextBlock | Media)]
    message: Json = {"role": "assistant", "content": as_text(said)}
    if thinking := "".join(part.thinking for part in turn.parts if isinstance(part, ThinkingBlock)):
        message["thinking"] = thinking
    if turn.results:
        message["tool_calls"] = [_call(call) for call in turn.calls]
    results: list[Json] = [
        {
            "role": "tool",
            "content": result.text,
            "tool_name": result.call.name,
            "tool_call_id": result.call.id,
        }
        for result in turn.results
    ]
    images = [part for result in turn.results for part in _result_images(result)]
    return [message, *results, *([_user(images)] if images else [])]


def _call(call: ToolUseBlock) -> Json:
    return {"id": call.id, "function": {"name": call.name, "arguments": arguments_of(call)}}


def _result_images(result: Result) -> list[TextBlock | Media]:
    """Images in a result: templates have no place for them there, so a user message carries them."""
    images = [media for media in result.media if _is_image(media)]
    words = TextBlock(f"Images in the result of {result.call.name} ({result.call.id}):")
    return [words, *images] if images else []
