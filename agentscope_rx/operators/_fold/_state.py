"""What a fold knows of a reply."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, Literal, TypeAlias

from agentscope_rx._frozen import EMPTY
from agentscope_rx.message import ChatUsage, ContentBlock, GenerateReason
from agentscope_rx.operators._fold._call import CallDraft
from agentscope_rx.operators._fold._drafts import DataDraft, Draft, TextDraft
from agentscope_rx.operators._fold._group import CallGroup
from agentscope_rx.operators._fold._ids import Ids
from agentscope_rx.operators._fold._reasons import Reasons

__all__ = ["FoldState", "Scope"]

Scope: TypeAlias = Literal["reply", "call"]
"""What makes one message: all events of one `reply_id`, or all from an AgentStart to its AgentEnd."""

FINAL: Final = frozenset(
    {
        GenerateReason.MODEL_STOP,
        GenerateReason.STRUCTURED_OUTPUT,
        GenerateReason.INTERRUPTED,
        GenerateReason.MAX_ITERATIONS,
    }
)
"""Reasons behind which nothing follows; the others are of pauses and stops, and none of a failure."""


class FoldState:
    """A reply, as far as its events have come.

    Attributes:
        reply_id: the reply; None until the first one speaks.
        scope: what makes one message.
        ours: whether the event before this one was the reply's.
        speaker: the reply id that needs no second look: that of the event before, if that was the reply's
            and the reply runs; else None.
        ids: the events that were the reply's.
        settled: whether the reply has ended.
        started: whether its AgentStart has come.
        model_call: how many model calls have begun.
        blocks: all blocks, in order of opening.
        built: what the first of them have become for good.
        text, thinking, data: the open blocks by their `block_id`.
        calls: the groups by their `tool_call_id`.
        ending: groups whose call has ended in this model call.
        asked: the calls that wait for an answer, and maybe some that did.
        message_id, name, created_at, usage, metadata: of the message; its id is the reply's if it has none.
        output_type: what the message's structured output is read as; no checkpoint holds it.
        reasons: why the reply stops.
    """

    __slots__ = (
        "asked",
        "blocks",
        "built",
        "calls",
        "created_at",
        "data",
        "ending",
        "ids",
        "message_id",
        "metadata",
        "model_call",
        "name",
        "ours",
        "output_type",
        "reasons",
        "reply_id",
        "scope",
        "settled",
        "speaker",
        "started",
        "text",
        "thinking",
        "usage",
    )

    def __init__(self, reply_id: str | None, scope: Scope) -> None:
        self.reply_id = reply_id
        self.scope: Scope = scope
        self.ours = reply_id is None
        self.ids = Ids()
        self.clear()

    def begin(self, reply_id: str) -> None:
        """Let the first reply speak: what came before belongs to none."""
        self.clear()
        self.reply_id = reply_id

    def clear(self) -> None:
        """Forget what the events have said; that they came is still known."""
        self.speaker: str | None = None
        self.settled = False
        self.started = False
        self.model_call = 0
        self.blocks: list[Draft] = []
        self.built: list[ContentBlock] = []
        self.text: dict[str, TextDraft] = {}
        self.thinking: dict[str, TextDraft] = {}
        self.data: dict[str, DataDraft] = {}
        self.calls: dict[str, CallGroup] = {}
        self.ending: list[CallGroup] = []
        self.asked: dict[CallDraft, None] = {}
        self.message_id: str | None = None
        self.name: str | None = None
        self.created_at: str | None = None
        self.usage: ChatUsage | None = None
        self.metadata: Mapping[str, Any] = EMPTY
        self.output_type: Any = None
        self.reasons = Reasons()

    def group(self, call_id: str) -> CallGroup:
        """Return the group of a call id; a new one if there is none."""
        group = self.calls.get(call_id)
        if group is None:
            group = self.calls[call_id] = CallGroup(call_id, self.blocks)
        return group

    def generate_reason(self) -> GenerateReason | None:
        """Return why the reply has ended, as far as one knows."""
        return self.reasons.current({call.state for call in self._waiting()})

    @property
    def waits(self) -> bool:
        """Whether a call waits for an answer or an outcome."""
        return bool(self._waiting())

    @property
    def finished(self) -> bool:
        """Whether the reply has ended, and nobody is expected to go on with it."""
        return self.settled and not self.waits and self.generate_reason() in FINAL

    @property
    def suspended(self) -> frozenset[str]:
        """The ids of unfinished calls whose tool has ended `running`: their outcome comes from outside."""
        return frozenset(id for id, group in self.calls.items() if group.is_suspended)

    @property
    def torn(self) -> frozenset[str]:
        """The ids of calls whose result has begun and not ended."""
        return frozenset(id for id, group in self.calls.items() if group.is_torn)

    def has_result(self, call_id: str) -> bool:
        """Return whether the newest call of that id has a result, and not one that comes later."""
        group = self.calls.get(call_id)
        result = None if group is None else group.own_result
        return result is not None and not result.open

    @property
    def superseded(self) -> frozenset[str]:
        """The ids of unfinished calls that were made before the newest model call."""
        calls = ((id, group.call) for id, group in self.calls.items())
        return frozenset(
            id
            for id, call in calls
            if call is not None and not call.finished and 0 <= call.model_call < self.model_call
        )

    def _waiting(self) -> Collection[CallDraft]:
        self.asked = {call: None for call in self.asked if call.waits}
        return self.asked
