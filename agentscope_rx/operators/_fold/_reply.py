"""The fold of one reply, step by step: own events → key → group → message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final

from agentscope_rx.event import (
    AgentEvent,
    AgentStartEvent,
    TextBlockDeltaEvent,
    ThinkingBlockDeltaEvent,
    ToolCallDeltaEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.identity import format_timestamp
from agentscope_rx.message import AssistantMessage, ContentBlock
from agentscope_rx.operators._fold._block_steps import BLOCK_STEPS
from agentscope_rx.operators._fold._call_steps import CALL_STEPS
from agentscope_rx.operators._fold._checkpoint import Seed, copy_to, grow, save
from agentscope_rx.operators._fold._message_steps import MESSAGE_STEPS
from agentscope_rx.operators._fold._own import takes
from agentscope_rx.operators._fold._state import FoldState, Scope

__all__ = ["ReplyFold"]

STEPS: Final[Mapping[type, Callable[[FoldState, Any], None]]] = {
    **BLOCK_STEPS,
    **CALL_STEPS,
    **MESSAGE_STEPS,
}


class ReplyFold(FoldState):
    """One reply's message, as far as its events have come.

    1. An event is the reply's own, or it is passed over.
    2. Its key names a group: a text, a thinking or a data block by `block_id`; a tool call with its result,
       its questions and its answers by `tool_call_id`.
    3. Its step adds to the group, or to what is said about the message as a whole.
    4. The message is the reduce of the groups to their blocks, in order of opening.

    `apply` takes any event, in order of arrival, and never fails; `message` gives the message of this
    moment, which does not change afterwards.

    Args:
        reply_id: the reply; None for the first that speaks.
        seed: a paused message, or a checkpoint, that the events go on from.
        scope: what makes one message.
    """

    __slots__ = ()

    def __init__(
        self, reply_id: str | None = None, *, seed: Seed | None = None, scope: Scope = "reply"
    ) -> None:
        super().__init__(reply_id, scope)
        if seed is not None:
            grow(self, seed)

    @property
    def empty(self) -> bool:
        """Whether no event was this reply's."""
        return self.created_at is None

    @property
    def complete(self) -> bool:
        """Whether the reply has ended, and nothing has started it again."""
        return self.settled

    @property
    def events(self) -> int:
        """How many events the fold has taken, those without an id aside."""
        return len(self.ids)

    def is_foreign(self, event: AgentEvent) -> bool:
        """Return whether an event leaves no trace, since it is another's; in doubt False."""
        if not isinstance(event, AgentEvent) or event.source:  # pyright: ignore[reportUnnecessaryIsInstance] - a stream may carry anything
            return True
        reply_id = getattr(event, "reply_id", "")
        if self.ours or not reply_id:  # it changes who speaks, or keeps its id
            return False
        if self.scope == "call":
            return not isinstance(event, AgentStartEvent)
        return reply_id != self.reply_id

    def apply(self, event: AgentEvent) -> bool:
        """Take the next event of a stream; return whether it was the reply's own, new and in time."""
        # Whatever comes goes the same way: is it the reply's own, and new? Then its key finds its group, and
        # its step is the reduce of that group. Nine events out of ten are deltas, so that theirs is written
        # out, which is 1.5 times faster; for each class apart, because CPython 3.11's inline caches sit in
        # the code: an attribute load that several classes share costs more than one of a single class.
        e: Any = event
        cls = type(event)
        if cls is TextBlockDeltaEvent:
            if e.reply_id == self.speaker and e.source is None:  # its own …
                id = e.id
                ids = self.ids
                if id > ids.newest:  # … and new …
                    ids.newest = id
                    ids.noted.append(id)
                elif not ids.add(id):
                    return False
                try:
                    self.text[e.block_id].chunks.append(e.delta)  # … by its key to its group
                except KeyError:  # no Start
                    return True
                return True
        elif cls is ToolResultTextDeltaEvent:
            if e.reply_id == self.speaker and e.source is None:
                id = e.id
                ids = self.ids
                if id > ids.newest:
                    ids.newest = id
                    ids.noted.append(id)
                elif not ids.add(id):
                    return False
                try:
                    text = self.calls[e.tool_call_id].result.text  # pyright: ignore[reportOptionalMemberAccess]
                except (KeyError, AttributeError):  # no Start
                    return True
                if text is None:  # the first text, or none any more
                    STEPS[cls](self, e)
                else:
                    text.append(e.delta)
                return True
        elif cls is ToolCallDeltaEvent:
            if e.reply_id == self.speaker and e.source is None:
                id = e.id
                ids = self.ids
                if id > ids.newest:
                    ids.newest = id
                    ids.noted.append(id)
                elif not ids.add(id):
                    return False
                try:
                    self.calls[e.tool_call_id].fragments.append(e.delta)  # pyright: ignore[reportOptionalMemberAccess]
                except (KeyError, AttributeError):  # no Start, or complete
                    return True
                return True
        elif cls is ThinkingBlockDeltaEvent and e.reply_id == self.speaker and e.source is None:
            id = e.id
            ids = self.ids
            if id > ids.newest:
                ids.newest = id
                ids.noted.append(id)
            elif not ids.add(id):
                return False
            try:
                self.thinking[e.block_id].chunks.append(e.delta)
            except KeyError:  # no Start
                return True
            return True
        step = STEPS.get(cls)
        if step is None:
            return takes(self, e)
        if e.reply_id == self.speaker and e.source is None:
            id = e.id
            ids = self.ids
            if id > ids.newest:
                ids.newest = id
                ids.noted.append(id)
            elif not ids.add(id):
                return False
        elif not takes(self, e):
            return False
        step(self, e)
        return True

    def content(self) -> tuple[ContentBlock, ...]:
        """Return the blocks so far, in order of opening; what is final at their head is built once."""
        built = self.built
        drafts = islice(self.blocks, len(built), None)
        for draft in drafts:
            block = draft.block()
            if not draft.final:
                return (*built, block, *[later.block() for later in drafts])
            built.append(block)
        return tuple(built)

    def message(self) -> AssistantMessage:
        """Return the message so far."""
        return AssistantMessage(
            content=self.content(),
            name=self.name,
            id=self.message_id or self.reply_id or "",
            timestamp=format_timestamp(self.created_at or ""),
            usage=self.usage,
            generate_reason=self.generate_reason(),
            metadata=self.metadata,
            output_type=self.output_type,
        )

    def checkpoint(self) -> dict[str, Any]:
        """Return all that the fold knows as a JSON value; given as `seed`, it goes on from there."""
        return save(self)

    def copy(self) -> ReplyFold:
        """Return a fold that knows the same, and takes other events from here on."""
        twin = ReplyFold()
        copy_to(twin, self)
        return twin
