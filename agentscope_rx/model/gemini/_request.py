"""Messages, tools and options as the body of a `generateContent` request: pure.

The turns are those of `history`. A content is the user's or the model's; the user's has the results of the
calls in the model's content before it. What Gemini signed goes back as it came, part by part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

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
)
from agentscope_rx.model._response import GenerateOptions, ToolSchema
from agentscope_rx.model.gemini._schema import gemini_schema
from agentscope_rx.model.gemini._signed import COVERS, PART, SIGNATURE

__all__ = ["build_contents", "build_request", "is_older"]

Json: TypeAlias = dict[str, Any]

_OLDER: Final = re.compile(r"(^|/)(gemini-[12](\.|-|$)|gemma-|learnlm)")

_UNSIGNED: Final = "skip_thought_signature_validator"
"""What the API takes for the signature of a call that another model made."""

_IN_RESULTS: Final = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"})
_SCHEMES: Final = ("https://", "http://", "gs://")

_SAME: Final = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
    "seed": "seed",
}
_MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_BUDGETS: Final = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576, "xhigh": 24576}
_LEVELS: Final = {"none": "MINIMAL"}


def is_older(model: str) -> bool:
    """Return whether a model is from before Gemini 3.

    Those think by budgets and not by levels, take no media in results and no JSON schema for an answer beside
    tools, and do not check signatures.
    """
    return _OLDER.search(model) is not None


def build_request(
    model: str, messages: Sequence[Msg], tools: Sequence[ToolSchema], options: GenerateOptions
) -> Json:
    """Return the request's body; the model's name decides between words that only some models know.

    `extra_body` is merged into it, object by object; tools come on top of those that are there.
    """
    turns = history(messages)
    body: Json = {"contents": build_contents(turns, older=is_older(model))}
    if system := [{"text": turn.text} for turn in turns if isinstance(turn, SystemTurn)]:
        body["systemInstruction"] = {"parts": system}
    if tools:
        body["tools"] = [{"functionDeclarations": [_declaration(tool) for tool in tools]}]
        if calling := _calling(options.tool_choice, tools):
            body["toolConfig"] = {"functionCallingConfig": calling}
    if config := _config(options, older=is_older(model)):
        body["generationConfig"] = config
    extra = dict(options.extra_body)
    if "tools" in body and isinstance(extra.get("tools"), list):
        extra["tools"] = [*body["tools"], *extra["tools"]]
    return _merged(body, extra)


def _merged(body: Mapping[str, Any], extra: Mapping[str, Any]) -> Json:
    result = dict(body)
    for key, value in extra.items():
        known = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(known, Mapping):
            result[key] = _merged(cast("Json", known), cast("Json", value))
        else:
            result[key] = value
    return result


def _declaration(tool: ToolSchema) -> Json:
    declaration: Json = {"name": tool.name}
    if tool.description:
        declaration["description"] = tool.description
    if _takes_something(tool.parameters):
        declaration["parametersJsonSchema"] = gemini_schema(tool.parameters)
    return declaration


def _takes_something(schema: Mapping[str, Any]) -> bool:
    """Whether there may be arguments; a schema of none is refused by some servers, and may be left out."""
    more = {"$ref", "allOf", "anyOf", "oneOf", "patternProperties"} & schema.keys()
    return bool(more or schema.get("properties") or schema.get("additionalProperties"))


def _calling(choice: str | None, tools: Sequence[ToolSchema]) -> Json | None:
    if choice is None or choice == "auto":
        strict = any(tool.strict for tool in tools)
        return {"mode": "VALIDATED"} if strict else {"mode": "AUTO"} if choice else None
    mode = _MODES.get(choice)
    return {"mode": mode} if mode else {"mode": "ANY", "allowedFunctionNames": [choice]}


def _config(options: GenerateOptions, *, older: bool) -> Json:
    config: Json = {}
    for name, theirs in _SAME.items():
        if (value := getattr(options, name)) is not None:
            config[theirs] = value
    if options.stop:
        config["stopSequences"] = list(options.stop)
    if thinking := _thinking(options, older=older):
        config["thinkingConfig"] = thinking
    return config | _format(options.response_format)


def _thinking(options: GenerateOptions, *, older: bool) -> Json | None:
    """How much the model may think; if anybody asks for it, the thoughts are shown."""
    effort, budget = options.reasoning_effort, options.thinking_budget
    if budget is None and effort is not None and older:
        budget = _BUDGETS.get(effort, -1)
    if budget is not None:
        return {"thinkingBudget": budget} | ({"includeThoughts": True} if budget else {})
    if effort is None:
        return None
    level = {"thinkingLevel": _LEVELS.get(effort, effort.upper())}
    return level if effort == "none" else {**level, "includeThoughts": True}


def _format(wanted: Mapping[str, Any] | None) -> Json:
    """The form of the answer; `wanted` is a JSON schema, or one of OpenAI's three forms."""
    match wanted:
        case None | {"type": "text"}:
            return {}
        case {"type": "json_object"}:
            return {"responseMimeType": "application/json"}
        case {"type": "json_schema", "json_schema": {"schema": schema}}:
            wanted = cast("Mapping[str, Any]", schema)
        case _:
            pass
    return {"responseMimeType": "application/json", "responseJsonSchema": gemini_schema(wanted)}


