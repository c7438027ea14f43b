"""Permission: which tool calls may run unasked."""

from agentscope_rx.permission._values import (
    AdditionalWorkingDirectory as AdditionalWorkingDirectory,
    PermissionBehavior as PermissionBehavior,
    PermissionContextState as PermissionContextState,
    PermissionDecision as PermissionDecision,
    PermissionMode as PermissionMode,
    PermissionRule as PermissionRule,
)

__all__ = [
    "AdditionalWorkingDirectory",
    "PermissionBehavior",
    "PermissionContextState",
    "PermissionDecision",
    "PermissionMode",
    "PermissionRule",
]
