"""Messages, tools and options as the body of a chat completions request: pure.

A reply's message holds all its rounds: it becomes one assistant message for each, with its tool calls and,
right behind it, their results, wherever in the history those stand. Calls that have no result are not
sent, since servers refuse them.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from agentscope_rx._json import dumps, loads_object
from agentscope_rx.message import (
    AudioBlock,
    Base64Source,
    ContentBlock,
    DataBlock,
    HintBlock,
    ImageBlock,
    Msg,
    MsgRole,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    VideoBlock,
)
from agentscope_rx.model._response import GenerateOptions, ToolSchema
from agentscope_rx.model.openai._strict import strict_schema

__all__ = ["build_messages", "build_request"]

Json: TypeAlias = dict[str, Any]

_FORMATS: Final = frozenset({"text", "json_object", "json_schema"})
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
) -> Json:
    """Return the request's body.

    Args:
        model: the model's name.
        messages: the conversation.
        tools: the tools that the model may call.
        options: how it is to answer.
        max_tokens_key: what the server calls the limit.
        reasoning_key: the key in assistant messages under which thinking goes back; None for not at all.
    """
    body: Json = {"model": model, "messages": build_messages(messages, reasoning_key=reasoning_key)}
    body["stream"] = True
    body["stream_options"] = {"include_usage": True}
    for name in _SAME:
        body[name] = getattr(options, name)
    body[max_tokens_key] = options.max_tokens
    body["stop"] = list(options.stop) or None
    body["response_format"] = _response_format(options)
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


def _response_format(options: GenerateOptions) -> Json | None:
    wanted = options.response_format
    if wanted is None or wanted.get("type") in _FORMATS:
        return None if wanted is None else dict(wanted)
    title = re.sub(r"[^a-zA-Z0-9_-]", "_", str(wanted.get("title") or "response"))[:64]
    strict = strict_schema(wanted)
    schema = dict(wanted) if strict is None else strict
    return {
        "type": "json_schema",
        "json_schema": {"name": title, "schema": schema, "strict": strict is not None},
    }


def build_messages(messages: Sequence[Msg], *, reasoning_key: str | None = None) -> list[Json]:
    """Return the conversation as the API has it."""
    turns: list[Json | _Round] = []
    for message in messages:
        match message.role:
            case MsgRole.SYSTEM:
                turns.append({"role": "system", "content": message.text_content})
            case MsgRole.USER | None:
                turns.extend(_user(message.content, message.name))
            case MsgRole.ASSISTANT | MsgRole.TOOL:
                _add_rounds(message.content, turns)
    rendered = (turn.render(reasoning_key) if isinstance(turn, _Round) else [turn] for turn in turns)
    return [json for turn in rendered for json in turn]


class _Round:
    """What the assistant says in one model call, and the results of the tools that it calls there."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.thinking: list[str] = []
        self.calls: list[ToolUseBlock] = []
        self.results: dict[int, ToolResultBlock] = {}

    def answer(self, result: ToolResultBlock) -> bool:
        """Take a result; return whether one of the calls has its id."""
        asked = [number for number, call in enumerate(self.calls) if call.id == result.id]
        waiting = next((number for number in asked if number not in self.results), None)
        if waiting is not None:
            self.results[waiting] = result
        return bool(asked)

    def render(self, reasoning_key: str | None) -> list[Json]:
        """Return the assistant's message, a message for each result, and one for the media in them."""
        answered = [(self.calls[number], self.results[number]) for number in sorted(self.results)]
        if not answered and not self.text:
            return []
        message: Json = {"role": "assistant", "content": "\n".join(self.text) if self.text else None}
        if reasoning_key is not None and self.thinking:
            message[reasoning_key] = "".join(self.thinking)
        if answered:
            message["tool_calls"] = [_call(call) for call, _ in answered]
        results = [
            {"role": "tool", "tool_call_id": call.id, "content": _result(result)} for call, result in answered
        ]
        media = [part for call, result in answered for part in _result_media(call, result)]
        return [message, *results, *([{"role": "user", "content": media}] if media else [])]


