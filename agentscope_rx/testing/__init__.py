"""Helpers for tests: the laws of a call, a model that follows a script, ids and times that repeat."""

from agentscope_rx.identity import deterministic as deterministic
from agentscope_rx.testing._laws import (
    CallRecord as CallRecord,
    acheck_call as acheck_call,
    acheck_disposal as acheck_disposal,
    check_call as check_call,
    check_disposal as check_disposal,
    check_subagents as check_subagents,
)
from agentscope_rx.testing._scripted_model import (
    Pause as Pause,
    ScriptedCall as ScriptedCall,
    ScriptedModel as ScriptedModel,
    pause as pause,
    thinking as thinking,
    tool_call as tool_call,
)

__all__ = [
    "CallRecord",
    "Pause",
    "ScriptedCall",
    "ScriptedModel",
    "acheck_call",
    "acheck_disposal",
    "check_call",
    "check_disposal",
    "check_subagents",
    "deterministic",
    "pause",
    "thinking",
    "tool_call",
]
