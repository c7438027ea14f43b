"""What a tool gives, as content blocks; and content blocks, as events. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast, final

import msgspec
from attrs import evolve, frozen

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

__all__ = ["ResultWriter", "as_item", "as_result", "as_text"]


def as_result(value: Any) -> ToolResultBlock:
    """Read what a tool returns.

    1. A `ToolResultBlock` is taken as it is; while it says `running` it means success, unless it is
       suspended: then it has no output.
    2. A content block, or a list of nothing but content blocks, is the output.
    3. A string is text as it is. None is no output: what counts is what was emitted.
    4. Anything else is JSON text.
    """
    if isinstance(value, ToolResultBlock):
        if value.is_suspended:
            return evolve(value, output=(), state=ToolResultState.RUNNING)
        running = value.state is ToolResultState.RUNNING
        return evolve(value, state=ToolResultState.SUCCESS) if running else value
    if value is None:
        output: tuple[ContentBlock, ...] = ()
    elif isinstance(value, ContentBlock):
        output = (value,)
    elif blocks := _only_blocks(value):
        output = blocks
    else:
        output = (TextBlock(as_text(value)),)
    return ToolResultBlock("", "", output, state=ToolResultState.SUCCESS)


def _only_blocks(value: Any) -> tuple[ContentBlock, ...]:
    if not isinstance(value, (list, tuple)):
        return ()
    items = tuple(cast("list[Any]", value))
    return items if all(isinstance(item, ContentBlock) for item in items) else ()


def as_item(value: Any) -> ContentBlock:
    """Read what a generator yields: as what a tool returns, but JSON is a line each."""
    if isinstance(value, ContentBlock):
        return value
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
@frozen
class ResultWriter:
    """Writes the events of one call's result."""

    call: ToolUseBlock
    reply_id: str

    def start(self) -> AgentEvent:
        """The tool begins."""
        return ToolResultStartEvent(self.reply_id, self.call.id, self.call.name)

    def deltas(self, emitted: Emitted) -> Iterator[AgentEvent]:
        """What it has sent: text, data, a whole result's output, or the wish to stop."""
        if isinstance(emitted, RequestStopEvent):
            yield evolve(emitted, reply_id=self.reply_id)
        elif isinstance(emitted, ToolResultBlock):
            for block in emitted.output:
                yield from self._delta(block, emitted.metadata)
        else:
            yield from self._delta(emitted, EMPTY)

    def end(self, state: ToolResultState, metadata: Mapping[str, Any] = EMPTY) -> AgentEvent:
        """The tool has ended."""
        return ToolResultEndEvent(self.reply_id, self.call.id, self.call.name, state, metadata=metadata)

    def result(self, result: ToolResultBlock) -> Iterator[AgentEvent]:
        """What it has returned, and its end."""
        for block in result.output:
            yield from self._delta(block, EMPTY)
        yield self.end(result.state, result.metadata)

    def error(self, message: str, *, below: bool = False) -> Iterator[AgentEvent]:
        """What went wrong, in words that the model can act on, and its end; `below` what was sent before."""
        if below:
            yield from self._delta(TextBlock("\n"), EMPTY)
        yield from self.result(ToolResultBlock.error(message))

    def _delta(self, block: ContentBlock, metadata: Mapping[str, Any]) -> Iterator[AgentEvent]:
        call, reply_id = self.call, self.reply_id
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
