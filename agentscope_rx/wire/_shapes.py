"""What a class looks like on the wire, as far as its fields do not say it themselves.

A class without an entry takes that of its nearest base. Order of attributes, names and nulls are Java's;
what is `added` is ours or the document's, and left out under `java=True`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, final

from attrs import evolve, frozen

from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AllToolsDeniedEvent,
    ConfirmResult,
    CustomEvent,
    DataBlockDeltaEvent,
    DataBlockStartEvent,
    ErrorInfo,
    ModelCallStartEvent,
    RequestStopEvent,
    RequireUserConfirmEvent,
    SubagentExposedEvent,
    ToolResultDataDeltaEvent,
)
from agentscope_rx.message import (
    Base64Source,
    ChatUsage,
    ContentBlock,
    DataBlock,
    HintBlock,
    ImageBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    URLSource,
    VideoBlock,
)
from agentscope_rx.permission import (
    AdditionalWorkingDirectory,
    PermissionContextState,
    PermissionDecision,
    PermissionRule,
)
from agentscope_rx.state import (
    AgentState,
    PlanModeContextState,
    ReadCacheEntry,
    SpawnEntry,
    Task,
    TaskContextState,
    ToolContextState,
    ToolkitState,
)

__all__ = ["GENERATE_REASON", "Shape", "shape_of"]

GENERATE_REASON: Final = "agentscope_generate_reason"

_NO_KEYS: Final[Mapping[str, str]] = MappingProxyType({})


@final
@frozen
class Shape:
    """The form of one class.

    Attributes:
        snake: keys are the attributes' own names, not camelCase.
        nulls: what is absent is written as null; else it is left out.
        order: attributes in the order of the wire, if that is not the order of the fields; may name
            properties, which are only written.
        absent: attributes whose empty value means that there is none.
        java_absent: the same, but only under `java=True`; otherwise empty is a value.
        required: attributes that must be there to be read.
        fresh: an id or a time that is missing is made anew; else it is the empty string.
        added: attributes that Java does not know.
        keys: keys that are not made from the attribute's name.
        java_keys: the same, under `java=True`.
        also: other keys from which an attribute is read.
    """

    snake: bool = False
    nulls: bool = False
    order: tuple[str, ...] = ()
    absent: frozenset[str] = frozenset()
    java_absent: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    fresh: bool = False
    added: frozenset[str] = frozenset()
    keys: Mapping[str, str] = _NO_KEYS
    java_keys: Mapping[str, str] = _NO_KEYS
    also: Mapping[str, str] = _NO_KEYS


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_EVENT: Final = Shape(absent=_names("id created_at reply_id block_id tool_call_id metadata suggested_rules"))
_TOOL_BLOCK: Final = Shape(nulls=True, absent=_names("id name"))
_PIXELS: Final = {name: name for name in ("max_frames", "min_pixels", "max_pixels", "total_pixels")}
_STATE: Final = Shape(snake=True, nulls=True, fresh=True)

_SHAPES: Final[dict[type, Shape]] = {
    AgentEvent: _EVENT,
    AgentEndEvent: evolve(_EVENT, added=_names("generate_reason error")),
    AgentResultEvent: evolve(_EVENT, added=_names("reply_id")),
    AllToolsDeniedEvent: evolve(_EVENT, added=_names("reply_id")),
    CustomEvent: evolve(_EVENT, added=_names("reply_id")),
    DataBlockDeltaEvent: evolve(
        _EVENT,
        absent=_EVENT.absent | {"data"},
        added=_names("url media_type"),
        java_keys={"data": "delta"},
        also={"data": "delta"},
    ),
    DataBlockStartEvent: evolve(_EVENT, added=_names("media_type")),
    ModelCallStartEvent: evolve(_EVENT, added=_names("model_name")),
    RequestStopEvent: evolve(_EVENT, added=_names("reply_id")),
    RequireUserConfirmEvent: evolve(_EVENT, added=_names("suggested_rules")),
    SubagentExposedEvent: evolve(_EVENT, added=_names("reply_id")),
    # A text under `data` is `data`, an object is `block`; at most one of them is there.
    ToolResultDataDeltaEvent: evolve(_EVENT, absent=_EVENT.absent | {"data"}, keys={"block": "data"}),
    ConfirmResult: Shape(nulls=True),
    ErrorInfo: Shape(),
    Msg: Shape(
        nulls=True,
        order=("id", "name", "role", "content", "metadata", "timestamp", "usage"),
        absent=_names("id timestamp"),
    ),
    ChatUsage: Shape(
        order=(
            "input_tokens",
            "output_tokens",
            "cached_tokens",
            "time",
            "total_tokens",
            "reasoning_tokens",
        ),
        absent=_names("reasoning_tokens"),
        added=_names("reasoning_tokens"),
    ),
    ContentBlock: Shape(),
    HintBlock: Shape(nulls=True, absent=_names("id"), java_absent=_names("hint")),
    ImageBlock: Shape(also=_PIXELS),
    TextBlock: Shape(added=_names("metadata")),
    DataBlock: Shape(added=_names("metadata")),
    ThinkingBlock: Shape(nulls=True),
    ToolResultBlock: _TOOL_BLOCK,
    ToolUseBlock: _TOOL_BLOCK,
    VideoBlock: Shape(also=_PIXELS),
    Base64Source: Shape(snake=True, required=_names("media_type data"), also={"media_type": "mediaType"}),
    URLSource: Shape(snake=True, required=_names("url")),
    PermissionRule: evolve(_STATE, required=_names("tool_name behavior source")),
    PermissionDecision: Shape(snake=True, required=_names("behavior")),
    AdditionalWorkingDirectory: evolve(_STATE, required=_names("path source")),
    PermissionContextState: _STATE,
    Task: evolve(_STATE, required=_names("subject description")),
    TaskContextState: _STATE,
    PlanModeContextState: _STATE,
    ToolContextState: _STATE,
    ReadCacheEntry: _STATE,
    SpawnEntry: _STATE,
    ToolkitState: Shape(),
    AgentState: evolve(_STATE, added=_names("checkpoint")),
}


def shape_of(cls: type) -> Shape | None:
    """Return the form of a class; None if it is no value of ours."""
    return next((_SHAPES[base] for base in cls.__mro__ if base in _SHAPES), None)
