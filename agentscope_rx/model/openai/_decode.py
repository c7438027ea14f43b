"""Chunks of a chat completion as `ChatResponse`s: pure.

Generous about form, since many servers speak this format a little differently: whatever is missing, null,
empty or unknown is skipped. Strict about the end: an error object, and an end without a finish, are errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias, cast

from agentscope_rx._frames import Frame
from agentscope_rx._json import dumps, loads
from agentscope_rx.errors import BadModelOutputError, IncompleteStreamError, ModelResponseError
from agentscope_rx.message import Base64Source, ChatUsage, DataBlock, TextBlock, ThinkingBlock, URLSource
from agentscope_rx.model._response import ChatResponse, ResponsePart, ToolCallChunk

__all__ = ["ChunkDecoder", "decode_chunk"]

Json: TypeAlias = dict[str, Any]

_SHOWN: Final = 300
"""Characters of a provider's text in an error."""


class ChunkDecoder:
    """Frames of one stream in, what is new in the answer out; knows whether the answer is whole.

    Attributes:
        done: whether the server said that nothing more comes.
    """

    def __init__(self, name: str) -> None:
        self.done = False
        self._name = name
        self._finished = False

    @property
    def whole(self) -> bool:
        """Whether the model has said all, though usage may follow."""
        return self.done or self._finished

    def feed(self, frame: Frame) -> ChatResponse | None:
        """Decode a frame; None if there is nothing in it.

        Errors: `ModelResponseError` for an error object, `BadModelOutputError` for what is no JSON.
        """
        data = frame.data.strip()
        if self.done or not data:
            return None
        if data == "[DONE]":
            self.done = True
            return None
        try:
            chunk = loads(data)
        except (ValueError, RecursionError) as error:
            if not frame.complete:
                return None  # cut: `close` says so, unless the answer was whole before
            if frame.event == "error":
                raise self._error(data) from None
            raise BadModelOutputError(
                f"{self._name} sent an event that is no JSON ({error}): {data[:_SHOWN]!r}"
            ) from error
        if not isinstance(chunk, dict):
            if frame.event == "error":
                raise self._error(str(chunk))
            return None
        return self.feed_json(cast("Json", chunk), is_error=frame.event == "error")

    def feed_json(self, chunk: Json, *, is_error: bool = False) -> ChatResponse | None:
        """Decode a chunk, or a whole answer; None if there is nothing in it."""
        problem = _problem(chunk, is_error=is_error)
        if problem is not None:
            raise self._error(problem)
        response = decode_chunk(chunk)
        if response.finish_reason == "error":
            raise self._error("the model stopped with finish_reason 'error'")
        self._finished = self._finished or bool(response.finish_reason)
        empty = not response.content and response.usage is None and not response.finish_reason
        return None if empty else response

    def close(self) -> None:
        """Check that the answer is whole, now that the stream has ended.

        Errors: `IncompleteStreamError`.
        """
        if not self.whole:
            raise IncompleteStreamError(
                f"the stream of {self._name} ended without a finish_reason and without [DONE]: "
                "the answer is cut; ask again"
            )

    def _error(self, problem: str) -> ModelResponseError:
        return ModelResponseError(f"{self._name} failed while it answered: {problem}")


def _problem(chunk: Json, *, is_error: bool) -> str | None:
    """What an error object says, in one of its shapes; None if the chunk is none."""
    error = chunk.get("error")
    if not error:
        bare = "choices" not in chunk and isinstance(chunk.get("message"), str)
        if not (is_error or bare or chunk.get("object") == "error"):
            return None
        error = chunk
    if not isinstance(error, dict):
        return str(error)[:_SHOWN]
    fields = _object(error)
    said = _text(fields.get("message")) or _text(fields.get("detail")) or dumps(fields).decode()
    labels = [str(fields[key]) for key in ("type", "code") if fields.get(key)]
    return said[:_SHOWN] + (f" ({', '.join(labels)})" if labels else "")


def decode_chunk(chunk: Json) -> ChatResponse:
    """Return what is in a chunk, or in a whole answer."""
    choice = _object(next(iter(_list(chunk.get("choices"))), None))
    finish = choice.get("finish_reason")
    return ChatResponse(
        tuple(_parts(_object(choice["delta"] if "delta" in choice else choice.get("message")))),
        usage=_usage(_object(chunk.get("usage") or choice.get("usage"))),
        # Some servers write the text "null" until they have a reason.
        finish_reason=finish if isinstance(finish, str) and finish != "null" else "",
        id=_text(chunk.get("id")),
    )


def _object(value: Any) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _parts(delta: Json) -> Iterator[ResponsePart]:
    """The parts of a delta: thinking comes before the text that it led to."""
    thinking = _text(delta.get("reasoning_content")) or _text(delta.get("reasoning"))
    if thinking:
        yield ThinkingBlock(thinking)
    yield from _content(_list(delta.get("content")))
    for key in ("content", "refusal"):
        if text := _text(delta.get(key)):
            yield TextBlock(text)
    yield from _images(delta.get("images"))
    yield from _calls(delta)


def _content(parts: list[Any]) -> Iterator[ResponsePart]:
    """Content as a list of parts, as multimodal and reasoning models have it."""
    for part in map(_object, parts):
        if text := _text(part.get("text")):
            yield TextBlock(text)
        thinking = part.get("thinking")
        pieces = [_text(_object(piece).get("text")) for piece in _list(thinking)]
        if text := _text(thinking) or "".join(pieces):
            yield ThinkingBlock(text)


def _images(images: Any) -> Iterator[DataBlock]:
    for image in _list(images):
        url = _text(_object(_object(image).get("image_url")).get("url"))
        head, comma, data = url.partition(",")
        if head.startswith("data:") and comma:
            yield DataBlock(Base64Source(head.removeprefix("data:").partition(";")[0], data))
        elif url:
            yield DataBlock(URLSource(url))


def _calls(delta: Json) -> Iterator[ToolCallChunk]:
    for call in map(_object, _list(delta.get("tool_calls"))):
        function = _object(call.get("function"))
        extra = call.get("extra_content")
        yield ToolCallChunk(
            _arguments(function.get("arguments")),
            str(call.get("id") or ""),
            _text(function.get("name")),
            _integer(call.get("index")),
            {} if extra is None else {"extra_content": extra},
        )
    if legacy := _object(delta.get("function_call")):
        yield ToolCallChunk(_arguments(legacy.get("arguments")), "", _text(legacy.get("name")), 0)


def _arguments(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else dumps(value).decode()


def _integer(value: Any) -> int | None:
    """Read a number; a text of digits is one, too."""
    try:
        return None if value is None or isinstance(value, bool) else int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _usage(usage: Json) -> ChatUsage | None:
    """Totals of the call so far; None where nothing was counted."""
    sent = _object(usage.get("prompt_tokens_details"))
    received = _object(usage.get("completion_tokens_details"))
    counted = ChatUsage(
        input_tokens=_integer(usage.get("prompt_tokens")) or 0,
        output_tokens=_integer(usage.get("completion_tokens")) or 0,
        cached_tokens=_integer(sent.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")) or 0,
        reasoning_tokens=_integer(received.get("reasoning_tokens")) or 0,
    )
    return counted if counted.total_tokens else None
