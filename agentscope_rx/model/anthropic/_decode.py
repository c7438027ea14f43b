"""Events of a message as `ChatResponse`s: pure.

Blocks begin, grow and end by their index, and may do so side by side. Events, blocks and deltas of unknown
types are passed over, as the API asks for.
"""

from __future__ import annotations

from typing import Final

from agentscope_rx._frames import Frame
from agentscope_rx._json import dumps, loads_object
from agentscope_rx.errors import BadModelOutputError, IncompleteStreamError
from agentscope_rx.message import ChatUsage, TextBlock, ThinkingBlock
from agentscope_rx.model._chunks import Json, as_int, as_list, as_object, as_str, object_in
from agentscope_rx.model._failure import failed, held_back
from agentscope_rx.model._pieces import piece, text_part, thinking_part
from agentscope_rx.model._response import ChatResponse, ResponsePart, ToolCallChunk
from agentscope_rx.model.anthropic._kept import (
    CALL_MEMBERS,
    CITATIONS,
    REDACTED,
    SERVER_BLOCK,
    SIGNATURE,
    is_server_block,
)

__all__ = ["MessageDecoder"]

_SENT: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""What is counted of the input: none of these holds another."""

_DELTAS: Final = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "tool_use": ("input_json_delta", "partial_json"),
}
"""How what is new in a block comes, and where it stands."""


class MessageDecoder:
    """Events of one message in, what is new in it out; knows whether it is whole.

    1. Blocks stand in the order in which they begin. Calls grow side by side, with what stands behind them;
       what comes after text or thinking that still grows waits for its end.
    2. What the API wants back of a block comes last, since it is for all of it.
    3. Counts of tokens are totals, the last ones count; those of the cache are part of the input.

    Attributes:
        done: whether the server said that nothing more comes.
    """

    def __init__(self, name: str) -> None:
        self.done = False
        self._name = name
        self._finished = False
        self._refused: str | None = None
        self._counts: Json = {}
        self._blocks: dict[int, _Block] = {}
        self._begun = 0
        self._growing: list[_Block] = []
        self._front: _Block | None = None
        """The first of those that grow: what is new in it need not wait."""

    @property
    def whole(self) -> bool:
        """Whether the model has said all."""
        return self.done or self._finished

    def feed(self, frame: Frame) -> ChatResponse | None:
        """Decode a frame; None if there is nothing in it.

        Errors: `ModelResponseError` for an error, `BadModelOutputError` for what is no JSON and for arguments
            of a call that did not begin.
        """
        if frame.data == "[DONE]":  # gateways between two protocols send it
            return self._end_message()
        chunk = object_in(frame, self._name)
        if chunk is None:
            return None
        kind = chunk.get("type") or frame.event
        if kind == "content_block_delta":
            return self._grow(chunk)
        if kind == "error" or frame.event == "error" or chunk.get("error") or _is_bare_error(chunk):
            raise failed(self._name, chunk)
        match kind:
            case "content_block_start":
                return _response(
                    self._begin(as_object(chunk.get("content_block")), self._index(chunk, new=True))
                )
            case "content_block_stop":
                return _response(self._end(self._blocks.get(self._index(chunk))))
            case "message_start":
                return _response((), self._usage(as_object(chunk.get("message"))))
            case "message_delta":
                return self._tail(as_object(chunk.get("delta")), self._usage(chunk))
            case "message_stop":
                return self._end_message()
            case "message":
                return self._message(chunk)
            case _:
                return None

    def close(self) -> None:
        """Check that the answer is whole, now that the stream has ended.

        Errors: `IncompleteStreamError`; `ContentFilterError` if the API has refused to go on.
        """
        if self._refused is not None:
            raise held_back(self._name, "refusal", self._refused)
        if not self.whole:
            raise IncompleteStreamError(
                f"the stream of {self._name} ended without a stop_reason and without message_stop: "
                "the answer is cut; ask again"
            )

    def _index(self, chunk: Json, *, new: bool = False) -> int:
        index = as_int(chunk.get("index"))
        return max(self._blocks, default=-1) + new if index is None else index

    def _begin(self, begun: Json, index: int) -> tuple[ResponsePart, ...]:
        known = self._blocks.get(index)
        if known is not None and not known.ended:
            if known.begun == begun:  # the event came twice
                return ()
            known.end()
        self._begun += 1
        block = self._blocks[index] = _Block(begun, self._begun)
        self._growing.append(block)
        return self._released()

    def _grow(self, chunk: Json) -> ChatResponse | None:
        index = chunk.get("index")
        block = self._blocks.get(index) if type(index) is int else self._blocks.get(self._index(chunk))
        delta = as_object(chunk.get("delta"))
        if block is None:
            block = self._lost(delta, self._index(chunk))
        part = None if block is None else block.grow(delta)
        if part is None or block is None:
            return None
        if block is self._front or block not in self._growing:
            return piece(part)
        block.held.append(part)
        return _response(self._released())

    def _lost(self, delta: Json, index: int) -> _Block | None:
        """Begin a block that did not begin; None if there is no need for one."""
        match delta.get("type"):
            case "text_delta" | "thinking_delta" as kind:
                self._begin({"type": kind.removesuffix("_delta")}, index)
                return self._blocks[index]
            case "input_json_delta":
                raise BadModelOutputError(
                    f"{self._name} sent arguments of a tool call that it never began: {delta!r:.300}"
                )
            case _:
                return None

    def _end(self, block: _Block | None) -> tuple[ResponsePart, ...]:
        if block is None or block.ended:
            return ()
        block.end()
        return self._released()

    def _released(self) -> tuple[ResponsePart, ...]:
        """What has come of the blocks up to the first that must end before others go on."""
        parts: list[ResponsePart] = []
        growing = list(self._growing)
        for block in growing:
            parts += block.held
            block.held.clear()
            if block.ended:
                self._growing.remove(block)
            elif block.alone:
                break
        self._front = self._growing[0] if self._growing else None
        return tuple(parts)

    def _tail(self, delta: Json, usage: ChatUsage | None) -> ChatResponse | None:
        reason = as_str(delta.get("stop_reason"))
        if not reason:
            return _response((), usage)
        self._finished = True
        if reason == "refusal":
            details = as_object(delta.get("stop_details"))
            self._refused = as_str(details.get("explanation")) or as_str(details.get("category"))
        return ChatResponse(self._end_all(), usage, reason)

    def _end_message(self) -> ChatResponse | None:
        self.done = True
        return _response(self._end_all())

    def _end_all(self) -> tuple[ResponsePart, ...]:
        for block in self._growing:
            if not block.ended:
                block.end()
        return self._released()

    def _message(self, message: Json) -> ChatResponse | None:
        """A whole answer, of a server that does not stream."""
        parts: list[ResponsePart] = []
        for index, begun in enumerate(map(as_object, as_list(message.get("content")))):
            parts += self._begin(begun, index)
            parts += self._end(self._blocks[index])
        tail = self._tail(message, self._usage(message))
        self.done = True
        return ChatResponse(parts, tail and tail.usage, tail.finish_reason if tail else "")

    def _usage(self, holder: Json) -> ChatUsage | None:
        """The totals so far, with those that are new; None where there are none."""
        counts = as_object(holder.get("usage"))
        if not counts:
            return None
        self._counts |= {key: value for key, value in counts.items() if value or key not in self._counts}
        details = as_object(self._counts.get("output_tokens_details"))
        sent = [as_int(self._counts.get(key)) or 0 for key in _SENT]
        usage = ChatUsage(
            input_tokens=sum(sent),
            output_tokens=as_int(self._counts.get("output_tokens")) or 0,
            cached_tokens=sent[-1],
            reasoning_tokens=as_int(details.get("thinking_tokens")) or 0,
        )
        return usage if usage.total_tokens else None


def _response(parts: tuple[ResponsePart, ...], usage: ChatUsage | None = None) -> ChatResponse | None:
    return ChatResponse(parts, usage) if parts or usage is not None else None


def _is_bare_error(chunk: Json) -> bool:
    """Whether a chunk is an error that some gateways write without its type."""
    return "type" not in chunk and isinstance(chunk.get("message") or chunk.get("msg"), str)


class _Block:
    """A block of the answer, from its start on.

    Attributes:
        begun: what the start says of it.
        alone: whether nothing may come between its parts.
        ended: whether it has all its parts.
        held: parts that wait for the blocks before it.
    """

    __slots__ = (
        "_citations", "_delta", "_fragments", "_id", "_member", "_number", "_signature", "_spoke", "_type",
        "alone", "begun", "ended", "held",
    )  # fmt: skip

    def __init__(self, begun: Json, number: int) -> None:
        self._type = as_str(begun.get("type"))
        self._delta, self._member = _DELTAS.get(self._type, ("nothing", ""))
        self.begun = begun
        self.alone = self._type in ("text", "thinking")
        self.ended = False
        self.held: list[ResponsePart] = []
        self._number = number
        self._id = as_str(begun.get("id"))
        self._signature = as_str(begun.get("signature"))
        self._citations = list(as_list(begun.get("citations")))
        self._fragments: list[str] = []
        first = self._first()
        self._spoke = self.alone and first is not None
        if first is not None:
            self.held.append(first)

    def grow(self, delta: Json) -> ResponsePart | None:
        """Take a delta; return what is new, if it is to go out now."""
        kind = delta.get("type")
        if kind == self._delta:
            new = delta.get(self._member)
            if not isinstance(new, str) or not new:
                return None
            self._spoke = True
            if kind == "text_delta":
                return text_part(new)
            if kind == "thinking_delta":
                return thinking_part(new)
            return ToolCallChunk(new, self._id, "", self._number)
        match kind:
            case "signature_delta":
                self._signature = as_str(delta.get("signature")) or self._signature
            case "citations_delta":
                self._citations.append(delta.get("citation"))
            case "input_json_delta":
                self._fragments.append(as_str(delta.get("partial_json")))
            case _:
                pass
        return None

    def end(self) -> None:
        """Hold what comes last of the block."""
        self.ended = True
        last = self._last()
        if last is not None:
            self.held.append(last)

    def _first(self) -> ResponsePart | None:
        begun = self.begun
        match self._type:
            case "text" if text := as_str(begun.get("text")):
                return TextBlock(text)
            case "thinking" if text := as_str(begun.get("thinking")):
                return ThinkingBlock(text)
            case "redacted_thinking" if data := as_str(begun.get("data")):
                return ThinkingBlock("", {REDACTED: data})
            case "tool_use":
                members = {key: begun[key] for key in CALL_MEMBERS if begun.get(key) is not None}
                return ToolCallChunk("", self._id, as_str(begun.get("name")), self._number, members)
            case _:
                return None

    def _last(self) -> ResponsePart | None:
        match self._type:
            case "text" if self._citations and self._spoke:
                return TextBlock("", {CITATIONS: self._citations})
            case "thinking" if self._signature or self._spoke:
                return ThinkingBlock("", {SIGNATURE: self._signature})
            case "tool_use" if not self._spoke and (whole := self.begun.get("input")):
                # Compatible servers say all of it at the start. Where deltas follow, that is a placeholder.
                text = whole if isinstance(whole, str) else dumps(whole).decode()
                return ToolCallChunk(text, self._id, "", self._number)
            case kind if is_server_block(kind):
                asked = loads_object("".join(self._fragments))
                return ThinkingBlock(
                    "", {SERVER_BLOCK: self.begun if asked is None else {**self.begun, "input": asked}}
                )
            case _:
                return None
