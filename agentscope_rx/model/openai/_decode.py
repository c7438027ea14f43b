"""Chunks of a chat completion as `ChatResponse`s: pure.

Generous about form, since many servers speak this format a little differently: whatever is missing, null,
empty or unknown is skipped. Strict about the end: an error object, and an end without a finish, are errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentscope_rx._frames import Frame
from agentscope_rx._json import dumps
from agentscope_rx.errors import IncompleteStreamError
from agentscope_rx.message import Base64Source, ChatUsage, DataBlock, TextBlock, ThinkingBlock, URLSource
from agentscope_rx.model._chunks import Json, as_int, as_list, as_object, as_str, object_in
from agentscope_rx.model._failure import failed, held_back
from agentscope_rx.model._response import ChatResponse, ResponsePart, ToolCallChunk

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
        chunk = None if self.done else object_in(frame, self._name)
        return None if chunk is None else self.feed_json(chunk, is_error=frame.event == "error")

    def feed_json(self, chunk: Json, *, is_error: bool = False) -> ChatResponse | None:
        """Decode a chunk, or a whole answer; None if there is nothing in it."""
        if is_error or _is_error(chunk):
            raise failed(self._name, chunk)
        response = decode_chunk(chunk)
        if response.finish_reason == "error":
            raise failed(self._name, "the model stopped with finish_reason 'error'")
        self._finished = self._finished or bool(response.finish_reason)
        self._held_back = self._held_back or response.finish_reason == "content_filter"
        empty = not response.content and response.usage is None and not response.finish_reason
        return None if empty else response

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


def _is_error(chunk: Json) -> bool:
    """Whether a chunk is an error object, in one of its shapes."""
    bare = "choices" not in chunk and isinstance(chunk.get("message"), str)
    return bool(chunk.get("error")) or bare or chunk.get("object") == "error"


def decode_chunk(chunk: Json) -> ChatResponse:
    """Return what is in a chunk, or in a whole answer."""
    choice = as_object(next(iter(as_list(chunk.get("choices"))), None))
    finish = choice.get("finish_reason")
    return ChatResponse(
        tuple(_parts(as_object(choice["delta"] if "delta" in choice else choice.get("message")))),
        usage=_usage(as_object(chunk.get("usage") or choice.get("usage"))),
        # Some servers write the text "null" until they have a reason.
        finish_reason=finish if isinstance(finish, str) and finish != "null" else "",
        id=as_str(chunk.get("id")),
    )


def _parts(delta: Json) -> Iterator[ResponsePart]:
    """The parts of a delta: thinking comes before the text that it led to."""
    thinking = as_str(delta.get("reasoning_content")) or as_str(delta.get("reasoning"))
    if thinking:
        yield ThinkingBlock(thinking)
    content = delta.get("content")
    for text in filter(None, map(as_str, (content, delta.get("refusal")))):
        yield TextBlock(text)
    if isinstance(content, list):
        yield from _content(as_list(content))
    if images := delta.get("images"):
        yield from _images(images)
    if "tool_calls" in delta or "function_call" in delta:
        yield from _calls(delta)


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
    if not usage:
        return None
    sent = as_object(usage.get("prompt_tokens_details"))
    received = as_object(usage.get("completion_tokens_details"))
    counted = ChatUsage(
        input_tokens=as_int(usage.get("prompt_tokens")) or 0,
        output_tokens=as_int(usage.get("completion_tokens")) or 0,
        cached_tokens=as_int(sent.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")) or 0,
        reasoning_tokens=as_int(received.get("reasoning_tokens")) or 0,
    )
    return counted if counted.total_tokens else None
