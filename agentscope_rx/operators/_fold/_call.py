"""A tool call and all that concerns it: arguments, questions, answers, result (R8–R12, R16)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from agentscope_rx._json import dumps, loads_object
from agentscope_rx.event import ConfirmResult, ToolResultDataDeltaEvent
from agentscope_rx.message import (
    ContentBlock,
    DataBlock,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
)
from agentscope_rx.operators._fold._drafts import DataDraft, Draft, TextDraft, WholeDraft
from agentscope_rx.operators._fold._text import join

__all__ = ["CallDraft", "CallGroup", "ResultDraft"]

NOTHING: Mapping[str, Any] = {}


class CallDraft:
    """A tool call; `chunks` is what fragments of its arguments are appended to."""

    __slots__ = (
        "_block",
        "_built",
        "_input",
        "chunks",
        "id",
        "metadata",
        "model_call",
        "name",
        "open",
        "state",
    )

    def __init__(self, id: str, name: str, model_call: int) -> None:
        self.id = id
        self.name = name
        self.model_call = model_call
        self.open = True
        self.state = ToolCallState.PENDING
        self.metadata: Mapping[str, Any] = NOTHING
        self.chunks: list[str] = []
        self._input: Mapping[str, Any] = NOTHING
        self._block: ContentBlock | None = None
        self._built = 0

    @property
    def finished(self) -> bool:
        return self.state is ToolCallState.FINISHED

    def move(self, state: ToolCallState) -> None:
        self.state = state
        self._block = None

    def end(self, metadata: Mapping[str, Any] | None) -> None:
        self.open = False
        if metadata is not None:
            self.metadata = metadata
            self._block = None

    def rename(self, name: str) -> None:
        self.name = name
        self._block = None

    def arguments(self) -> tuple[str, Mapping[str, Any]]:
        """Return the arguments as written and as parsed (R16)."""
        if len(self.chunks) != self._built:
            text = join(self.chunks)
            self.chunks[:] = (text,)
            self._built = 1
            self._input = loads_object(text) or NOTHING
            self._block = None
        return (self.chunks[0] if self.chunks else ""), self._input

    def take_over(self, edited: ToolUseBlock) -> None:
        """Let a human's edit stand; what the edit leaves empty it leaves as it is."""
        if edited.name and edited.name != self.name:
            self.rename(edited.name)
        _, known = self.arguments()
        text = edited.content or ""
        if edited.input:
            if text and _same(loads_object(text), edited.input):
                self.chunks[:] = (text,)
            elif _same(known, edited.input):
                return
            else:
                self.chunks[:] = (_write(edited.input),)
        elif text:
            self.chunks[:] = (text,)
        self._built = -1

    @classmethod
    def of(cls, block: ToolUseBlock) -> CallDraft:
        """Make the draft of a call that was streamed before."""
        draft = cls(block.id, block.name, -1)
        draft.open = False
        draft.state = block.state
        draft.metadata = block.metadata
        draft.chunks.append(block.content or "")
        draft._built = 1
        draft._input = block.input
        draft._block = block
        return draft

    def block(self) -> ContentBlock:
        text, input = self.arguments()
        if self._block is None:
            self._block = ToolUseBlock(self.id, self.name, input, text, self.metadata, self.state)
        return self._block


class ResultDraft:
    """What comes of a call: text, data and whole blocks, in order (R10)."""

    __slots__ = (
        "_data",
        "call",
        "id",
        "metadata",
        "name",
        "open",
        "parts",
        "state",
        "suspended",
        "text",
        "whole",
    )

    def __init__(self, id: str, name: str, call: CallDraft | None) -> None:
        self.id = id
        self.name = name
        self.call = call
        self.whole: ToolResultBlock | None = None
        self.restart(name)

    def restart(self, name: str) -> None:
        """Begin the output afresh, in its place (R9)."""
        self.name = name or self.name
        self.open = True
        self.suspended = False
        self.state = ToolResultState.RUNNING
        self.metadata: Mapping[str, Any] = NOTHING
        self.parts: list[Draft] = []
        self.text: list[str] | None = None
        self._data: dict[str, DataDraft] = {}

    @classmethod
    def of(cls, block: ToolResultBlock, call: CallDraft | None) -> ResultDraft:
        """Make the draft of a result that was streamed before; one that still runs may go on."""
        draft = cls(block.id, block.name, call)
        draft.end(block.state, block.metadata)
        if draft.open:
            draft.parts.extend(WholeDraft(part) for part in block.output)
        else:
            draft.whole = block
        return draft

    def add_text(self, delta: str) -> None:
        if self.text is not None:
            self.text.append(delta)
        elif delta:
            draft = TextDraft(_text_block)
            draft.chunks.append(delta)
            self.parts.append(draft)
            self.text = draft.chunks

    def add_data(self, event: ToolResultDataDeltaEvent) -> None:
        if event.block is not None:
            self._add(WholeDraft(event.block))
        elif event.url is not None:
            source = URLSource(event.url, event.media_type)
            self._add(WholeDraft(DataBlock(source, self._data_id(event.block_id))))
        elif (known := self._data.get(event.block_id)) is not None:
            known.add(event.data, None, event.media_type)
        elif event.data:
            draft = DataDraft(self._data_id(event.block_id), event.media_type)
            draft.chunks.append(event.data)
            self._add(draft)
            if event.block_id:
                self._data[event.block_id] = draft

    def _add(self, part: Draft) -> None:
        self.parts.append(part)
        self.text = None

    def _data_id(self, block_id: str) -> str:
        return block_id or f"{self.id}-data-{len(self.parts) + 1}"

    def end(self, state: ToolResultState, metadata: Mapping[str, Any]) -> None:
        self.state = state
        self.metadata = metadata
        self.suspended = state is ToolResultState.RUNNING
        if not self.suspended:
            self.open = False
            self.text = None

    def become(self, outcome: ToolResultBlock) -> None:
        """Take an outcome from outside as it is (R12); one that does not say how it ended succeeded."""
        self.open = False
        self.text = None
        self.state = outcome.state
        self.whole = outcome

    def block(self) -> ContentBlock:
        name = self.name or (self.call.name if self.call is not None else "")
        whole = self.whole
        if whole is None:
            output = tuple(part.block() for part in self.parts)
            return ToolResultBlock(self.id, name, output, self.metadata, self.state)
        state = ToolResultState.SUCCESS if whole.state is ToolResultState.RUNNING else whole.state
        if whole.name and state is whole.state:
            return whole
        return ToolResultBlock(whole.id, whole.name or name, whole.output, whole.metadata, state)


