"""Messages and their content blocks: complete turns, as stored in the context and passed between agents."""

from agentscope_rx._frozen import FrozenDict as FrozenDict
from agentscope_rx._partial_json import PartialInput as PartialInput
from agentscope_rx.message._block import (
    SUSPENDED as SUSPENDED,
    AudioBlock as AudioBlock,
    ContentBlock as ContentBlock,
    DataBlock as DataBlock,
    HintBlock as HintBlock,
    ImageBlock as ImageBlock,
    TextBlock as TextBlock,
    ThinkingBlock as ThinkingBlock,
    ToolResultBlock as ToolResultBlock,
    ToolUseBlock as ToolUseBlock,
    VideoBlock as VideoBlock,
)
from agentscope_rx.message._enums import (
    GenerateReason as GenerateReason,
    MsgRole as MsgRole,
    ToolCallState as ToolCallState,
    ToolResultState as ToolResultState,
)
from agentscope_rx.message._msg import (
    STRUCTURED_OUTPUT as STRUCTURED_OUTPUT,
    AssistantMessage as AssistantMessage,
    Msg as Msg,
    SystemMessage as SystemMessage,
    ToolResultMessage as ToolResultMessage,
    UserMessage as UserMessage,
    message_class as message_class,
)
from agentscope_rx.message._open_calls import open_calls as open_calls
from agentscope_rx.message._source import (
    Base64Source as Base64Source,
    MediaSource as MediaSource,
    URLSource as URLSource,
)
from agentscope_rx.message._usage import ChatUsage as ChatUsage

__all__ = [
    "STRUCTURED_OUTPUT",
    "SUSPENDED",
    "AssistantMessage",
    "AudioBlock",
    "Base64Source",
    "ChatUsage",
    "ContentBlock",
    "DataBlock",
    "FrozenDict",
    "GenerateReason",
    "HintBlock",
    "ImageBlock",
    "MediaSource",
    "Msg",
    "MsgRole",
    "PartialInput",
    "SystemMessage",
    "TextBlock",
    "ThinkingBlock",
    "ToolCallState",
    "ToolResultBlock",
    "ToolResultMessage",
    "ToolResultState",
    "ToolUseBlock",
    "URLSource",
    "UserMessage",
    "VideoBlock",
    "message_class",
    "open_calls",
]
