"""What a tool gives, as content blocks; and content blocks, as events. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast, final

import msgspec
from attrs import evolve

from agentscope_rx._frozen import EMPTY
from agentscope_rx._json import JSONError, dumps
from agentscope_rx.event import (
    AgentEvent,
    RequestStopEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.message import (
    Base64Source,
    ContentBlock,
    DataBlock,
    TextBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
)
from agentscope_rx.tool._emitter import Emitted
from agentscope_rx.tool._limit import OutputLimit, Piece, cut

__all__ = ["ResultWriter", "as_item", "as_result", "as_text", "suspension"]

_SUSPENDED: Final = ToolResultBlock.suspended(ToolUseBlock("", ""))
_LEAST_ERROR: Final = 1_000
"""Characters that words about a failure may have, however short the output must be."""

_REASON: Final = "agentscope_suspend_reason"


def as_result(value: Any) -> ToolResultBlock:
    """Read what a tool returns.

    1. A `ToolResultBlock` is taken as it is; while it says `running` it means success, unless it is
       suspended: then it has no output, and its text is the reason.
    2. A content block is the output; so is a list in which there is one: a string beside it is text, and
       anything else JSON text.
    3. A string is text as it is. None is no output: what counts is what was emitted.
    4. Anything else is JSON text.
    """
    if isinstance(value, ToolResultBlock):
        if value.is_suspended:
            reason = "" if value.output == _SUSPENDED.output else value.text_content
            metadata = {**suspension(reason), **value.metadata}
            return evolve(value, output=(), metadata=metadata, state=ToolResultState.RUNNING)
        running = value.state is ToolResultState.RUNNING
        return evolve(value, state=ToolResultState.SUCCESS) if running else value
    if value is None:
        output: tuple[ContentBlock, ...] = ()
    elif isinstance(value, ContentBlock):
        output = (value,)
    elif blocks := _blocks(value):
        output = blocks
    else:
        output = (TextBlock(as_text(value)),)
    return ToolResultBlock("", "", output, state=ToolResultState.SUCCESS)


def _blocks(value: Any) -> tuple[ContentBlock, ...]:
    """Return the content of a list that has a content block in it; nothing of any other value."""
    if not isinstance(value, (list, tuple)):
        return ()
    items = tuple(cast("list[Any]", value))
    if not any(isinstance(item, ContentBlock) for item in items):
        return ()
    return tuple(item if isinstance(item, ContentBlock) else TextBlock(as_text(item)) for item in items)


def suspension(reason: str) -> Mapping[str, Any]:
    """Return the metadata of a result whose outcome comes from outside."""
    return {**_SUSPENDED.metadata, **({_REASON: reason} if reason else {})}


def as_item(value: Any) -> ContentBlock:
    """Read what a generator yields: as what a tool returns, but JSON is a line each."""
    if isinstance(value, ContentBlock):
        return value
    if blocks := _blocks(value):
        return ToolResultBlock("", "", blocks)
    if value is None or isinstance(value, str):
        return TextBlock(value or "")
    return TextBlock(f"{as_text(value)}\n")


def as_text(value: Any) -> str:
    """Write a value for a model: JSON, but a string (a date, an enum of strings) as it is.

    What JSON does not know is written as `str` does.
    """
    try:
        plain = msgspec.to_builtins(value, enc_hook=_unknown_to_json, str_keys=True)
        return plain if isinstance(plain, str) else dumps(plain).decode()
    except (JSONError, TypeError, ValueError, RecursionError):
        return str(value)


def _unknown_to_json(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)  # pydantic's, if the user has it
    return dump(mode="json") if callable(dump) else str(value)


@final
class ResultWriter:
    """Writes the events of one call's result, of which no more text than `max_output` passes."""

    def __init__(self, call: ToolUseBlock, reply_id: str, max_output: float | None = None) -> None:
        self.call = call
        self._reply_id = reply_id
        self._max_output = max_output
        self._limit = OutputLimit(max_output)
        self._in_line = False

    def start(self) -> AgentEvent:
        """The tool begins."""
        return ToolResultStartEvent(self._reply_id, self.call.id, self.call.name)

    def deltas(self, emitted: Emitted) -> Iterator[AgentEvent]:
        """What it has sent: text, data, a whole result's output, the wish to stop, a subagent's event."""
        match emitted:
            case RequestStopEvent():
                yield evolve(emitted, reply_id=self._reply_id)
            case AgentEvent():
                yield emitted
            case ToolResultBlock(output=output, metadata=metadata):
                for block in output:
                    yield from self._written(self._limit.add(block, metadata))
            case _:
                yield from self._written(self._limit.add(emitted))

    def result(self, result: ToolResultBlock) -> Iterator[AgentEvent]:
        """What it has returned, and its end."""
        for block in result.output:
            yield from self._written(self._limit.add(block))
        yield from self._end(result.state, result.metadata)

    def error(self, message: str) -> Iterator[AgentEvent]:
        """What went wrong, in words that the model can act on, below all else; and its end."""
        yield from self._written(self._limit.rest())
        if self._in_line:
            yield from self._delta(TextBlock("\n"), EMPTY)
        limit = self._max_output and max(self._max_output, _LEAST_ERROR)
        error = ToolResultBlock.error(cut(message, limit))
        yield from self._written((block, EMPTY) for block in error.output)
        yield from self._end(error.state)

    def suspended(self, reason: str) -> Iterator[AgentEvent]:
        """Its end, which is none: the outcome comes from outside."""
        yield from self._end(ToolResultState.RUNNING, suspension(reason))

    def _end(self, state: ToolResultState, metadata: Mapping[str, Any] = EMPTY) -> Iterator[AgentEvent]:
        yield from self._written(self._limit.rest())
        yield ToolResultEndEvent(self._reply_id, self.call.id, self.call.name, state, metadata=metadata)

    def _written(self, pieces: Iterable[Piece]) -> Iterator[AgentEvent]:
        for block, metadata in pieces:
            for event in self._delta(block, metadata):
                self._in_line = isinstance(event, ToolResultTextDeltaEvent) and event.delta[-1:] != "\n"
                yield event

    def _delta(self, block: ContentBlock, metadata: Mapping[str, Any]) -> Iterator[AgentEvent]:
        call, reply_id = self.call, self._reply_id
        match block:
            case TextBlock(text=text):
                if text:
                    yield ToolResultTextDeltaEvent(reply_id, call.id, call.name, text, metadata=metadata)
            case DataBlock(source=Base64Source(data=data) as source, id=id, name=None):
                yield ToolResultDataDeltaEvent(
                    reply_id,
                    call.id,
                    call.name,
                    data,
                    media_type=source.media_type,
                    block_id=id,
                    metadata=metadata,
                )
            case DataBlock(source=URLSource(url=url) as source, id=id, name=None):
                yield ToolResultDataDeltaEvent(
                    reply_id,
                    call.id,
                    call.name,
                    url=url,
                    media_type=source.mime_type,
                    block_id=id,
                    metadata=metadata,
                )
            case _:  # the flat forms have no place for a name, for pixels, for thinking
                yield ToolResultDataDeltaEvent(reply_id, call.id, call.name, block=block, metadata=metadata)
