"""Messages, tools and options as the body of a request for a response: pure.

The conversation is a list of items. A round is what the model said, item by item in its order, and behind it
the output of each call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from agentscope_rx.message import Msg, TextBlock, ThinkingBlock, ToolUseBlock
from agentscope_rx.model._chunks import Json, as_object
from agentscope_rx.model._history import (
    AssistantTurn,
    Media,
    Result,
    SystemTurn,
    Turn,
    UserTurn,
    arguments_text,
    history,
)
from agentscope_rx.model._response import GenerateOptions, ToolSchema
from agentscope_rx.model._strict import response_format
from agentscope_rx.model.openai_responses._kept import CALL, PHASE, REASONING, SERVER

__all__ = ["build_input", "build_request", "reasons"]

ENCRYPTED: Final = "reasoning.encrypted_content"
_THINKS: Final = re.compile(r"(^|[/:])(o\d|gpt-([5-9]|\d\d)|codex)(?!.*-chat)")


def reasons(model: str) -> bool:
    """Return whether a model is known to reason by its name: others refuse to be asked for its reasoning."""
    return _THINKS.search(model) is not None


def build_request(
    model: str,
    messages: Sequence[Msg],
    tools: Sequence[ToolSchema],
    options: GenerateOptions,
    *,
    server: str = "",
    store: bool = False,
    encrypted: bool = False,
    summary: str | None = None,
) -> Json:
    """Return the request's body.

    Args:
        model: the model's name.
        messages: the conversation.
        tools: the tools that the model may call.
        options: how it is to answer.
        server: whose reasoning may go back.
        store: whether the server is to keep the answer.
        encrypted: whether reasoning is to come in a form in which it can be given back.
        summary: how reasoning is to be told, as `auto`; None for not at all.
    """
    body: Json = {
        "model": model,
        "input": build_input(messages, server=server),
        "stream": True,
        "store": store,
        "include": [ENCRYPTED] if encrypted else None,
        "reasoning": _without_none({"effort": options.reasoning_effort, "summary": summary}) or None,
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_output_tokens": options.max_tokens,
        "text": _text(options.response_format),
    }
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
        body["tool_choice"] = _tool_choice(options.tool_choice)
        body["parallel_tool_calls"] = options.parallel_tool_calls
    return _without_none({**body, **options.extra_body})


def _without_none(entries: Mapping[str, Any]) -> Json:
    return {key: value for key, value in entries.items() if value is not None}


def _text(wanted: Mapping[str, Any] | None) -> Json | None:
    """A format as chat completions have it, without the level that they have in between."""
    format = response_format(wanted)
    if format is None:
        return None
    inner = as_object(format.pop("json_schema", None))
    return {"format": {**format, **inner}}


def _tool(tool: ToolSchema) -> Json:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters) or {"type": "object", "properties": {}},
        "strict": bool(tool.strict),  # left out, it would make what is optional required
    }


def _tool_choice(choice: str | None) -> Json | str | None:
    if choice is None or choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "name": choice}


def build_input(messages: Sequence[Msg], *, server: str = "") -> list[Json]:
    """Return the conversation as the API has it; reasoning that is not this server's is left out."""
    return [item for turn in history(messages) for item in _items(turn, server)]


def _items(turn: Turn, server: str) -> Iterator[Json]:
    match turn:
        case SystemTurn():
            yield {"role": "system", "content": turn.text}
        case UserTurn():
            yield _user(turn)
        case AssistantTurn():
            yield from _said(turn, server)
            yield from map(_output, turn.results)


def _user(turn: UserTurn) -> Json:
    parts = list(map(_part, turn.named_parts))
    lone_text = len(parts) == 1 and parts[0]["type"] == "input_text"
    return {"role": "user", "content": parts[0]["text"] if lone_text else parts}


def _said(turn: AssistantTurn, server: str) -> Iterator[Json]:
    """What the model said. Reasoning must have behind it what it led to: else the API refuses it."""
    thoughts: list[Json] = []
    for part in turn.parts:
        if isinstance(part, ThinkingBlock):
            thoughts += _thought(part, server)
            continue
        item = _call(part) if isinstance(part, ToolUseBlock) else _message(part)
        if item is not None:
            yield from thoughts
            thoughts.clear()
            yield item


def _thought(block: ThinkingBlock, server: str) -> list[Json]:
    metadata = block.metadata or {}
    item = as_object(metadata.get(REASONING))
    return [item] if item and metadata.get(SERVER) == server else []


def _message(part: TextBlock | Media) -> Json | None:
    text = part.text if isinstance(part, TextBlock) else part.mention
    phase = (part.metadata or {}).get(PHASE) if isinstance(part, TextBlock) else None
    return _without_none({"role": "assistant", "content": text, "phase": phase}) if text else None


def _call(call: ToolUseBlock) -> Json:
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments_text(call),
        **as_object(call.metadata.get(CALL)),
    }


def _output(result: Result) -> Json:
    output = [_part(part) for part in result.parts] if result.media else result.text
    caller = as_object(result.call.metadata.get(CALL)).get("caller")
    return _without_none(
        {"type": "function_call_output", "call_id": result.call.id, "output": output, "caller": caller}
    )


def _part(part: TextBlock | Media) -> Json:
    """Text, an image or a file; of what the API cannot take, the text says what it is."""
    if isinstance(part, TextBlock):
        return {"type": "input_text", "text": part.text}
    match part.kind:
        case "image":
            return {"type": "input_image", "detail": "auto", "image_url": part.address}
        case "file" if part.url:
            return {"type": "input_file", "file_url": part.url}
        case "file":
            name = part.name or f"file.{part.subtype}"
            return {"type": "input_file", "filename": name, "file_data": part.address}
        case _:
            return {"type": "input_text", "text": part.mention}
