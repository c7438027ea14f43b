"""Permission: which tool calls may run unasked."""

from agentscope_rx.permission._checked import (
    CheckedTool as CheckedTool,
    CheckPermission as CheckPermission,
    MatchRule as MatchRule,
    SuggestRules as SuggestRules,
)
from agentscope_rx.permission._engine import decide as decide
from agentscope_rx.permission._merge import merged as merged
from agentscope_rx.permission._paths import (
    DANGEROUS_PATHS as DANGEROUS_PATHS,
    is_dangerous_path as is_dangerous_path,
    is_in_working_directory as is_in_working_directory,
)
from agentscope_rx.permission._suggest import accept_rules as accept_rules
from agentscope_rx.permission._values import (
    AdditionalWorkingDirectory as AdditionalWorkingDirectory,
    PermissionBehavior as PermissionBehavior,
    PermissionContextState as PermissionContextState,
    PermissionDecision as PermissionDecision,
    PermissionMode as PermissionMode,
    PermissionRule as PermissionRule,
)

__all__ = [
    "DANGEROUS_PATHS",
    "AdditionalWorkingDirectory",
    "CheckPermission",
    "CheckedTool",
    "MatchRule",
    "PermissionBehavior",
    "PermissionContextState",
    "PermissionDecision",
    "PermissionMode",
    "PermissionRule",
    "SuggestRules",
    "accept_rules",
    "decide",
    "is_dangerous_path",
    "is_in_working_directory",
    "merged",
]
