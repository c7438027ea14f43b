"""The closed vocabularies of messages; the values are Java's wire names."""

from __future__ import annotations

from agentscope_rx._repr import Name

__all__ = ["GenerateReason", "MsgRole", "ToolCallState", "ToolResultState"]


class MsgRole(Name):
    """Who speaks in a message."""

    USER = "USER"
    ASSISTANT = "ASSISTANT"
    SYSTEM = "SYSTEM"
    TOOL = "TOOL"


class GenerateReason(Name):
    """Why an assistant message ended where it ended."""

    MODEL_STOP = "MODEL_STOP"
    """The model had nothing more to say."""
    TOOL_CALLS = "TOOL_CALLS"
    """Kept for the wire; never set here."""
    STRUCTURED_OUTPUT = "STRUCTURED_OUTPUT"
    """Kept for the wire; never set here."""
    TOOL_SUSPENDED = "TOOL_SUSPENDED"
    """A tool call waits for its outcome from outside."""
    REASONING_STOP_REQUESTED = "REASONING_STOP_REQUESTED"
    """A middleware asked to stop after reasoning."""
    ACTING_STOP_REQUESTED = "ACTING_STOP_REQUESTED"
    """A middleware asked to stop after acting."""
    PERMISSION_ASKING = "PERMISSION_ASKING"
    """A tool call waits for the user's permission."""
    MIDDLEWARE_STOP_REQUESTED = "MIDDLEWARE_STOP_REQUESTED"
    """A middleware asked to stop and gave no other reason."""
    ALL_TOOLS_DENIED = "ALL_TOOLS_DENIED"
    """The user denied every call and a middleware stopped for it."""
    INTERRUPTED = "INTERRUPTED"
    """The user interrupted the call."""
    MAX_ITERATIONS = "MAX_ITERATIONS"
    """The limit of reasoning and acting rounds was reached."""


class ToolCallState(Name):
    """Where a tool call stands: pending → asking → allowed → submitted → finished."""

    PENDING = "pending"
    ASKING = "asking"
    ALLOWED = "allowed"
    SUBMITTED = "submitted"
    FINISHED = "finished"


class ToolResultState(Name):
    """How a tool's execution stands; `RUNNING` is a legal end of a tool that suspended itself."""

    SUCCESS = "success"
    ERROR = "error"
    INTERRUPTED = "interrupted"
    DENIED = "denied"
    RUNNING = "running"
