"""Messages, tools and options as the body of a Messages request: pure.

The turns are those of `history`. A round is an assistant's message and a user's message that begins with its
results; neighbours of the same role are one message, as servers want them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from agentscope_rx._json import dumps
from agentscope_rx.message import Msg, TextBlock, ThinkingBlock, ToolUseBlock
from agentscope_rx.model._history import (
    AssistantTurn,
    Media,
    Result,
    SystemTurn,
    Turn,
    UserTurn,
    arguments_of,
    history,
    signature_of,
)
from agentscope_rx.model._response import GenerateOptions, ToolSchema
from agentscope_rx.model._strict import Dialect, strict_schema
from agentscope_rx.model.anthropic._kept import CALL_MEMBERS, REDACTED, SERVER_BLOCK
from agentscope_rx.model.anthropic._models import Known, known

__all__ = ["SAMPLING", "build_request"]

Json: TypeAlias = dict[str, Any]

SAMPLING: Final = ("temperature", "top_p", "top_k")

_MARK: Final = {"type": "ephemeral"}
_MOST_MARKS: Final = 4
_UNMARKED: Final = frozenset({"thinking", "redacted_thinking"})

_ANSWER_ROOM: Final = 8192
"""Tokens for the answer behind the thinking, where nobody set a limit for both."""

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_TEXTS: Final = re.compile(r"text/.*|application/(json|xml|yaml|x-yaml|toml|sql|javascript|.*\+(json|xml))")
_NO_ID: Final = re.compile(r"[^a-zA-Z0-9_-]")

_DIALECT: Final = Dialect(
    frozenset({
        "pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems",
        "maxItems",
    }),
    optional=True,
    recursive=False,
)  # fmt: skip
_IN_WORDS: Final = "Answer with nothing but JSON that fits this schema: "


def build_request(
    model: str,
    messages: Sequence[Msg],
    tools: Sequence[ToolSchema],
    options: GenerateOptions,
    *,
    native_schema: bool = True,
) -> Json:
    """Return the request's body.

    Args:
        model: the model's name.
        messages: the conversation.
        tools: the tools that the model may call.
        options: how it is to answer.
        native_schema: whether the model can be held to a `response_format`; else it is asked for in words.
    """
    facts = known(model)
    schema = _schema(options.response_format)
    strict = strict_schema(schema, _DIALECT) if schema is not None and native_schema else None
    turns = history(messages)
    system: list[Json] = [_text(turn.text, turn.cached) for turn in turns if isinstance(turn, SystemTurn)]
    if schema is not None and strict is None:
        system.append(_text(_IN_WORDS + dumps(schema).decode()))
    offered = [_tool(tool) for tool in tools]
    conversation = _Conversation()
    for turn in turns:
        conversation.add(turn)
    written = conversation.written()
    if options.cache_control:
        _mark(system or offered)
        _mark([block for message in written[-1:] for block in message["content"]])
    _drop_marks([*offered, *system, *(block for message in written for block in message["content"])])

    body: Json = {"model": model, "max_tokens": _max_tokens(facts, options)}
    body["system"] = _brief(system) or None
    body["messages"] = [{**message, "content": _brief(message["content"])} for message in written]
    body["stream"] = True
    for name in SAMPLING:
        body[name] = getattr(options, name)
    body["stop_sequences"] = list(options.stop) or None
    body["thinking"] = _thinking(facts, options)
    body["output_config"] = _output(options, strict)
    if offered:
        body["tools"] = offered
        body["tool_choice"] = _tool_choice(options)
    return {key: value for key, value in {**body, **options.extra_body}.items() if value is not None}


def _max_tokens(facts: Known, options: GenerateOptions) -> int:
    """The limit, which the API wants to have; it holds for thinking and answer together."""
    if options.max_tokens is not None:
        return options.max_tokens
    budget = options.thinking_budget or 0
    return facts.max_tokens if budget < facts.max_tokens else budget + _ANSWER_ROOM


def _thinking(facts: Known, options: GenerateOptions) -> Json | None:
    budget = options.thinking_budget
    if budget is None:
        adapts = options.reasoning_effort is not None and facts.adaptive
        return {"type": "adaptive", "display": "summarized"} if adapts else None
    if budget <= 0:
        return {"type": "disabled"}
    if facts.budget:
        return {"type": "enabled", "budget_tokens": budget}
    return {"type": "adaptive", "display": "summarized"}


def _output(options: GenerateOptions, schema: Json | None) -> Json | None:
    config: Json = {}
    if options.reasoning_effort is not None:
        config["effort"] = options.reasoning_effort
    if schema is not None:
        config["format"] = {"type": "json_schema", "schema": schema}
    return config or None


def _schema(wanted: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The schema in a `response_format`, which may have OpenAI's form."""
    match wanted:
        case None | {"type": "text"}:
            return None
        case {"type": "json_object"}:
            return {"type": "object"}
        case {"type": "json_schema", "json_schema": {"schema": schema}}:
            return cast("Mapping[str, Any]", schema)
        case _:
            return wanted


def _tool(tool: ToolSchema) -> Json:
    written: Json = {"name": tool.name}
    if tool.description:
        written["description"] = tool.description
    strict = strict_schema(tool.parameters, _DIALECT) if tool.strict else None
    schema = dict(tool.parameters) or {"properties": {}}
    written["input_schema"] = {"type": "object", **schema} if strict is None else strict
    if strict is not None:
        written["strict"] = True
    return written


