"""Chunks of a `streamGenerateContent` answer as `ChatResponse`s: pure.

Every chunk is an answer in small: new parts, the usage of the whole call so far, and in the last one why it
ended. Generous about form, strict about the end: only what the model finished, or what reached a limit, is
good.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentscope_rx._frames import Frame
from agentscope_rx._json import dumps
from agentscope_rx.errors import BadModelOutputError, IncompleteStreamError, ModelResponseError
from agentscope_rx.message import (
    Base64Source,
    ChatUsage,
    DataBlock,
    MediaSource,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    URLSource,
)
from agentscope_rx.model._chunks import Json, as_int, as_list, as_object, as_str, json_in
from agentscope_rx.model._failure import failed, held_back
from agentscope_rx.model._pieces import pieces, text_part, thinking_part, usage_of
from agentscope_rx.model._response import ChatResponse, ResponsePart
from agentscope_rx.model.gemini._signed import COVERS, PART, SIGNATURE

__all__ = ["ChunkDecoder"]

_GOOD: Final = frozenset({"STOP", "MAX_TOKENS", "FUNCTION_CALL"})
"""Ends of a good answer; the last one is a word of servers that imitate the API."""

_HELD_BACK: Final = frozenset({
    "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR", "ESCALATION", "PUP_LIMITED_DISABLED",
})  # fmt: skip

_ASKED_WRONG: Final = frozenset({"MISSING_THOUGHT_SIGNATURE"})
"""Ends that come again with the same request; all others are the model's bad luck."""

_COUNTED: Final = (
    "promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount",
    "cachedContentTokenCount",
)  # fmt: skip

_SHOWN: Final = 1000
"""Characters of the explanation of a bad end in the error's message."""