def _add_rounds(blocks: Iterable[ContentBlock], turns: list[Json | _Round]) -> None:
    """Add an assistant's blocks: what comes after results is a new round."""
    current: _Round | None = None
    for block in blocks:
        if isinstance(block, ToolResultBlock):
            _answer(block, turns)
        elif isinstance(block, HintBlock):
            turns.append({"role": "user", "content": block.hint})
            current = None
        else:
            if current is None or current.results:
                current = _Round()
                turns.append(current)
            match block:
                case TextBlock():
                    current.text.append(block.text)
                case ThinkingBlock():
                    current.thinking.append(block.thinking)
                case ToolUseBlock():
                    current.calls.append(block)
                case _:
                    current.text.extend(_mentions([block]))


def _answer(result: ToolResultBlock, turns: Sequence[Json | _Round]) -> None:
    """Give a result to the newest call of its id; one that nobody asked for is not sent."""
    if result.is_suspended or (result.state is ToolResultState.RUNNING and not result.output):
        return
    for turn in reversed(turns):
        if isinstance(turn, _Round) and turn.answer(result):
            return


def _call(call: ToolUseBlock) -> Json:
    text = call.content
    if text is None or not text.strip():
        text = dumps(dict(call.input)).decode()
    elif loads_object(text) is None:
        # Servers parse the arguments of the history, too; the model still sees what it wrote.
        text = dumps({"invalid_json": text}).decode()
    function = {"name": call.name, "arguments": text}
    extra = call.metadata.get("extra_content")
    return {
        "id": call.id,
        "type": "function",
        "function": function,
        **({} if extra is None else {"extra_content": extra}),
    }


def _result(result: ToolResultBlock) -> str:
    texts = _mentions(result.output)
    if not any(texts) and result.state is not ToolResultState.SUCCESS:
        return result.state.value
    return "\n".join(texts)


def _result_media(call: ToolUseBlock, result: ToolResultBlock) -> list[Json]:
    """Media in results: the API takes only text there, so a user message carries them."""
    parts = [_part(media) for media in map(_as_media, result.output) if media is not None]
    if not parts:
        return []
    return [{"type": "text", "text": f"Media in the result of {call.name} ({call.id}):"}, *parts]


def _user(blocks: Sequence[ContentBlock], name: str | None) -> list[Json]:
    parts: list[Json] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            parts.append({"type": "text", "text": block.text})
        elif (media := _as_media(block)) is not None:
            parts.append(_part(media))
    if not parts:
        return []
    lone_text = len(parts) == 1 and parts[0]["type"] == "text"
    message: Json = {"role": "user", "content": parts[0]["text"] if lone_text else parts}
    # Ports name every user "user"; a name that says more tells the speakers of a group apart.
    if name is not None and name != "user" and _PLAIN_NAME.fullmatch(name):
        message["name"] = name
    return [message]


def _mentions(blocks: Iterable[ContentBlock]) -> list[str]:
    """Return the texts, and what stands in for media where only text can be."""
    texts: list[str] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            texts.append(block.text)
        elif (media := _as_media(block)) is not None:
            texts.append(f"[{media.media_type}{'' if media.data else f': {media.address}'}]")
    return texts


class _Media(NamedTuple):
    """A media block, whatever its class."""

    kind: str
    media_type: str
    address: str
    data: str
    name: str | None


def _as_media(block: ContentBlock) -> _Media | None:
    match block:
        case DataBlock():
            kind, name = "", block.name
        case ImageBlock() | AudioBlock() | VideoBlock():
            kind, name = block.type, None
        case _:
            return None
    source = block.source
    if source is None:
        return None
    if isinstance(source, Base64Source):
        media_type, address, data = (
            source.media_type,
            f"data:{source.media_type};base64,{source.data}",
            source.data,
        )
    else:
        guessed = mimetypes.guess_type(source.url)[0] or f"{kind or 'image'}/*"
        media_type, address, data = source.media_type or guessed, source.url, ""
    return _Media(kind or media_type.partition("/")[0], media_type, address, data, name)


def _part(media: _Media) -> Json:
    subtype = media.media_type.partition("/")[2]
    match media.kind:
        case "image" | "video" as kind:
            return {"type": f"{kind}_url", f"{kind}_url": {"url": media.address}}
        case "audio":
            audio = {"data": media.data or media.address, "format": _AUDIO_FORMATS.get(subtype, subtype)}
            return {"type": "input_audio", "input_audio": audio}
        case _:
            file = {"filename": media.name or f"file.{subtype}", "file_data": media.address}
            return {"type": "file", "file": file}
