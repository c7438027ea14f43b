"""The fold of one reply, step by step: which events are its own, their key, their group, the message.

An event is the reply's own or is passed over (R2–R4, R19). Its key names a group: a text, a thinking or a
data block, or a tool call with its result, its questions and its answers. Its step changes the group, or
what is said about the message as a whole. The message is the reduce of all blocks, in order of opening.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    ExceedMaxItersEvent,
    ExternalExecutionResultEvent,
    HintBlockEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.identity import format_timestamp
from agentscope_rx.message import (
    AssistantMessage,
    ChatUsage,
    ContentBlock,
    GenerateReason,
    HintBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultBlock,
    ToolUseBlock,
)
from agentscope_rx.operators._fold._call import CallDraft, CallGroup, ResultDraft
from agentscope_rx.operators._fold._drafts import DataDraft, Draft, TextDraft, WholeDraft
from agentscope_rx.operators._fold._reasons import OPEN, Reasons

__all__ = ["ReplyFold", "Scope"]

Scope: TypeAlias = Literal["reply", "call"]
"""What makes one message: all events of one `reply_id`, or all from an AgentStart to its AgentEnd."""

STRUCTURED_OUTPUT: Final = "_structured_output"
RESTARTS: Final = {AgentStartEvent, UserConfirmResultEvent, ExternalExecutionResultEvent}
NOTHING: Final[Mapping[str, Any]] = {}


class ReplyFold:
    """One reply's message, as far as its events have come.

    `apply` takes any event, in order of arrival, and returns whether it was this reply's, new and in time.
    `message` returns the message of this moment; what has been returned never changes.

    Args:
        reply_id: the reply; None for the first that speaks.
        seed: a paused message that the events go on from.
        scope: what makes one message.
    """

    __slots__ = (
        "blocks",
        "calls",
        "closing",
        "data",
        "metadata",
        "model_call",
        "name",
        "ours",
        "reasons",
        "reply_id",
        "scope",
        "seen",
        "settled",
        "speaker",
        "started",
        "text",
        "thinking",
        "timestamp",
        "usage",
    )

    def __init__(
        self, reply_id: str | None = None, *, seed: Msg | None = None, scope: Scope = "reply"
    ) -> None:
        self.reply_id = reply_id
        self.scope = scope
        self.ours = reply_id is None
        self._clear()
        if seed is not None:
            self._go_on_from(seed)

    def _clear(self) -> None:
        # Who is it that speaks: the reply's id while it does and runs, else None.
        self.speaker: str | None = None
        self.seen: set[str] = set()
        self.settled = False
        self.started = False
        self.timestamp: str | None = None
        self.name: str | None = None
        self.usage: ChatUsage | None = None
        self.metadata: Mapping[str, Any] = NOTHING
        self.reasons = Reasons()
        self.model_call = 0
        self.blocks: list[Draft] = []
        self.text: dict[str, TextDraft] = {}
        self.thinking: dict[str, TextDraft] = {}
        self.data: dict[str, DataDraft] = {}
        self.calls: dict[str, CallGroup] = {}
        self.closing: list[CallGroup] = []

    @property
    def empty(self) -> bool:
        """Whether no event was this reply's."""
        return self.timestamp is None

    @property
    def complete(self) -> bool:
        """Whether the reply has ended, and nothing has started it again."""
        return self.settled

    def apply(self, event: AgentEvent) -> bool:
        """Take the next event of a stream; return whether it was this reply's, new and in time."""
        # Deltas are nine events out of ten. One branch per class, since CPython's inline caches sit in the
        # code: shared attribute loads would cost 60 to 100 ns more per event.
        cls = type(event)
        if cls is TextBlockDeltaEvent:
            if event.reply_id == self.speaker and not event.source:
                id = event.id
                if id in self.seen:
                    if id:
                        return False
                else:
                    self.seen.add(id)
                try:
                    self.text[event.block_id].chunks.append(event.delta)
                except KeyError:
                    pass
                return True
        elif cls is ToolResultTextDeltaEvent:
            if event.reply_id == self.speaker and not event.source:
                id = event.id
                if id in self.seen:
                    if id:
                        return False
                else:
                    self.seen.add(id)
                try:
                    self.calls[event.tool_call_id].result.text.append(event.delta)
                except (KeyError, AttributeError):
                    self._add_result_text(event)
                return True
        elif cls is ToolCallDeltaEvent:
            if event.reply_id == self.speaker and not event.source:
                id = event.id
                if id in self.seen:
                    if id:
                        return False
                else:
                    self.seen.add(id)
                try:
                    self.calls[event.tool_call_id].fragments.append(event.delta)
                except (KeyError, AttributeError):
                    pass
                return True
        elif cls is ThinkingBlockDeltaEvent:
            if event.reply_id == self.speaker and not event.source:
                id = event.id
                if id in self.seen:
                    if id:
                        return False
                else:
                    self.seen.add(id)
                try:
                    self.thinking[event.block_id].chunks.append(event.delta)
                except KeyError:
                    pass
                return True
        if not self._takes(event):
            return False
        step = STEPS.get(cls)
        if step is not None:
            step(self, event)
        return True

    # Which events are the reply's own (R2–R4, R19).

    def _takes(self, event: AgentEvent) -> bool:
        if event.source:
            return False
        reply_id: str = getattr(event, "reply_id", "")
        if not self._is_ours(event, reply_id):
            self.ours = False
            self.speaker = None
            return False
        if event.id:
            if event.id in self.seen:
                return False
            self.seen.add(event.id)
        self.ours = True
        if self.settled:
            if type(event) not in RESTARTS:
                return False
            self.settled = False
            self.reasons.start()
        if reply_id or self.speaker is None:
            self.speaker = reply_id or self.reply_id or ""
        if self.timestamp is None:
            self.timestamp = format_timestamp(event.created_at)
        return True

    def _is_ours(self, event: AgentEvent, reply_id: str) -> bool:
        if self.scope == "call":
            return self._is_of_our_call(event, reply_id)
        if not reply_id:
            return self.ours
        if self.reply_id is None:
            self._clear()
            self.reply_id = reply_id
        return reply_id == self.reply_id

    def _is_of_our_call(self, event: AgentEvent, reply_id: str) -> bool:
        if not isinstance(event, AgentStartEvent):
            return self.ours
        if self.reply_id is None or (self.ours and not self.started):
            self.reply_id = reply_id
        return reply_id == self.reply_id

    # The frame of the reply, and what is said about the message as a whole (R17, R18, R20).

    def _start(self, event: AgentStartEvent) -> None:
        if not self.started:
            self.started = True
            self.timestamp = format_timestamp(event.created_at)
        if self.name is None:
            self.name = event.name

    def _end(self, event: AgentEndEvent) -> None:
        self.settled = True
        self.speaker = None
        self.reasons.end(event.generate_reason, failed=event.error is not None)
        if STRUCTURED_OUTPUT in event.metadata:
            self.metadata = {**self.metadata, STRUCTURED_OUTPUT: event.metadata[STRUCTURED_OUTPUT]}

    def _start_model_call(self, event: ModelCallStartEvent) -> None:
        self.model_call += 1
        for group in self.closing:
            group.next_model_call()
        self.closing.clear()

    def _end_model_call(self, event: ModelCallEndEvent) -> None:
        usage = event.usage
        if usage is not None:
            self.usage = usage if self.usage is None else self.usage + usage

    def _exceed(self, event: ExceedMaxItersEvent) -> None:
        self.reasons.stop(GenerateReason.MAX_ITERATIONS)

    def _request_stop(self, event: RequestStopEvent) -> None:
        self.reasons.stop(event.generate_reason)

    def _result(self, event: AgentResultEvent) -> None:
        if event.result is not None and event.result.generate_reason is not None:
            self.reasons.stop(event.result.generate_reason)

    # Text, thinking and data blocks (R5–R7, R13, R15, R20).

    def _start_text(self, event: TextBlockStartEvent) -> None:
        known = self.text.get(event.block_id)
        if known is None or known.model_call != self.model_call:
            draft = self.text[event.block_id] = TextDraft(TextBlock, self.model_call)
            self.blocks.append(draft)

    def _add_text(self, event: TextBlockDeltaEvent) -> None:
        draft = self.text.get(event.block_id)
        if draft is not None:
            draft.chunks.append(event.delta)

    def _end_text(self, event: TextBlockEndEvent) -> None:
        draft = self.text.pop(event.block_id, None)
        if draft is not None:
            draft.end(provider_metadata(event))

    def _start_thinking(self, event: ThinkingBlockStartEvent) -> None:
        known = self.thinking.get(event.block_id)
        if known is None or known.model_call != self.model_call:
            draft = self.thinking[event.block_id] = TextDraft(ThinkingBlock, self.model_call)
            self.blocks.append(draft)

    def _add_thinking(self, event: ThinkingBlockDeltaEvent) -> None:
        draft = self.thinking.get(event.block_id)
        if draft is not None:
            draft.chunks.append(event.delta)

    def _end_thinking(self, event: ThinkingBlockEndEvent) -> None:
        draft = self.thinking.pop(event.block_id, None)
        if draft is not None:
            draft.end(provider_metadata(event))

    def _start_data(self, event: DataBlockStartEvent) -> None:
        known = self.data.get(event.block_id)
        if known is None or known.model_call != self.model_call:
            id = event.block_id or f"data-{len(self.blocks) + 1}"
            draft = self.data[event.block_id] = DataDraft(id, event.media_type, self.model_call)
            self.blocks.append(draft)

    def _add_data(self, event: DataBlockDeltaEvent) -> None:
        draft = self.data.get(event.block_id)
        if draft is not None:
            draft.add(event.data, event.url, event.media_type)

    def _end_data(self, event: DataBlockEndEvent) -> None:
        self.data.pop(event.block_id, None)

    def _add_hint(self, event: HintBlockEvent) -> None:
        self.blocks.append(WholeDraft(HintBlock(event.block_id, event.hint, event.hint_source)))

    # Tool calls with their results, questions and answers (R8–R12, R16, R20).

    def _group(self, call_id: str) -> CallGroup:
        group = self.calls.get(call_id)
        if group is None:
            group = self.calls[call_id] = CallGroup(call_id, self.blocks.append)
        return group

    def _start_call(self, event: ToolCallStartEvent) -> None:
        self._group(event.tool_call_id).start(event.tool_call_name, self.model_call)

    def _add_fragment(self, event: ToolCallDeltaEvent) -> None:
        group = self.calls.get(event.tool_call_id)
        if group is not None and group.fragments is not None:
            group.fragments.append(event.delta)

    def _end_call(self, event: ToolCallEndEvent) -> None:
        group = self.calls.get(event.tool_call_id)
        if group is not None and group.end(provider_metadata(event)):
            self.closing.append(group)

    def _start_result(self, event: ToolResultStartEvent) -> None:
        self._group(event.tool_call_id).start_result(event.tool_call_name)

    def _add_result_text(self, event: ToolResultTextDeltaEvent) -> None:
        group = self.calls.get(event.tool_call_id)
        if group is not None and group.result is not None and group.result.open:
            group.result.add_text(event.delta)

    def _add_result_data(self, event: ToolResultDataDeltaEvent) -> None:
        group = self.calls.get(event.tool_call_id)
        if group is not None and group.result is not None and group.result.open:
            group.result.add_data(event)

    def _end_result(self, event: ToolResultEndEvent) -> None:
        group = self.calls.get(event.tool_call_id)
        if group is not None:
            group.end_result(event.tool_call_name, event.state, event.metadata)

    def _ask(self, event: RequireUserConfirmEvent) -> None:
        self._put(event.tool_calls, ToolCallState.ASKING)

    def _submit(self, event: RequireExternalExecutionEvent) -> None:
        self._put(event.tool_calls, ToolCallState.SUBMITTED)

    def _put(self, calls: tuple[ToolUseBlock, ...], state: ToolCallState) -> None:
        groups = [group for call in calls if (group := self.calls.get(call.id)) is not None]
        if any([group.ask(state) for group in groups]):
            self.reasons.stop(OPEN[state], question=True)

    def _answer(self, event: UserConfirmResultEvent) -> None:
        for answer in event.confirm_results:
            if answer.tool_call is not None and (group := self.calls.get(answer.tool_call.id)) is not None:
                group.answer(answer)
        self.reasons.answer(GenerateReason.PERMISSION_ASKING)

    def _outcome(self, event: ExternalExecutionResultEvent) -> None:
        for outcome in event.tool_results:
            self._group(outcome.id).outcome(outcome)
        self.reasons.answer(GenerateReason.TOOL_SUSPENDED)

    # The message.

    def _waits(self, reason: GenerateReason) -> bool:
        return any(isinstance(draft, CallDraft) and OPEN.get(draft.state) is reason for draft in self.blocks)

    def content(self) -> tuple[ContentBlock, ...]:
        """Return the blocks so far, in order of opening."""
        return tuple([draft.block() for draft in self.blocks])

    def message(self) -> AssistantMessage:
        """Return the message so far."""
        return AssistantMessage(
            content=self.content(),
            name=self.name,
            id=self.reply_id or "",
            timestamp=self.timestamp or "",
            usage=self.usage,
            generate_reason=self.reasons.current(self._waits),
            metadata=self.metadata,
        )

    # Going on from a message.

    def _go_on_from(self, message: Msg) -> None:
        if self.reply_id is None:
            self.reply_id = message.id
        self.name = message.name
        self.timestamp = message.timestamp
        self.usage = message.usage
        self.metadata = message.metadata
        self.started = True
        self.ours = True
        if message.generate_reason is not None:
            self.settled = True
            self.reasons.end(message.generate_reason, failed=False)
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                self._group(block.id).go_on_from_call(block)
            elif isinstance(block, ToolResultBlock):
                self._group(block.id).go_on_from_result(block)
            else:
                self.blocks.append(WholeDraft(block))


