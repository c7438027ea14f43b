"""Chunks of a chat completion as `ChatResponse`s: pure.

Generous about form, since many servers speak this format a little differently: whatever is missing, null,
empty or unknown is skipped. Strict about the end: an error object, and an end without a finish, are errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attrs import evolve

from agentscope_rx._frames import Frame
from agentscope_rx._json import dumps
from agentscope_rx.errors import IncompleteStreamError
from agentscope_rx.message import Base64Source, ChatUsage, DataBlock, TextBlock, ThinkingBlock, URLSource
from agentscope_rx.model._chunks import Json, as_int, as_list, as_object, as_str, object_in
from agentscope_rx.model._failure import failed, held_back
from agentscope_rx.model._pieces import pieces, text_part, thinking_part, usage_of
from agentscope_rx.model._response import ChatResponse, ResponsePart, ToolCallChunk
from agentscope_rx.model.openai._details import DETAILS, joined, text_of

__all__ = ["ChunkDecoder", "decode_chunk"]


class ChunkDecoder:
    """Frames of one stream in, what is new in the answer out; knows whether the answer is whole.

    Attributes:
        done: whether the server said that nothing more comes.
    """

    def __init__(self, name: str) -> None:
        self.done = False
        self._name = name
        self._finished = False
        self._held_back = False
        self._details: list[Any] = []

    @property
    def whole(self) -> bool:
        """Whether the model has said all, though usage may follow."""
        return self.done or self._finished

    def feed(self, frame: Frame) -> ChatResponse | None:
        """Decode a frame; None if there is nothing in it.

        Errors: `ModelResponseError` for an error object, `BadModelOutputError` for what is no JSON.
        """
        if frame.data.strip() == "[DONE]":
            self.done = True
            return ChatResponse(self._closed()) if self._details else None
        chunk = object_in(frame, self._name)
        return None if chunk is None else self.feed_json(chunk, frame.event)

    def feed_json(self, chunk: Json, event: str = "") -> ChatResponse | None:
        """Decode a chunk, or a whole answer; None if there is nothing in it."""
        if "error" in chunk or "choices" not in chunk or event == "error":
            _check(chunk, self._name, is_error=event == "error")
        response = decode_chunk(chunk, self._details)
        finish = response.finish_reason
        if finish:
            if finish == "error":
                raise failed(self._name, "the model stopped with finish_reason 'error'")
            self._finished = True
            self._held_back = self._held_back or finish == "content_filter"
        if self._details and (finish or not _thinks(response.content)):
            thoughts = tuple(filter(_is_thought, response.content))
            rest = (part for part in response.content if not _is_thought(part))
            return evolve(response, content=(*thoughts, *self._closed(), *rest))
        return response if response.content or finish or response.usage is not None else None

    def _closed(self) -> tuple[ResponsePart, ...]:
        """End the thinking with what its server wants back."""
        details = joined(self._details)
        self._details.clear()
        return (ThinkingBlock("", {DETAILS: details}),)

    def close(self) -> None:
        """Check that the answer is whole, now that the stream has ended.

        Errors: `IncompleteStreamError`; `ContentFilterError` if the provider held back what is missing.
        """
        if self._held_back:
            raise held_back(self._name, "content_filter")
        if not self.whole:
            raise IncompleteStreamError(
                f"the stream of {self._name} ended without a finish_reason and without [DONE]: "
                "the answer is cut; ask again"
            )


def _check(chunk: Json, name: str, *, is_error: bool) -> None:
    """Raise what an error object says, in any of its shapes."""
    bare = "choices" not in chunk and isinstance(chunk.get("message"), str)
    if is_error or chunk.get("error") or bare or chunk.get("object") == "error":
        raise failed(name, chunk)


def _is_thought(part: ResponsePart) -> bool:
    return type(part) is ThinkingBlock


def _thinks(parts: Sequence[ResponsePart]) -> bool:
    return all(map(_is_thought, parts))


def decode_chunk(chunk: Json, details: list[Any] | None = None) -> ChatResponse:
    """Return what is in a chunk, or in a whole answer; its `reasoning_details` are added to `details`."""
    choices = chunk.get("choices")
    choice = as_object(choices[0]) if choices and isinstance(choices, list) else {}
    delta = as_object(choice["delta"] if "delta" in choice else choice.get("message"))
    finish = choice.get("finish_reason")
    usage = chunk.get("usage") or choice.get("usage")
    if details is not None and DETAILS in delta:
        details += as_list(delta[DETAILS])
    return pieces(
        _parts(delta),
        _usage(as_object(usage)) if usage else None,
        # Some servers write the text "null" until they have a reason.
        finish if isinstance(finish, str) and finish != "null" else "",
        as_str(chunk.get("id")),
    )


def _parts(delta: Json) -> list[ResponsePart]:
    """The parts of a delta: thinking comes before the text that it led to."""
    parts: list[ResponsePart] = []
    thinking = delta.get("reasoning_content") or delta.get("reasoning")
    if not thinking and DETAILS in delta:
        thinking = text_of(as_list(delta[DETAILS]))
    if thinking and isinstance(thinking, str):
        parts.append(thinking_part(thinking))
    content = delta.get("content")
    if content:
        if isinstance(content, str):
            parts.append(text_part(content))
        else:
            parts += _content(as_list(content))
    if refusal := delta.get("refusal"):
        parts += (TextBlock(as_str(refusal)),) if as_str(refusal) else ()
    if images := delta.get("images"):
        parts += _images(images)
    if "tool_calls" in delta or "function_call" in delta:
        parts += _calls(delta)
    return parts


def _content(parts: list[Any]) -> Iterator[ResponsePart]:
    """Content as a list of parts, as multimodal and reasoning models have it."""
    for part in map(as_object, parts):
        if text := as_str(part.get("text")):
            yield TextBlock(text)
        thinking = part.get("thinking")
        pieces = [as_str(as_object(piece).get("text")) for piece in as_list(thinking)]
        if text := as_str(thinking) or "".join(pieces):
            yield ThinkingBlock(text)


def _images(images: Any) -> Iterator[DataBlock]:
    for image in as_list(images):
        url = as_str(as_object(as_object(image).get("image_url")).get("url"))
        head, comma, data = url.partition(",")
        if head.startswith("data:") and comma:
            yield DataBlock(Base64Source(head.removeprefix("data:").partition(";")[0], data))
        elif url:
            yield DataBlock(URLSource(url))


def _calls(delta: Json) -> Iterator[ToolCallChunk]:
    for call in map(as_object, as_list(delta.get("tool_calls"))):
        function = as_object(call.get("function"))
        extra = call.get("extra_content")
        yield ToolCallChunk(
            _arguments(function.get("arguments")),
            str(call.get("id") or ""),
            as_str(function.get("name")),
            as_int(call.get("index")),
            {} if extra is None else {"extra_content": extra},
        )
    if legacy := as_object(delta.get("function_call")):
        yield ToolCallChunk(_arguments(legacy.get("arguments")), "", as_str(legacy.get("name")), 0)


def _arguments(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else dumps(value).decode()


def _usage(usage: Json) -> ChatUsage | None:
    """Totals of the call so far; None where nothing was counted."""
    sent = as_object(usage.get("prompt_tokens_details"))
    return usage_of(
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        sent.get("cached_tokens") or usage.get("prompt_cache_hit_tokens"),
        as_object(usage.get("completion_tokens_details")).get("reasoning_tokens"),
    )