class CallGroup:
    """All calls and results of one call id; what a new event means is decided by the newest of them.

    Attributes:
        id: the tool call id.
        call: the newest call; None where only results came.
        result: the newest result.
        fragments: where a fragment of arguments goes; None if it goes nowhere.
    """

    __slots__ = ("_place", "call", "fragments", "id", "result")

    def __init__(self, id: str, place: Callable[[Draft], None]) -> None:
        self.id = id
        self._place = place
        self.call: CallDraft | None = None
        self.result: ResultDraft | None = None
        self.fragments: list[str] | None = None

    @property
    def own_result(self) -> ResultDraft | None:
        """The newest call's newest result."""
        result = self.result
        return result if result is not None and result.call is self.call else None

    def start(self, name: str, model_call: int) -> None:
        call = self.call
        if call is not None and call.model_call == model_call and (call.open or self.own_result is None):
            call.open = True
            if not call.name:
                call.rename(name)
        else:
            call = self.call = CallDraft(self.id, name, model_call)
            self._place(call)
        self.fragments = call.chunks

    def end(self, metadata: Mapping[str, Any] | None) -> bool:
        """End the arguments; return whether fragments may follow, until the next model call begins."""
        call = self.call
        if call is None or not call.open:
            return False
        call.end(metadata)
        if self.own_result is not None:
            self.fragments = None
        return self.fragments is not None

    def go_on_from_call(self, block: ToolUseBlock) -> None:
        self.call = CallDraft.of(block)
        self._place(self.call)

    def go_on_from_result(self, block: ToolResultBlock) -> None:
        self.result = ResultDraft.of(block, self.call)
        self._place(self.result)

    def next_model_call(self) -> None:
        if self.call is not None and not self.call.open:
            self.fragments = None

    def start_result(self, name: str) -> None:
        result, call = self.own_result, self.call
        if result is not None and result.open:
            if result.suspended:
                result.restart(name)
            return
        self._open_result(name)
        if call is not None and not call.open:
            self.fragments = None

    def _open_result(self, name: str) -> ResultDraft:
        result = self.result = ResultDraft(self.id, name, self.call)
        self._place(result)
        return result

    def end_result(self, name: str, state: ToolResultState, metadata: Mapping[str, Any]) -> None:
        result = self.result
        if result is None or not result.open:
            return
        result.name = result.name or name
        result.end(state, metadata)
        if not result.open and result.call is not None:
            result.call.move(ToolCallState.FINISHED)

    def ask(self, state: ToolCallState) -> bool:
        """Put the question of whoever has to answer: the human (asking) or the outside (submitted)."""
        if self.call is None or self.call.finished:
            return False
        self.call.move(state)
        return True

    def answer(self, answer: ConfirmResult) -> None:
        call = self.call
        if call is None or call.state is not ToolCallState.ASKING:
            return
        if answer.confirmed:
            call.move(ToolCallState.ALLOWED)
            if answer.tool_call is not None:
                call.take_over(answer.tool_call)
        else:
            call.move(ToolCallState.FINISHED)

    def outcome(self, outcome: ToolResultBlock) -> None:
        call, result = self.call, self.own_result
        settled = call.finished if call is not None else result is not None and not result.open
        if settled:
            return
        if result is None or not result.open:
            result = self._open_result(outcome.name)
        result.become(outcome)
        if call is not None:
            call.move(ToolCallState.FINISHED)
            if not call.open:
                self.fragments = None


def _text_block(text: str, metadata: Mapping[str, Any] | None) -> ContentBlock:
    return TextBlock(text)


def _same(a: object, b: object) -> bool:
    """Compare JSON values: the order of keys says nothing, but `true` is not `1`."""
    try:
        return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return False


def _write(input: Mapping[str, Any]) -> str:
    try:
        return dumps(dict(input)).decode()
    except ValueError:
        return ""
