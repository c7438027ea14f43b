"""A tool call while it streams (R8, R11, R16)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentscope_rx._frozen import EMPTY, FrozenDict
from agentscope_rx._json import dumps, loads_object
from agentscope_rx.message import ContentBlock, ToolCallState, ToolUseBlock
from agentscope_rx.operators._fold._drafts import of_provider
from agentscope_rx.operators._fold._text import Chunked

__all__ = ["CallDraft"]


class CallDraft(Chunked):
    """A tool call; its chunks are the fragments of its arguments.

    Attributes:
        open: whether its End has not come.
        sealed: whether no fragment comes any more.
    """

    __slots__ = (
        "_block",
        "_content",
        "_input",
        "id",
        "metadata",
        "model_call",
        "name",
        "open",
        "sealed",
        "state",
    )

    def __init__(self, id: str, name: str, model_call: int) -> None:
        self.chunks = []
        self._read = -1
        self.id = id
        self.name = name
        self.model_call = model_call
        self.open = True
        self.sealed = False
        self.state = ToolCallState.PENDING
        self.metadata: Mapping[str, Any] = EMPTY
        self._content: str | None = None
        self._input: FrozenDict = EMPTY
        self._block: ContentBlock | None = None

    @classmethod
    def of(cls, block: ToolUseBlock) -> CallDraft:
        """Make the draft of a call that was streamed before."""
        draft = cls(block.id, block.name, -1)
        draft.open = False
        draft.sealed = True
        draft.state = block.state
        draft.metadata = block.metadata
        draft.chunks.append(block.content or "")
        draft.read()
        draft._content, draft._input, draft._block = block.content, FrozenDict(block.input), block
        return draft

    @property
    def finished(self) -> bool:
        """Whether the call needs no result any more."""
        return self.state is ToolCallState.FINISHED

    @property
    def waits(self) -> bool:
        """Whether the call waits for an answer or an outcome."""
        return self.state is ToolCallState.ASKING or self.state is ToolCallState.SUBMITTED

    @property
    def final(self) -> bool:
        return self.sealed and self.state is ToolCallState.FINISHED

    def move(self, state: ToolCallState) -> None:
        self.state = state
        self._block = None

    def end(self, metadata: Mapping[str, Any]) -> None:
        self.open = False
        if metadata:
            self.metadata = of_provider(metadata) or self.metadata
            self._block = None

    def rename(self, name: str) -> None:
        self.name = name
        self._block = None

    def take_over(self, edited: ToolUseBlock) -> None:
        """Let a human's edit stand; what the edit leaves empty stays as it is."""
        if edited.name:
            self.rename(edited.name)
        self._parse()
        if edited.input:
            if edited.content and _same(loads_object(edited.content), edited.input):
                self.replace(edited.content)
            elif not _same(self._input, edited.input):
                self._take_input(edited.input)
        elif edited.content:
            self.replace(edited.content)

    def _take_input(self, input: Mapping[str, Any]) -> None:
        try:
            self.replace(dumps(dict(input)).decode())
        except ValueError:  # no JSON: there is only what was given
            self.chunks[:] = ()
            self._read, self._content, self._input = 0, None, FrozenDict(input)

    def _parse(self) -> None:
        if self.has_grown:
            self._content = text = self.read()
            # Half an object is the rule while it streams, and what a parser takes longest to refuse.
            whole = loads_object(text) if text.rstrip().endswith("}") else None
            self._input = FrozenDict(whole) if whole else EMPTY
            self._block = None

    def block(self) -> ContentBlock:
        self._parse()
        if self._block is None:
            self._block = ToolUseBlock(
                self.id, self.name, self._input, self._content, self.metadata, self.state
            )
        return self._block


def _same(a: object, b: object) -> bool:
    """Compare JSON values: the order of keys says nothing, but `true` is not `1`."""
    try:
        return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return False
