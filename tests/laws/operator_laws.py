"""The operators that the laws are checked on: every exported one, by name, in one form or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import reactivex as rx
from attrs import evolve, frozen

from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    CustomEvent,
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
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UnknownEvent,
)
from agentscope_rx.identity import deterministic
from agentscope_rx.message import ChatUsage, GenerateReason
from agentscope_rx.operators import (
    Snapshot,
    blocks,
    by_source,
    coalesce,
    flat_map_sequential,
    group_reduce,
    map_type,
    of_type,
    reduce_with,
    retry_before_first_event,
    scan_with,
    snapshots,
    switch_if_empty,
    text,
    to_msg,
    to_msgs,
    well_formed,
    with_source,
)
from agentscope_rx.typing import Operator

__all__ = ["CONVERSATION", "LAWS", "LONG", "Law", "conversation"]

CHILD: Final = "main/researcher"


def conversation() -> tuple[AgentEvent, ...]:
    """Make a reply with everything in it: reasoning, text, a tool that is a subagent, unknown things."""
    with deterministic("law"):
        return _events()


def _events() -> tuple[AgentEvent, ...]:
    call = ("r", "call-1", "research")
    child = ("r2", "text-1")
    return (
        AgentStartEvent("session", "r", "agent"),
        ModelCallStartEvent("r", "model"),
        ThinkingBlockStartEvent("r", "thinking-1"),
        ThinkingBlockDeltaEvent("r", "thinking-1", "hm"),
        ThinkingBlockEndEvent("r", "thinking-1"),
        TextBlockStartEvent("r", "text-1"),
        TextBlockDeltaEvent("r", "text-1", "Let me "),
        TextBlockDeltaEvent("r", "text-1", "see.", metadata={"cursor": 7}),
        TextBlockEndEvent("r", "text-1"),
        ToolCallStartEvent(*call),
        ToolCallDeltaEvent(*call, '{"q":'),
        ToolCallDeltaEvent(*call, '"rx"}'),
        ToolCallEndEvent(*call),
        ModelCallEndEvent("r", ChatUsage(10, 5)),
        ToolResultStartEvent(*call),
        TextBlockStartEvent(*child, source=CHILD),
        TextBlockDeltaEvent(*child, "found", source=CHILD),
        CustomEvent("progress", {"percent": [40]}),
        TextBlockEndEvent(*child, source=CHILD),
        ToolResultTextDeltaEvent(*call, "found it"),
        ToolResultEndEvent(*call),
        UnknownEvent({"type": "NEWER", "x": {"y": 1}}),
        ModelCallStartEvent("r", "model"),
        TextBlockStartEvent("r", "text-2"),
        TextBlockDeltaEvent("r", "text-2", "Here."),
        TextBlockEndEvent("r", "text-2"),
        ModelCallEndEvent("r", ChatUsage(20, 7)),
        AgentEndEvent("r", GenerateReason.MODEL_STOP),
    )


CONVERSATION: Final = conversation()

LONG: Final[tuple[AgentEvent, ...]] = (
    *CONVERSATION[:6],
    *(TextBlockDeltaEvent("r", "text-1", "word ") for _ in range(20_000)),
    *CONVERSATION[8:],
)
"""The same with 20 000 deltas."""


def _itself(item: Any) -> Any:
    return item


@frozen
class Law:
    """One form of an operator.

    Attributes:
        make: makes the operator, as a user writes it.
        shown: what of an item is compared.
        calling: makes the operator around a function of the user's.
    """

    make: Callable[[], Operator[Any, Any]]
    shown: Callable[[Any], Any] = _itself
    calling: Callable[[Callable[..., Any]], Operator[Any, Any]] | None = None


def _shout(event: TextBlockDeltaEvent) -> AgentEvent:
    return evolve(event, delta=event.delta.upper())


def _of_block(event: AgentEvent) -> str:
    return getattr(event, "block_id", "")


def _append(seen: list[str], event: AgentEvent) -> list[str]:
    seen.append(event.id)  # in place, so that a shared seed would show
    return seen


def _ends(event: AgentEvent) -> bool:
    return isinstance(event, TextBlockEndEvent)


def _moment(snapshot: Snapshot) -> Any:
    return snapshot.message, snapshot.complete


def _copy(items: list[str]) -> list[str]:
    return items.copy()


LAWS: Final[Mapping[str, tuple[Law, ...]]] = {
    "blocks": (Law(lambda: blocks()),),
    "by_source": (Law(lambda: by_source(CHILD)),),
    "coalesce": (Law(lambda: coalesce()), Law(lambda: coalesce(2)), Law(lambda: coalesce(timespan=None))),
    "flat_map_sequential": (
        Law(lambda: flat_map_sequential(rx.of), calling=flat_map_sequential),
        Law(lambda: flat_map_sequential(rx.of, 2), calling=lambda f: flat_map_sequential(f, 2)),
    ),
    "group_reduce": (
        Law(
            lambda: group_reduce(_of_block, _append, seed=list, until=_ends),
            shown=_copy,
            calling=lambda f: group_reduce(f, _append, seed=list),
        ),
        Law(
            lambda: group_reduce(_of_block, lambda first, _: first),
            calling=lambda f: group_reduce(_of_block, f),
        ),
        Law(
            lambda: group_reduce(_of_block, _append, seed=list),
            shown=_copy,
            calling=lambda f: group_reduce(_of_block, _append, seed=f),
        ),
        Law(
            lambda: group_reduce(_of_block, lambda _, last: last, until=_ends),
            calling=lambda f: group_reduce(_of_block, lambda _, last: last, until=f),
        ),
    ),
    "map_type": (
        Law(lambda: map_type(TextBlockDeltaEvent, _shout), calling=lambda f: map_type(AgentEvent, f)),
        Law(lambda: map_type(AgentEvent, lambda event: None if event.source else event)),
    ),
    "of_type": (Law(lambda: of_type(TextBlockDeltaEvent)), Law(lambda: of_type(AgentEvent))),
    "reduce_with": (
        Law(lambda: reduce_with(list, _append), calling=lambda f: reduce_with(list, f)),
        Law(lambda: reduce_with(list, _append), calling=lambda f: reduce_with(f, _append)),
    ),
    "retry_before_first_event": (Law(lambda: retry_before_first_event(3)),),
    "scan_with": (
        Law(lambda: scan_with(int, lambda count, _: count + 1), calling=lambda f: scan_with(int, f)),
        Law(lambda: scan_with(list, lambda seen, event: [*seen[-3:], event.id]), shown=_copy),
    ),
    "snapshots": (Law(lambda: snapshots(), shown=_moment),),
    "switch_if_empty": (Law(lambda: switch_if_empty(rx.of("other"))),),
    "text": (Law(lambda: text()),),
    "to_msg": (Law(lambda: to_msg()), Law(lambda: to_msg("r")), Law(lambda: to_msg(scope="call"))),
    "to_msgs": (Law(lambda: to_msgs()),),
    "well_formed": (Law(lambda: well_formed()),),
    "with_source": (Law(lambda: with_source(CHILD)),),
}
"""Every exported operator; `tests/test_public_surface.py` misses one that is not here."""
