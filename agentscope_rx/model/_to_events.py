"""A model's answer as events: the lifecycle of its blocks and tool calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from reactivex import Observable, abc

from agentscope_rx._json import dumps
from agentscope_rx.errors import BadModelOutputError, ConfigurationError
from agentscope_rx.event import (
    AgentEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from agentscope_rx.message import (
    Base64Source,
    ChatUsage,
    DataBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from agentscope_rx.model._calls import Call, Calls
from agentscope_rx.model._ids import ReplyIds
from agentscope_rx.model._response import ChatResponse, ToolCallChunk
from agentscope_rx.model._surrogates import Halves
from agentscope_rx.typing import Operator

__all__ = ["AnswerEvents", "to_events"]

_Family: TypeAlias = tuple[
    str, type[TextBlockStartEvent | ThinkingBlockStartEvent],
    type[TextBlockDeltaEvent | ThinkingBlockDeltaEvent], type[TextBlockEndEvent | ThinkingBlockEndEvent],
]  # fmt: skip

_TEXT: Final[_Family] = ("text", TextBlockStartEvent, TextBlockDeltaEvent, TextBlockEndEvent)
_THINKING: Final[_Family] = (
    "thinking", ThinkingBlockStartEvent, ThinkingBlockDeltaEvent, ThinkingBlockEndEvent,
)  # fmt: skip

_CUT: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"})
"""Reasons to finish that leave an answer cut off, in the words of many providers."""


def to_events(*, reply_id: str, model_name: str, ids: ReplyIds) -> Operator[ChatResponse, AgentEvent]:
    """Turn the pieces of a model's answer into the events of one model call.

    1. `ModelCallStart` comes on subscription, `ModelCallEnd` last, with the last usage that there was.
    2. Blocks stand in order of arrival. Text, thinking, data and the start of a tool call end the block
       before them; text that goes on afterwards is a new block.
    3. Tool calls stay open side by side until the answer ends; a fragment goes to its own call.
    4. What providers want back unchanged travels in the End's `metadata["block"]`. It is the last of its
       block: what follows is a new one, also of the same kind.
    5. A call that a limit cuts off before its arguments does not have none: it gets `{`, and cannot run.

    Marble:
        -t-t-|                t = a ChatResponse with text
        MSd-d-(EM|)           M = ModelCallStart and ModelCallEnd; S, d, E = the text block's events
    Shape:  Observable[ChatResponse] of one model call → Observable[AgentEvent].
    Errors: that of the source, after everything open was ended; `BadModelOutputError` for parts that are
        none and for arguments of a call that was never named.
    """
    if not reply_id:
        raise ConfigurationError("reply_id is empty; give the id of the reply that the model call belongs to")

    def operator(source: Observable[ChatResponse]) -> Observable[AgentEvent]:
        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            answer = AnswerEvents(reply_id, model_name, ids)
            emit = observer.on_next

            def on_next(response: ChatResponse) -> None:
                try:
                    events = answer.feed(response)
                except BadModelOutputError as error:
                    on_error(error)
                    return
                for event in events:
                    emit(event)

            def on_error(error: Exception) -> None:
                for event in answer.finish():
                    emit(event)
                observer.on_error(error)

            def on_completed() -> None:
                problem = answer.problem
                if problem is not None:
                    on_error(problem)
                    return
                for event in answer.finish():
                    emit(event)
                observer.on_completed()

            emit(answer.start())
            return source.subscribe(on_next, on_error, on_completed, scheduler=scheduler)

        return Observable(subscribe)

    return operator


class _Open:
    """The text or thinking block that is being written."""

    __slots__ = ("delta", "end", "halves", "id", "kind", "metadata", "start")

    def __init__(self, family: _Family, ids: ReplyIds) -> None:
        self.kind, self.start, self.delta, self.end = family
        self.id = ids.block(self.kind)
        self.halves = Halves()
        self.metadata: dict[str, Any] = {}


class AnswerEvents:
    """The same without Rx: pieces of one answer in, events out."""

    __slots__ = (
        "_calls",
        "_emitted",
        "_finish_reason",
        "_ids",
        "_model_name",
        "_open",
        "_reply_id",
        "_usage",
    )

    def __init__(self, reply_id: str, model_name: str, ids: ReplyIds) -> None:
        self._reply_id = reply_id
        self._model_name = model_name
        self._ids = ids
        self._open: _Open | None = None
        self._calls = Calls()
        self._usage: ChatUsage | None = None
        self._finish_reason = ""
        self._emitted: list[AgentEvent] = []

    def start(self) -> AgentEvent:
        """Return the event that begins the model call."""
        return ModelCallStartEvent(self._reply_id, self._model_name)

    def feed(self, response: ChatResponse) -> list[AgentEvent]:
        """Return the events of a piece."""
        if type(response) is not ChatResponse:  # pyright: ignore[reportUnnecessaryComparison] - models may be untyped
            raise BadModelOutputError(
                f"{self._model_name} sent {response!r}; give ChatResponse, as ChatResponse([TextBlock(…)])"
            )
        for part in response.content:
            match part:
                case TextBlock():
                    self._text(part)
                case ThinkingBlock():
                    self._thinking(part)
                case ToolCallChunk():
                    self._go_on(self._calls.route(part), part.arguments)
                case ToolUseBlock():
                    self._whole_call(part)
                case DataBlock():
                    self._data(part)
                case _:  # pyright: ignore[reportUnnecessaryComparison] - models may be untyped
                    self._refuse(part)
        if response.usage is not None:
            self._usage = response.usage
        self._finish_reason = response.finish_reason or self._finish_reason
        return self._take()

    def finish(self) -> list[AgentEvent]:
        """End the block that is open, the calls in order of their Start, and the model call."""
        self._end_block()
        for call in self._calls.all:
            if call.id:
                self._delta(call, self._spoil(call) or call.finish())
                metadata = _block_metadata(call.metadata)
                self._emitted.append(ToolCallEndEvent(self._reply_id, call.id, call.name, metadata=metadata))
        metadata = {"finishReason": self._finish_reason} if self._finish_reason else {}
        self._emitted.append(ModelCallEndEvent(self._reply_id, self._usage, metadata=metadata))
        return self._take()

    def _spoil(self, call: Call) -> str:
        """Return text that is no object, if a limit cut the answer off before its last call had arguments.

        Nothing reads as an empty object: the call would run without what the model was about to write.
        """
        cut = self._finish_reason.lower() in _CUT and call is self._calls.all[-1]
        return "{" if cut and call.whole is None and call.arguments.empty else ""

    @property
    def problem(self) -> BadModelOutputError | None:
        """What of a whole answer could not become events: arguments of a call that was never named."""
        lost = next((call for call in self._calls.all if not call.id and call.waiting), None)
        if lost is None:
            return None
        return BadModelOutputError(
            f"{self._model_name} sent arguments of a tool call that it never named: {lost.waiting[:200]!r}"
        )

    def _take(self) -> list[AgentEvent]:
        events, self._emitted = self._emitted, []
        return events

    def _text(self, part: TextBlock) -> None:
        if part.text or part.metadata:
            block = self._write(_TEXT, part.text)
            block.metadata.update(part.metadata or {})

    def _thinking(self, part: ThinkingBlock) -> None:
        if part.thinking or part.metadata:
            block = self._write(_THINKING, part.thinking)
            block.metadata.update(part.metadata or {})

    def _write(self, family: _Family, text: str) -> _Open:
        block = self._open
        if block is None or block.kind != family[0] or block.metadata:
            self._end_block()
            block = self._open = _Open(family, self._ids)
            self._emitted.append(block.start(self._reply_id, block.id))
        if text := block.halves.feed(text):
            self._emitted.append(block.delta(self._reply_id, block.id, text))
        return block

    def _end_block(self) -> None:
        block, self._open = self._open, None
        if block is None:
            return
        if text := block.halves.finish():
            self._emitted.append(block.delta(self._reply_id, block.id, text))
        self._emitted.append(block.end(self._reply_id, block.id, metadata=_block_metadata(block.metadata)))

    def _data(self, part: DataBlock) -> None:
        self._end_block()
        reply_id, block_id, source = self._reply_id, self._ids.block("data"), part.source
        self._emitted += (
            DataBlockStartEvent(reply_id, block_id, source.media_type),
            DataBlockDeltaEvent(reply_id, block_id, source.data)
            if isinstance(source, Base64Source)
            else DataBlockDeltaEvent(reply_id, block_id, url=source.url),
            DataBlockEndEvent(reply_id, block_id, metadata=_block_metadata(part.metadata or {})),
        )

    def _whole_call(self, part: ToolUseBlock) -> None:
        text = dumps(dict(part.input)).decode() if part.content is None else part.content
        call = self._calls.begin_whole(part.id, part.name, text)
        call.metadata.update(part.metadata)
        if not call.id:
            self._go_on(call, text)

    def _go_on(self, call: Call, arguments: str) -> None:
        text = call.waiting + call.feed(arguments)
        if not call.name:
            call.waiting = text
            return
        call.waiting = ""
        if not call.id:
            self._end_block()
            call.id = self._ids.call(call.provider_id)
            self._emitted.append(ToolCallStartEvent(self._reply_id, call.id, call.name))
        self._delta(call, text)

    def _delta(self, call: Call, text: str) -> None:
        if text:
            self._emitted.append(ToolCallDeltaEvent(self._reply_id, call.id, call.name, text))

    def _refuse(self, part: object) -> None:
        raise BadModelOutputError(
            f"{self._model_name} sent {part!r} in ChatResponse.content; "
            "give TextBlock, ThinkingBlock, DataBlock, ToolCallChunk or ToolUseBlock"
        )


def _block_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {"block": metadata} if metadata else {}