def provider_metadata(event: AgentEvent) -> Mapping[str, Any] | None:
    """Return what a block's End carries for its provider (R20)."""
    block = event.metadata.get("block")
    return block if isinstance(block, Mapping) else None


STEPS: Final[Mapping[type[AgentEvent], Callable[[ReplyFold, Any], None]]] = {
    # One group per text, thinking or data block.
    TextBlockStartEvent: ReplyFold._start_text,
    TextBlockDeltaEvent: ReplyFold._add_text,
    TextBlockEndEvent: ReplyFold._end_text,
    ThinkingBlockStartEvent: ReplyFold._start_thinking,
    ThinkingBlockDeltaEvent: ReplyFold._add_thinking,
    ThinkingBlockEndEvent: ReplyFold._end_thinking,
    DataBlockStartEvent: ReplyFold._start_data,
    DataBlockDeltaEvent: ReplyFold._add_data,
    DataBlockEndEvent: ReplyFold._end_data,
    HintBlockEvent: ReplyFold._add_hint,
    # One group per tool call, with its result, its questions and its answers.
    ToolCallStartEvent: ReplyFold._start_call,
    ToolCallDeltaEvent: ReplyFold._add_fragment,
    ToolCallEndEvent: ReplyFold._end_call,
    ToolResultStartEvent: ReplyFold._start_result,
    ToolResultTextDeltaEvent: ReplyFold._add_result_text,
    ToolResultDataDeltaEvent: ReplyFold._add_result_data,
    ToolResultEndEvent: ReplyFold._end_result,
    RequireUserConfirmEvent: ReplyFold._ask,
    RequireExternalExecutionEvent: ReplyFold._submit,
    UserConfirmResultEvent: ReplyFold._answer,
    ExternalExecutionResultEvent: ReplyFold._outcome,
    # The message as a whole.
    AgentStartEvent: ReplyFold._start,
    AgentEndEvent: ReplyFold._end,
    AgentResultEvent: ReplyFold._result,
    ModelCallStartEvent: ReplyFold._start_model_call,
    ModelCallEndEvent: ReplyFold._end_model_call,
    ExceedMaxItersEvent: ReplyFold._exceed,
    RequestStopEvent: ReplyFold._request_stop,
}
