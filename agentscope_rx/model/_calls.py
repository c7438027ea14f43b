"""Which tool call a streamed fragment belongs to: one rule for all the ways in which providers say it.

A fragment may name its call by id, by index, by both or by neither; ids repeat, change with every fragment,
or are the text `null`; indexes are wrong or all 0; names come once or every time. The rule:

1. An id that a call has names that call.
2. Else an index that a call has names the newest call with that index.
3. Else a name or a new index with a new id begins a call.
4. Else the fragment goes on with the call last spoken of that waits for arguments, or the last one.

By 1 and 2 a fragment begins another call all the same where it cannot go on with the one that it names: it
says another tool, or it comes with a name when the arguments are whole already.
"""

from __future__ import annotations

from typing import Any, Final

from agentscope_rx.model._arguments import Arguments
from agentscope_rx.model._response import ToolCallChunk
from agentscope_rx.model._surrogates import Halves

__all__ = ["Call", "Calls"]

_NO_ID: Final = frozenset({"", "null", "none", "undefined"})


def _known(provider_id: str) -> str:
    return "" if provider_id.lower() in _NO_ID else provider_id


class Call:
    """A tool call as it streams; `id` is its id in events, empty until it has begun."""

    __slots__ = ("_halves", "arguments", "id", "index", "metadata", "name", "provider_id", "waiting", "whole")

    def __init__(self, provider_id: str = "", index: int | None = None) -> None:
        self.id = ""
        self.name = ""
        self.provider_id = provider_id
        self.index = index
        self.metadata: dict[str, Any] = {}
        self.arguments = Arguments()
        self.waiting = ""
        """Arguments that came before the name."""
        self.whole: str | None = None
        """The text of the arguments, if the call came whole."""
        self._halves = Halves()

    def feed(self, fragment: str) -> str:
        """Take a fragment of the arguments; return the text that may go out now."""
        return self.arguments.feed(self._halves.feed(fragment))

    def finish(self) -> str:
        """Return the rest of the arguments."""
        return self.arguments.feed(self._halves.finish()) + self.arguments.finish()


class Calls:
    """The tool calls of one model call, in the order in which they were first spoken of."""

    __slots__ = ("_by_id", "_by_index", "_recent", "all")

    def __init__(self) -> None:
        self.all: list[Call] = []
        self._by_id: dict[str, Call] = {}
        self._by_index: dict[int, Call] = {}
        self._recent: list[Call] = []

    def route(self, chunk: ToolCallChunk) -> Call:
        """Return the call that a fragment belongs to, begun if need be."""
        chunk_id = _known(chunk.id)
        call = self._find(chunk, chunk_id) or self.begin(chunk_id, chunk.index)
        call.name = call.name or chunk.name
        call.metadata.update(chunk.metadata)
        if not call.provider_id and chunk_id:
            call.provider_id = chunk_id
            self._by_id[chunk_id] = call
        if self._recent[-1] is not call:
            self._recent.remove(call)
            self._recent.append(call)
        return call

    def begin(self, call_id: str = "", index: int | None = None) -> Call:
        """Begin a call."""
        call = Call(call_id, index)
        self.all.append(call)
        self._recent.append(call)
        if call_id:
            self._by_id[call_id] = call
        if index is not None:
            self._by_index[index] = call
        return call

    def begin_whole(self, call_id: str, name: str, text: str) -> Call:
        """Begin a call that comes whole; one that a provider only repeats stays one call."""
        call_id = _known(call_id)
        known = self._by_id.get(call_id)
        if known is not None and (known.name, known.whole) == (name, text):
            return known
        call = self.begin(call_id)
        call.name, call.whole = name, text
        return call

    def _find(self, chunk: ToolCallChunk, chunk_id: str) -> Call | None:
        by_index = None if chunk.index is None else self._by_index.get(chunk.index)
        if chunk_id in self._by_id:
            same_id = self._by_id[chunk_id]
            if by_index is not None and by_index.provider_id == chunk_id:
                return by_index
            elsewhere = chunk.index is not None and chunk.index != same_id.index
            return None if elsewhere and _begins_another(same_id, chunk, new_id=False) else same_id
        if by_index is not None:
            return None if _begins_another(by_index, chunk, new_id=bool(chunk_id)) else by_index
        if chunk.name:
            if chunk_id or chunk.index is not None or not self._recent:
                return None
            last = self._recent[-1]
            return None if _begins_another(last, chunk, new_id=True) else last
        if chunk_id and chunk.index is not None:
            return None
        return self._waiting(begins=_begins_object(chunk))

    def _waiting(self, *, begins: bool) -> Call | None:
        """Return the call last spoken of that waits for such a fragment, else the last one."""
        for call in reversed(self._recent):
            if not call.arguments.whole and (call.arguments.begun or begins):
                return call
        return self._recent[-1] if self._recent else None


def _begins_object(chunk: ToolCallChunk) -> bool:
    return chunk.arguments.lstrip().startswith("{")


def _begins_another(call: Call, chunk: ToolCallChunk, *, new_id: bool) -> bool:
    """Whether a fragment cannot go on with a call that it seems to name; without a name it always can."""
    if not chunk.name or not call.name:
        return False
    if chunk.name != call.name:
        return True
    if call.arguments.whole or call.arguments.broken:
        return new_id or _begins_object(chunk)
    # Two heads without arguments, one after the other, are two calls.
    return new_id and not call.arguments.begun and not chunk.arguments