class ChunkDecoder:
    """Frames of one stream in, what is new in the answer out; knows whether the answer is whole.

    Attributes:
        done: whether the server said that nothing more comes; Google's ends the stream instead.
    """

    def __init__(self, name: str) -> None:
        self.done = False
        self._name = name
        self._finish = ""
        self._blocked = ""
        self._explanation = ""
        self._counts: dict[str, int] = dict.fromkeys(_COUNTED, 0)

    @property
    def whole(self) -> bool:
        """Whether the model has said why it stopped, or why it does not answer."""
        return bool(self._finish or self._blocked)

    def feed(self, frame: Frame) -> ChatResponse | None:
        """Decode a frame; None if there is nothing in it.

        Errors: `ModelResponseError` for an error object; `BadModelOutputError` for what is no JSON, and for a
            call whose arguments come in pieces.
        """
        if frame.data.strip() == "[DONE]":
            self.done = True
            return None
        value = json_in(frame, self._name)
        is_error = frame.event == "error"
        if isinstance(value, list):  # one list of all chunks, without `alt=sse`
            return self.feed_json(*map(as_object, as_list(value)), is_error=is_error)
        return self.feed_json(as_object(value), is_error=is_error)

    def feed_json(self, *chunks: Json, is_error: bool = False) -> ChatResponse | None:
        """Decode chunks that came together; None if there is nothing in them."""
        parts: list[ResponsePart] = []
        finish = name = ""
        counted = False
        for chunk in chunks:
            if is_error or chunk.get("error"):
                raise failed(self._name, chunk)
            name = as_str(chunk.get("responseId")) or name
            if "usageMetadata" in chunk:
                counted = self._count(as_object(chunk["usageMetadata"])) or counted
            if "promptFeedback" in chunk:
                feedback = as_object(chunk["promptFeedback"])
                self._blocked = _reason(feedback, "blockReason") or self._blocked
                self._explanation = as_str(feedback.get("blockReasonMessage"))
            for candidate in map(as_object, as_list(chunk.get("candidates"))):
                if candidate.get("index"):
                    continue  # another answer to the same question
                parts += self._parts(as_object(candidate.get("content")))
                if reason := _reason(candidate, "finishReason"):
                    self._finish = finish = reason
                    self._explanation = as_str(candidate.get("finishMessage"))
        if not (parts or counted or finish):
            return None
        return pieces(parts, self._usage() if counted else None, finish, name)

    def close(self) -> None:
        """Check that the answer is whole and good, now that the stream has ended.

        Errors: `IncompleteStreamError`; `ContentFilterError` if the provider held the answer back;
            `ModelResponseError` for any other end that is not good, also one that is not known.
        """
        if self._blocked or self._finish in _HELD_BACK:
            raise held_back(self._name, self._blocked or self._finish, self._explanation)
        if not self._finish:
            raise IncompleteStreamError(
                f"the stream of {self._name} ended without a finishReason: the answer is cut; ask again"
            )
        if self._finish not in _GOOD:
            why = f" ({self._explanation[:_SHOWN].rstrip('. ')})" if self._explanation else ""
            raise ModelResponseError(
                f"{self._name} did not finish its answer: {self._finish}{why}; ask again",
                status=400 if self._finish in _ASKED_WRONG else 500,
                type=self._finish,
            )

    def _count(self, counts: Json) -> bool:
        """Take the counts that are there; what is left out stays. Return whether there are any."""
        found = False
        for key in _COUNTED:
            if (count := counts.get(key)) is not None:
                self._counts[key] = as_int(count) or 0
                found = True
        return found

    def _usage(self) -> ChatUsage | None:
        prompt, tools, said, thought, cached = self._counts.values()
        return usage_of(prompt + tools, said + thought, cached, thought)

    def _parts(self, content: Json) -> list[ResponsePart]:
        parts: list[ResponsePart] = []
        for part in map(as_object, as_list(content.get("parts"))):
            if len(part) == 1 and isinstance(text := part.get("text"), str):
                parts.append(text_part(text))
            else:
                parts += self._part(part)
        return parts

    def _part(self, part: Json) -> Iterator[ResponsePart]:
        text, thought = part.get("text"), part.get("thought") is True
        signature = as_str(part.get(SIGNATURE))
        signed: Json = {SIGNATURE: signature} if signature else {}
        if (call := part.get("functionCall")) is not None:
            yield self._call(as_object(call), signed)
        elif isinstance(text, str):
            yield _text(text, signed, thought=thought)
        elif (source := _source(part)) is not None:
            yield DataBlock(source, metadata={**({"thought": True} if thought else {}), **signed} or None)
        elif any(isinstance(value, dict) for value in part.values()):  # of a tool that the server runs
            yield TextBlock("", {PART: part})
        elif signed:
            yield _text("", signed, thought=thought)

    def _call(self, call: Json, signed: Json) -> ToolUseBlock:
        """A call, which comes whole; without arguments it has none."""
        name, args = as_str(call.get("name")), call.get("args")
        if call.get("willContinue") or call.get("partialArgs"):
            raise BadModelOutputError(
                f"{self._name} sends the arguments of {name!r} in pieces; "
                "take streamFunctionCallArguments out of the request"
            )
        given = as_object(args)
        text = (
            None if args is None or given == args else args if isinstance(args, str) else dumps(args).decode()
        )
        return ToolUseBlock(as_str(call.get("id")), name, given, text, signed)


def _text(text: str, signed: Json, *, thought: bool) -> TextBlock | ThinkingBlock:
    if not signed:
        return thinking_part(text) if thought else text_part(text)
    kept = {**signed, COVERS: len(text)}
    # Readers of thinking blocks know a signature by this name.
    return ThinkingBlock(text, {"signature": signed[SIGNATURE], **kept}) if thought else TextBlock(text, kept)


def _source(part: Json) -> MediaSource | None:
    """The data in a part, or where they are."""
    inline, file = as_object(part.get("inlineData")), as_object(part.get("fileData"))
    if data := as_str(inline.get("data")):
        return Base64Source(as_str(inline.get("mimeType")) or "application/octet-stream", data)
    url = as_str(file.get("fileUri"))
    return URLSource(url, as_str(file.get("mimeType")) or None) if url else None


def _reason(value: Json, key: str) -> str:
    """A reason in the provider's word; the one that says that there is none is left out."""
    reason = as_str(value.get(key))
    return "" if reason.endswith("_UNSPECIFIED") else reason
