"""One value of every class, with every field set, for tests that say something about all of them."""

from __future__ import annotations

from typing import Any, Final

from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    AllToolsDeniedEvent,
    ConfirmResult,
    CustomEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    ErrorInfo,
    ExceedMaxItersEvent,
    ExternalExecutionResultEvent,
    HintBlockEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    SubagentExposedEvent,
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
    UnknownEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.message import (
    AssistantMessage,
    AudioBlock,
    Base64Source,
    ChatUsage,
    ContentBlock,
    DataBlock,
    GenerateReason,
    HintBlock,
    ImageBlock,
    Msg,
    MsgRole,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    ToolUseBlock,
    URLSource,
    UserMessage,
    VideoBlock,
)
from agentscope_rx.permission import PermissionBehavior, PermissionRule

PNG: Final = Base64Source("image/png", "iVBORw0KGgo=")
LINK: Final = URLSource("https://example.com/a.png", "image/png")
CALL: Final = ToolUseBlock(
    "call-1", "search", {"query": "rx"}, '{"query": "rx"}', {"signature": "s"}, ToolCallState.ASKING
)
RESULT: Final = ToolResultBlock(
    "call-1", "search", (TextBlock("found"),), {"took": 2}, ToolResultState.SUCCESS
)
RULE: Final = PermissionRule("search", "rx*", PermissionBehavior.ALLOW, "session")
USAGE: Final = ChatUsage(10, 5, 2, 0.5, 1)

BLOCKS: Final[tuple[ContentBlock, ...]] = (
    TextBlock("hello"),
    ThinkingBlock("hm", {"signature": "s"}),
    DataBlock(PNG, "data-1", "picture"),
    ImageBlock(LINK, 1, 2),
    AudioBlock(Base64Source("audio/wav", "UklGRg==")),
    VideoBlock(LINK, 2.0, 3, 4, 5, 6),
    CALL,
    RESULT,
    HintBlock("hint-1", "be brief", "system"),
)

_COMMON: Final[dict[str, Any]] = {
    "id": "m-1",
    "metadata": {"kind": "sample"},
    "timestamp": "2026-01-02 03:04:05.678",
    "usage": USAGE,
    "generate_reason": GenerateReason.MODEL_STOP,
}

MESSAGES: Final[tuple[Msg, ...]] = (
    Msg("someone", MsgRole.ASSISTANT, BLOCKS, **_COMMON),
    Msg(None, None, "no role", **_COMMON),
    UserMessage("user", "hi", DataBlock(LINK, "data-2"), **_COMMON),
    AssistantMessage("agent", BLOCKS, **_COMMON),
    SystemMessage("system", "be kind", **_COMMON),
    ToolResultMessage("tool", RESULT, **_COMMON),
)

_FRAME: Final[dict[str, Any]] = {
    "id": "e-1",
    "created_at": "2026-01-02T03:04:05.678Z",
    "source": "main/researcher",
    "metadata": {"taskId": "t-1"},
}
_TOOL: Final = ("reply-1", "call-1", "search")

EVENTS: Final[tuple[AgentEvent, ...]] = (
    AgentStartEvent("session-1", "reply-1", "agent", "assistant", **_FRAME),
    AgentEndEvent("reply-1", GenerateReason.INTERRUPTED, ErrorInfo("ModelError", "gone"), **_FRAME),
    AgentResultEvent(MESSAGES[3], reply_id="reply-1", **_FRAME),
    ModelCallStartEvent("reply-1", "gpt", **_FRAME),
    ModelCallEndEvent("reply-1", USAGE, **_FRAME),
    TextBlockStartEvent("reply-1", "text-1", **_FRAME),
    TextBlockDeltaEvent("reply-1", "text-1", "hel", **_FRAME),
    TextBlockEndEvent("reply-1", "text-1", **_FRAME),
    ThinkingBlockStartEvent("reply-1", "thinking-1", **_FRAME),
    ThinkingBlockDeltaEvent("reply-1", "thinking-1", "hm", **_FRAME),
    ThinkingBlockEndEvent("reply-1", "thinking-1", **_FRAME),
    DataBlockStartEvent("reply-1", "data-1", "image/png", **_FRAME),
    DataBlockDeltaEvent("reply-1", "data-1", "iVBORw0KGgo=", media_type="image/png", **_FRAME),
    DataBlockEndEvent("reply-1", "data-1", **_FRAME),
    ToolCallStartEvent(*_TOOL, **_FRAME),
    ToolCallDeltaEvent(*_TOOL, '{"query"', **_FRAME),
    ToolCallEndEvent(*_TOOL, **_FRAME),
    ToolResultStartEvent(*_TOOL, **_FRAME),
    ToolResultTextDeltaEvent(*_TOOL, "fou", **_FRAME),
    ToolResultDataDeltaEvent(*_TOOL, "aGk=", media_type="text/plain", block_id="out-1", **_FRAME),
    ToolResultEndEvent(*_TOOL, ToolResultState.ERROR, **_FRAME),
    ExceedMaxItersEvent("reply-1", 10, 10, **_FRAME),
    RequireUserConfirmEvent("reply-1", (CALL,), {"call-1": (RULE,)}, **_FRAME),
    RequireExternalExecutionEvent("reply-1", (CALL,), **_FRAME),
    UserConfirmResultEvent("reply-1", (ConfirmResult(True, CALL, (RULE,)),), **_FRAME),
    ExternalExecutionResultEvent("reply-1", (RESULT,), **_FRAME),
    RequestStopEvent("enough", GenerateReason.REASONING_STOP_REQUESTED, reply_id="reply-1", **_FRAME),
    SubagentExposedEvent("sub-1", "researcher", "session-2", "Researcher", reply_id="reply-1", **_FRAME),
    HintBlockEvent("reply-1", "hint-1", "system", "be brief", **_FRAME),
    AllToolsDeniedEvent((CALL,), reply_id="reply-1", **_FRAME),
    CustomEvent("progress", {"percent": 40}, reply_id="reply-1", **_FRAME),
    UnknownEvent({"type": "NEWER", "x": 1}, reply_id="reply-1", **_FRAME),
)