def build_contents(turns: Sequence[Turn], *, older: bool = False) -> list[Json]:
    """Return the conversation as the API has it; it begins with the user, and the model speaks once in a row.

    `older` models take no media inside results: they stand beside them.
    """
    contents: list[Json] = []
    for turn in turns:
        for role, parts in _contents(turn, older=older):
            if role == "model" and contents and contents[-1]["role"] == role:
                contents[-1]["parts"] += parts
            else:
                contents.append({"role": role, "parts": parts})
    if not contents or contents[0]["role"] == "model":
        contents.insert(0, {"role": "user", "parts": [{"text": ""}]})
    if not older:
        for content in contents:
            _sign_first_call(content["parts"])
    return contents


def _sign_first_call(parts: list[Json]) -> None:
    """Newer models refuse a round whose first call has no signature, as have those of other models."""
    call = next((part for part in parts if "functionCall" in part), None)
    if call is not None:
        call.setdefault(SIGNATURE, _UNSIGNED)


def _contents(turn: Turn, *, older: bool) -> Iterator[tuple[str, list[Json]]]:
    match turn:
        case SystemTurn():
            pass
        case UserTurn():
            yield "user", list(map(_part, turn.named_parts))
        case AssistantTurn():
            yield "model", [part for said in turn.parts for part in _said(said)]
            if turn.results:
                answers = [_answer(result, older=older) for result in turn.results]
                yield (
                    "user",
                    [*(answer for answer, _ in answers), *(part for _, more in answers for part in more)],
                )


def _part(part: TextBlock | Media) -> Json:
    if isinstance(part, TextBlock):
        return {"text": part.text}
    pace = {"videoMetadata": {"fps": part.hints["fps"]}} if "fps" in part.hints else {}
    if part.data:
        return {"inlineData": {"mimeType": part.media_type, "data": part.data}, **pace}
    if not part.url.startswith(_SCHEMES):
        return {"text": part.mention}
    known = {} if part.subtype == "*" else {"mimeType": part.media_type}
    return {"fileData": {"fileUri": part.url, **known}, **pace}


def _said(part: ThinkingBlock | TextBlock | Media | ToolUseBlock) -> Iterator[Json]:
    """What the model said, in the parts in which it came."""
    metadata = part.metadata or {}
    signature = metadata.get(SIGNATURE)
    signed: Json = {SIGNATURE: signature} if isinstance(signature, str) else {}
    match part:
        case ToolUseBlock():
            yield {"functionCall": {"id": part.id, "name": part.name, "args": arguments_of(part)}, **signed}
        case TextBlock():
            yield from _pieces(part.text, metadata, {}, signed)
        case ThinkingBlock():
            yield from _pieces(part.thinking, metadata, {"thought": True}, signed)
        case Media():
            yield {**_part(part), **({"thought": True} if metadata.get("thought") is True else {}), **signed}


def _pieces(text: str, metadata: Mapping[str, Any], kind: Json, signed: Json) -> Iterator[Json]:
    """Text as it came: what has no signature; then the part that has one, or that is no text at all."""
    whole, covers = metadata.get(PART), metadata.get(COVERS)
    last: Json | None = dict(cast("Json", whole)) if isinstance(whole, Mapping) else None
    if last is None and signed:
        covered = covers if isinstance(covers, int) and 0 <= covers <= len(text) else len(text)
        last = {"text": text[len(text) - covered :], **kind, **signed}
        text = text[: len(text) - covered]
    if text:
        yield {"text": text, **kind}
    if last is not None:
        yield last


def _answer(result: Result, *, older: bool) -> tuple[Json, list[Json]]:
    """A result, and the media that cannot be in it, which then stand behind all results."""
    inside = (
        [] if older else [media for media in result.media if media.data and media.media_type in _IN_RESULTS]
    )
    beside = [media for media in result.media if media not in inside]
    answer: Json = {"id": result.call.id, "name": result.call.name}
    answer["response"] = {"error" if result.is_error else "output": result.text}
    if inside:
        answer["parts"] = [_part(media) for media in inside]
    if not beside:
        return {"functionResponse": answer}, []
    words = f"Media in the result of {result.call.name} ({result.call.id}):"
    return {"functionResponse": answer}, [{"text": words}, *map(_part, beside)]
