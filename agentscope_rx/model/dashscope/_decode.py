"""Frames of DashScope's own protocol as `ChatResponse`s: pure.

Generous about form: whatever is missing, null, empty or unknown is skipped. Strict about the end: an error
object, and an end without a finish, are errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from agentscope_rx._frames import Frame
from agentscope_rx._json import dumps
from agentscope_rx.errors import BadModelOutputError, IncompleteStreamError
from agentscope_rx.message import Base64Source, ChatUsage, DataBlock, TextBlock, ThinkingBlock, URLSource
from agentscope_rx.model._chunks import Json, as_int, as_list, as_object, as_str, object_in
from agentscope_rx.model._failure import failed, held_back
from agentscope_rx.model._pieces import pieces, text_part, thinking_part, usage_of
from agentscope_rx.model._response import ChatResponse, ResponsePart, ToolCallChunk

__all__ = ["SIGNATURE", "FrameDecoder"]

SIGNATURE: Final = "reasoning_signature"
"""Of thinking, in messages and in the metadata of its block; readers of blocks know it as `signature`."""

_SUCCESS: Final = frozenset({"", "200", "0", "none", "null", "success"})
_MEDIA: Final = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}


class FrameDecoder:
    """Frames of one stream in, what is new in the answer out; knows whether the answer is whole.

    Args:
        name: what errors call the model.
        incremental: whether a frame brings only what is new, and not all so far. The request has asked for
            one of them; what a frame holds does not tell.

    Attributes:
        done: whether the server said that nothing more comes.
    """

    def __init__(self, name: str, *, incremental: bool = True) -> None:
        self.done = False
        self._name = name
        self._finished = False
        self._held_back = False
        self._so_far = None if incremental else _SoFar(name)

    @property
    def whole(self) -> bool:
        """Whether the model has said all."""
        return self.done or self._finished

    def feed(self, frame: Frame) -> ChatResponse | None:
        """Decode a frame; None if there is nothing in it.

        Errors: `ModelResponseError` for an error object, `BadModelOutputError` for what is no JSON, and for
            a text that is not the one so far and more.
        """
        if frame.event == "done" or frame.data.strip() == "[DONE]":
            self.done = True
            return None
        body = object_in(frame, self._name)
        if body is None:
            return None
        if frame.event == "error" or (("code" in body or "error" in body) and _is_error(body)):
            raise failed(self._name, body)
        output = as_object(body.get("output"))
        choices = output.get("choices")
        choice = as_object(choices[0]) if choices and isinstance(choices, list) else {}
        message = choice.get("message") or choice.get("delta")
        parts = _parts(as_object(message)) if message else []
        if not parts:
            parts = _text(output.get("text"))
        if self._so_far is not None:
            parts = self._so_far.new_in(parts)
        finish = _finish(choice.get("finish_reason")) or _finish(output.get("finish_reason"))
        if finish:
            self._finished = True
            self._held_back = self._held_back or finish == "content_filter"
        usage = _usage(as_object(body.get("usage")))
        if not parts and usage is None and not finish:
            return None
        return pieces(parts, usage, finish, as_str(body.get("request_id")))

    def close(self) -> None:
        """Check that the answer is whole, now that the stream has ended.

        Errors: `IncompleteStreamError`; `ContentFilterError` if the provider held back what is missing.
        """
        if self._held_back:
            raise held_back(self._name, "content_filter")
        if not self.whole:
            raise IncompleteStreamError(
                f"the stream of {self._name} ended without a finish_reason: the answer is cut; ask again"
            )


def _is_error(body: Json) -> bool:
    code = body.get("code")
    return bool(body.get("error")) or (code is not None and str(code).lower() not in _SUCCESS)


def _finish(reason: Any) -> str:
    """A reason; the server writes the text "null" until it has one."""
    return reason if reason and reason != "null" and isinstance(reason, str) else ""


def _parts(message: Json) -> list[ResponsePart]:
    """The parts of a message: thinking comes before the text that it led to."""
    parts: list[ResponsePart] = []
    thinking, signature = message.get("reasoning_content"), message.get(SIGNATURE)
    if thinking or signature:
        text = as_str(thinking)
        kept = {"signature": signature, SIGNATURE: signature}
        parts.append(ThinkingBlock(text, kept) if signature else thinking_part(text))
    if content := message.get("content"):
        if isinstance(content, str):
            parts.append(text_part(content))
        else:
            parts += _content(as_list(content))
    if calls := message.get("tool_calls"):
        parts += _calls(as_list(calls))
    return parts


def _content(parts: list[Any]) -> Iterator[ResponsePart]:
    """Content as a list of parts, as the multimodal endpoint has it."""
    for part in map(as_object, parts):
        yield from _text(part.get("text"))
        for kind, media_type in _MEDIA.items():
            yield from _data(part.get(kind), media_type)


def _calls(calls: list[Any]) -> Iterator[ToolCallChunk]:
    for call in map(as_object, calls):
        function = as_object(call.get("function"))
        yield ToolCallChunk(
            _arguments(function.get("arguments")),
            str(call.get("id") or ""),
            as_str(function.get("name")),
            as_int(call.get("index")),
        )


def _text(value: Any) -> list[ResponsePart]:
    return [TextBlock(value)] if isinstance(value, str) and value else []


def _data(value: Any, media_type: str) -> Iterator[DataBlock]:
    """What the model made: an address, or an object with the data or the address in it."""
    fields = {"url": value} if isinstance(value, str) else as_object(value)
    url, data = as_str(fields.get("url")), as_str(fields.get("data"))
    head, comma, inline = url.partition(",")
    if head.startswith("data:") and comma:
        yield DataBlock(Base64Source(head.removeprefix("data:").partition(";")[0] or media_type, inline))
    elif url:
        yield DataBlock(URLSource(url, media_type))
    elif data:
        yield DataBlock(Base64Source(media_type, data))


def _arguments(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else dumps(value).decode()


def _usage(usage: Json) -> ChatUsage | None:
    """Totals of the call so far; None where nothing was counted."""
    sent = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    cached = as_object(sent).get("cached_tokens") if sent else None
    received = usage.get("output_tokens_details")
    return usage_of(
        usage.get("input_tokens"),
        usage.get("output_tokens"),
        cached or usage.get("cached_tokens"),
        as_object(received).get("reasoning_tokens") if received else None,
    )


class _SoFar:
    """What an answer has said so far, where each frame says it all again."""

    __slots__ = ("_calls", "_data", "_name", "_named", "_text", "_thinking")

    def __init__(self, name: str) -> None:
        self._name = name
        self._text = self._thinking = ""
        self._data = 0
        self._calls: dict[int, str] = {}
        self._named: set[int] = set()

    def new_in(self, parts: Sequence[ResponsePart]) -> list[ResponsePart]:
        """Return what of the parts of a frame is new."""
        new: list[ResponsePart] = []
        thoughts = [part for part in parts if isinstance(part, ThinkingBlock)]
        thinking = self._suffix(self._thinking, "".join(part.thinking for part in thoughts))
        metadata = next((part.metadata for part in thoughts), None)
        if thinking or metadata:
            self._thinking += thinking
            new.append(ThinkingBlock(thinking, metadata))
        text = "".join(part.text for part in parts if isinstance(part, TextBlock))
        if text := self._suffix(self._text, text):
            self._text += text
            new.append(TextBlock(text))
        data = [part for part in parts if isinstance(part, DataBlock)]
        new += data[self._data :]
        self._data = max(self._data, len(data))
        calls = [part for part in parts if isinstance(part, ToolCallChunk)]
        for number, call in enumerate(calls):
            new += self._call(call, number if call.index is None else call.index)
        return new

    def _call(self, call: ToolCallChunk, number: int) -> list[ToolCallChunk]:
        known = self._calls.get(number)
        arguments = self._suffix(known or "", call.arguments)
        self._calls[number] = (known or "") + arguments
        if number in self._named:
            return [ToolCallChunk(arguments, index=number)] if arguments else []
        if call.name:
            self._named.add(number)
        elif known is not None and not arguments:
            return []
        return [ToolCallChunk(arguments, call.id, call.name, number)]

    def _suffix(self, old: str, text: str) -> str:
        if text.startswith(old):
            return text[len(old) :]
        if old.startswith(text):
            return ""
        raise BadModelOutputError(
            f"{self._name} was asked to repeat its answer in every frame, and sent something else than the "
            f"answer so far: {text[:200]!r} after {old[-200:]!r}; give incremental_output=True"
        )
