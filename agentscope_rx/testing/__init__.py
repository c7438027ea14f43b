"""Helpers for tests of agents and operators: a model that follows a script, and ids and times that repeat."""

from agentscope_rx.identity import deterministic as deterministic
from agentscope_rx.testing._scripted_model import (
    Pause as Pause,
    ScriptedCall as ScriptedCall,
    ScriptedModel as ScriptedModel,
    pause as pause,
    thinking as thinking,
    tool_call as tool_call,
)

__all__ = [
    "Pause",
    "ScriptedCall",
    "ScriptedModel",
    "deterministic",
    "pause",
    "thinking",
    "tool_call",
]
