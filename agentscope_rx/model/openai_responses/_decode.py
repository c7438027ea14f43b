"""Events of a response as `ChatResponse`s: pure.

An answer is a list of items: messages, reasoning, calls, and what the server does by itself, which is passed
over. An item is added, grows, and is done; its last event tells it whole. Generous about form: gateways
number items anew with every event, give one number to several, or leave out what is only a frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from agentscope_rx._frames import Frame
from agentscope_rx._json import dumps, loads_object
from agentscope_rx.errors import BadModelOutputError, IncompleteStreamError
from agentscope_rx.message import Base64Source, ChatUsage, DataBlock, TextBlock, ThinkingBlock
from agentscope_rx.model._chunks import Json, as_int, as_list, as_object, as_str, object_in
from agentscope_rx.model._failure import failed, held_back
from agentscope_rx.model._pieces import piece, text_part, thinking_part, usage_of
from agentscope_rx.model._response import ChatResponse, ResponsePart, ToolCallChunk
from agentscope_rx.model.openai_responses._kept import (
    CALL,
    CITATIONS,
    PHASE,
    REASONING,
    SERVER,
    call_members,
    reasoning_item,
)

__all__ = ["ResponseDecoder"]

_DELTAS: Final = {
    "response.output_text.delta": "message",
    "response.refusal.delta": "message",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_summary.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning.delta": "reasoning",
    "response.function_call_arguments.delta": "function_call",
}
"""What grows, by the event."""

_KINDS: Final = frozenset(_DELTAS.values())
_STATUSES: Final = frozenset({"completed", "incomplete", "failed", "cancelled"})
_ENDS: Final = frozenset(f"response.{status}" for status in _STATUSES)
_GAP: Final = "\n\n"
_SHOWN: Final = 200
"""Characters of arguments in an error."""


class _Item:
    """An item that is being written; `number` tells it from all others."""

    __slots__ = ("added", "call_id", "ended", "id", "kind", "number", "part", "phase", "said")

    def __init__(self, kind: str, number: int, id: str) -> None:
        self.kind = kind
        self.number = number
        self.id = id
        self.call_id = ""
        self.phase = ""
        self.part: Any = None
        self.said: list[str] = []
        self.added = False
        self.ended = False

    def rest(self, whole: str) -> str:
        """Return what of the whole text has not been said; nothing, if something else was."""
        said = "".join(self.said)
        return whole[len(said) :] if whole.startswith(said) else ""

    def contradicts(self, arguments: str) -> bool:
        """Whether what was said can be run, and is not what the model has finished; `{}` may be left out."""
        said, meant = loads_object("".join(self.said)), loads_object(arguments)
        return said is not None and bool(meant) and said != meant


class ResponseDecoder:
    """Events of one response in, what is new in it out; knows whether it is whole.

    1. An event belongs to the item with its id, else to the one with its index, else to the last one of its
       kind that still grows.
    2. What the last event of an item, or of the response, tells and nothing told before, is said then.
    3. Arguments of a call that are others at its end than in between are an error: they must not run.
    4. Parts of reasoning, and items that would run into one another, are kept apart by a blank line.

    Args:
        name: what errors call the model.
        server: what only it can read is marked with it.

    Attributes:
        done: whether nothing more comes.
    """

    def __init__(self, name: str, server: str = "") -> None:
        self.done = False
        self._name = name
        self._server = server
        self._finished = False
        self._held_back = False
        self._count = 0
        self._by_id: dict[str, _Item] = {}
        self._by_index: dict[int, _Item] = {}
        self._latest: dict[str, _Item] = {}
        self._open: _Item | None = None
        """Whose text stands open at the end of what was said."""

    @property
    def whole(self) -> bool:
        """Whether the model has said all."""
        return self._finished

    def feed(self, frame: Frame) -> ChatResponse | None:
        """Decode a frame; None if there is nothing in it.

        Errors: `ModelResponseError` for an error; `BadModelOutputError` for what is no JSON, and for a call
            that contradicts itself.
        """
        if frame.data.strip() == "[DONE]":
            self.done = True
            return None
        chunk = object_in(frame, self._name)
        if chunk is None:
            return None
        event = chunk.get("type")
        if not event or not isinstance(event, str):
            event = frame.event
        kind = _DELTAS.get(event)
        if kind is not None:
            part = self._grow(kind, event, chunk)
            return None if part is None else piece(part)
        match event:
            case "response.output_item.added":
                return _response(self._add(as_object(chunk.get("item")), as_int(chunk.get("output_index"))))
            case "response.output_item.done":
                return _response(self._end(as_object(chunk.get("item")), as_int(chunk.get("output_index"))))
            case _ if event in _ENDS:
                return self._finish(as_object(chunk.get("response")), event.rpartition(".")[2])
            case _ if chunk.get("object") == "response":  # of a server that does not stream
                return self._finish(chunk, "")
            case _ if event == "error" or frame.event == "error" or _is_bare_error(event, chunk):
                raise failed(self._name, chunk)
            case _:
                return None

    def close(self) -> None:
        """Check that the answer is whole, now that the stream has ended.

        Errors: `IncompleteStreamError`; `ContentFilterError` if the API held back what is missing.
        """
        if self._held_back:
            raise held_back(self._name, "content_filter")
        if not self._finished:
            raise IncompleteStreamError(
                f"the stream of {self._name} ended without response.completed: the answer is cut; ask again"
            )

    # Items

    def _find(self, kind: str, id: str, index: int | None) -> _Item | None:
        found = self._by_id.get(id)
        if found is None or found.kind != kind:
            found = None if index is None else self._by_index.get(index)
        if found is None or found.kind != kind:
            found = self._latest.get(kind)
            found = None if found is None or found.ended else found
        return found

    def _begin(self, kind: str, id: str, index: int | None) -> _Item:
        self._count += 1
        item = self._latest[kind] = _Item(kind, self._count, id)
        if id:
            self._by_id[id] = item
        if index is not None:
            self._by_index[index] = item
        return item

    def _add(self, begun: Json, index: int | None) -> Iterator[ResponsePart]:
        kind, id = as_str(begun.get("type")), as_str(begun.get("id"))
        if kind not in _KINDS:
            return
        item = self._find(kind, id, index)
        if item is None or item.ended or (item.added and (not id or item.id != id)):
            item = self._begin(kind, id, index)
        item.added = True
        item.phase = as_str(begun.get("phase"))
        if kind == "function_call":
            yield self._named(item, begun)

    def _named(self, item: _Item, told: Json, arguments: str = "") -> ToolCallChunk:
        if not item.call_id:
            item.call_id = str(told.get("call_id") or told.get("id") or "")
            self._open = None
        members = call_members(told)
        metadata = {CALL: members} if members else {}
        return ToolCallChunk(arguments, item.call_id, as_str(told.get("name")), item.number, metadata)

    def _grow(self, kind: str, event: str, chunk: Json) -> ResponsePart | None:
        text = chunk.get("delta")
        if not isinstance(text, str):
            text = as_str(as_object(text).get("text"))
        if not text:
            return None
        item = self._open
        if item is None or item.kind != kind or not item.id or item.id != chunk.get("item_id"):
            id, index = as_str(chunk.get("item_id")), as_int(chunk.get("output_index"))
            item = self._find(kind, id, index) or self._begin(kind, id, index)
        if item.ended:  # it was told whole
            return None
        item.said.append(text)
        if kind == "message":
            return text_part(text if self._open is item else self._apart(item) + text)
        if kind == "function_call":
            return ToolCallChunk(text, item.call_id, "", item.number)
        part = (event, chunk.get("summary_index"), chunk.get("content_index"))
        gap = _GAP if item.part is not None and item.part != part else ""
        item.part = part
        return thinking_part((self._apart(item) or gap) + text)

    def _apart(self, item: _Item) -> str:
        """What keeps an item apart from another whose text stands open."""
        before, self._open = self._open, item
        return _GAP if before is not None and before is not item and before.kind == item.kind else ""

    def _end(self, told: Json, index: int | None) -> Iterator[ResponsePart]:
        kind, id = as_str(told.get("type")), as_str(told.get("id"))
        if kind == "image_generation_call":
            yield from self._image(told)
        if kind not in _KINDS:
            return
        item = self._find(kind, id, index)
        if item is None or (item.ended and id not in ("", item.id)):
            item = self._begin(kind, id, index)
        if item.ended:
            return
        item.ended = True
        match kind:
            case "message":
                yield from self._end_message(item, told)
            case "reasoning":
                yield from self._end_reasoning(item, told)
            case _:
                arguments = _arguments(told.get("arguments"))
                if item.contradicts(arguments):
                    raise BadModelOutputError(
                        f"{self._name} sent other arguments of {as_str(told.get('name'))!r} at the end "
                        f"than in between: {''.join(item.said)[:_SHOWN]!r}, {arguments[:_SHOWN]!r}"
                    )
                yield self._named(item, told, item.rest(arguments))

    def _end_message(self, item: _Item, told: Json) -> Iterator[TextBlock]:
        parts = [as_object(part) for part in as_list(told.get("content"))]
        whole = "".join(as_str(part.get("text")) or as_str(part.get("refusal")) for part in parts)
        if text := item.rest(whole):
            yield TextBlock(self._apart(item) + text)
        phase = as_str(told.get("phase")) or item.phase
        citations = [each for part in parts for each in as_list(part.get("annotations"))]
        metadata = {PHASE: phase} if phase else {}
        metadata |= {CITATIONS: citations} if citations else {}
        if metadata and (text or item.said):
            self._open = None
            yield TextBlock("", metadata)

    def _end_reasoning(self, item: _Item, told: Json) -> Iterator[ThinkingBlock]:
        parts = [*as_list(told.get("summary")), *as_list(told.get("content"))]
        texts = [text for part in parts if (text := as_str(as_object(part).get("text")))]
        if texts and not item.said:
            yield ThinkingBlock(self._apart(item) + _GAP.join(texts))
        kept = reasoning_item(told)
        if kept is not None:
            self._open = None
            yield ThinkingBlock("", {REASONING: kept, SERVER: self._server})

    def _image(self, told: Json) -> Iterator[DataBlock]:
        data, id = as_str(told.get("result")), as_str(told.get("id"))
        if data and id not in self._by_id:
            self._begin("image_generation_call", id, None)
            self._open = None
            yield DataBlock(Base64Source(f"image/{as_str(told.get('output_format')) or 'png'}", data))

    # The end

    def _finish(self, response: Json, status: str) -> ChatResponse | None:
        told = as_str(response.get("status"))
        status = told if told in _STATUSES else status
        error = response.get("error")
        if error or status in ("failed", "cancelled"):
            raise failed(
                self._name, error or {"message": f"it says that the answer is {status}, and not why"}
            )
        parts = tuple(self._untold(response))
        usage = _usage(as_object(response.get("usage")))
        if not status:
            return _response(iter(parts), usage)
        self.done = self._finished = True
        reason = as_str(as_object(response.get("incomplete_details")).get("reason"))
        self._held_back = status == "incomplete" and reason == "content_filter"
        return ChatResponse(parts, usage, self._reason(status, reason), as_str(response.get("id")))

    def _untold(self, response: Json) -> Iterator[ResponsePart]:
        """What only the end of the response tells: all of a kind, or the end of an item.

        Reasoning only if nothing else was told: it stands before what it led to.
        """
        told = frozenset(self._latest)
        for index, item in enumerate(map(as_object, as_list(response.get("output")))):
            kind, known = as_str(item.get("type")), self._by_id.get(as_str(item.get("id")))
            new = kind not in told and not (kind == "reasoning" and told)
            if new or (known is not None and known.kind == kind != "reasoning"):
                yield from self._end(item, None if new else index)

    def _reason(self, status: str, reason: str) -> str:
        """The reason to finish, in the words that the same provider has for chat completions."""
        if status == "completed":
            return "tool_calls" if "function_call" in self._latest else "stop"
        return "length" if reason == "max_output_tokens" else reason or status


def _response(parts: Iterator[ResponsePart], usage: ChatUsage | None = None) -> ChatResponse | None:
    content = tuple(parts)
    return ChatResponse(content, usage) if content or usage is not None else None


def _is_bare_error(event: str, chunk: Json) -> bool:
    """Whether a chunk is an error object without its type."""
    return not event and bool(chunk.get("error") or isinstance(chunk.get("message"), str))


def _arguments(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else dumps(value).decode()


def _usage(usage: Json) -> ChatUsage | None:
    """What was counted; None where nothing was."""
    return usage_of(
        usage.get("input_tokens"),
        usage.get("output_tokens"),
        as_object(usage.get("input_tokens_details")).get("cached_tokens"),
        as_object(usage.get("output_tokens_details")).get("reasoning_tokens"),
    )