def _tool_choice(options: GenerateOptions) -> Json | None:
    choice: Json | None
    match options.tool_choice:
        case None:
            choice = None
        case "auto" | "none" as kind:
            choice = {"type": kind}
        case "required":
            choice = {"type": "any"}
        case name:
            choice = {"type": "tool", "name": name}
    if options.parallel_tool_calls is False and choice != {"type": "none"}:
        return {**(choice or {"type": "auto"}), "disable_parallel_tool_use": True}
    return choice


def _text(text: str, marked: bool = False) -> Json:
    block: Json = {"type": "text", "text": text}
    return {**block, "cache_control": _MARK} if marked else block


def _brief(blocks: list[Json]) -> list[Json] | str:
    """A lone text is written as it is."""
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} else blocks


def _mark(blocks: Sequence[Json]) -> None:
    """Mark the last block that takes a mark."""
    for block in reversed(blocks):
        if block.get("type") not in _UNMARKED:
            block["cache_control"] = _MARK
            return


def _drop_marks(blocks: Sequence[Json]) -> None:
    """Take away the first marks, if there are more than the API takes: a later one covers them."""
    marked = [block for block in blocks if "cache_control" in block]
    for block in marked[:-_MOST_MARKS]:
        del block["cache_control"]


class _Conversation:
    """Messages as the API has them, while they are written."""

    def __init__(self) -> None:
        self._messages: list[Json] = []
        self._ids: set[str] = set()

    def add(self, turn: Turn) -> None:
        """Write a turn."""
        match turn:
            case SystemTurn():
                return
            case UserTurn():
                self._say("user", [_content(part) for part in turn.named_parts if _shows(part)])
            case AssistantTurn():
                self._round(turn)
        if turn.cached and self._messages:
            _mark(self._messages[-1]["content"])

    def written(self) -> list[Json]:
        """Return the messages; the last text of an assistant that is to go on ends without blanks."""
        if self._messages and self._messages[-1]["role"] == "assistant":
            last = self._messages[-1]["content"][-1]
            if last["type"] == "text":
                last["text"] = last["text"].rstrip()
        return self._messages

    def _say(self, role: str, blocks: list[Json]) -> None:
        if self._messages and self._messages[-1]["role"] == role:
            self._messages[-1]["content"] += blocks
        elif blocks:
            self._messages.append({"role": role, "content": blocks})

    def _round(self, turn: AssistantTurn) -> None:
        ids = [self._id(call.id) for call in turn.calls]
        left = iter(ids)
        said = [
            _call(part, next(left)) if isinstance(part, ToolUseBlock) else _said(part) for part in turn.parts
        ]
        self._say("assistant", [block for block in said if block is not None])
        self._say("user", [_result(result, id) for result, id in zip(turn.results, ids, strict=True)])

    def _id(self, call_id: str) -> str:
        """An id that the API takes for a call; those of other providers may not be, or come twice."""
        wanted = _NO_ID.sub("_", call_id) or "call"
        name, number = wanted, 1
        while name in self._ids:
            number += 1
            name = f"{wanted}-{number}"
        self._ids.add(name)
        return name


def _said(part: ThinkingBlock | TextBlock | Media) -> Json | None:
    """What an assistant has said; None for what the API would not take back."""
    match part:
        case ThinkingBlock():
            return _thought(part)
        case TextBlock():
            return _text(part.text) if _shows(part) else None
        case Media():
            return _text(part.mention)


def _thought(block: ThinkingBlock) -> Json | None:
    """Thinking, as the API gave it; that of other providers cannot be given to it."""
    kept = block.metadata or {}
    if (server_block := kept.get(SERVER_BLOCK)) is not None:
        return dict(server_block)
    if (data := kept.get(REDACTED)) is not None:
        return {"type": "redacted_thinking", "data": data}
    if (signature := signature_of(block)) is not None:
        return {"type": "thinking", "thinking": block.thinking, "signature": signature}
    return None


def _call(call: ToolUseBlock, id: str) -> Json:
    members = {key: call.metadata[key] for key in CALL_MEMBERS if key in call.metadata}
    return {"type": "tool_use", "id": id, "name": call.name, "input": arguments_of(call), **members}


def _result(result: Result, id: str) -> Json:
    block: Json = {"type": "tool_result", "tool_use_id": id}
    if result.is_error:  # the API takes only text there
        block |= {"content": result.text, "is_error": True}
    elif content := [_content(part) for part in result.parts if _shows(part)]:
        block["content"] = _brief(_joined(content))
    return block


def _joined(blocks: list[Json]) -> list[Json]:
    """Texts alone are one text."""
    if any(block["type"] != "text" for block in blocks):
        return blocks
    return [_text("\n".join(block["text"] for block in blocks))]


def _shows(part: TextBlock | Media) -> bool:
    """Whether the API takes a part: text must not be blank."""
    return isinstance(part, Media) or not part.text.isspace()


def _content(part: TextBlock | Media) -> Json:
    if isinstance(part, TextBlock):
        return _text(part.text)
    source = _source(part)
    if source is None:
        return _text(part.mention)
    if part.kind == "image":
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, **({"title": part.name} if part.name else {})}


def _source(media: Media) -> Json | None:
    """Where the API finds an image, a PDF or a text; None for what it does not take."""
    kind = media.media_type.lower().replace("image/jpg", "image/jpeg")
    is_image, is_pdf = media.kind == "image", kind == "application/pdf"
    if media.url:
        return {"type": "url", "url": media.url} if is_image or is_pdf else None
    if (is_image and kind in _IMAGES) or is_pdf:
        return {"type": "base64", "media_type": kind, "data": media.data}
    if media.kind == "file" and _TEXTS.fullmatch(kind):
        try:
            text = base64.b64decode("".join(media.data.split()), validate=True).decode()
        except ValueError:
            return None
        return {"type": "text", "media_type": "text/plain", "data": text} if text.strip() else None
    return None
