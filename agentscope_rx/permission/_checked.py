"""What the engine asks of a tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias

from agentscope_rx.message import ToolUseBlock
from agentscope_rx.permission._values import PermissionContextState, PermissionDecision, PermissionRule

__all__ = ["CheckPermission", "CheckedTool", "MatchRule", "SuggestRules"]

CheckPermission: TypeAlias = Callable[[Mapping[str, Any], PermissionContextState], PermissionDecision | None]
"""A tool's own opinion of a call, from its arguments; None leaves it to others."""

MatchRule: TypeAlias = Callable[[str, Mapping[str, Any]], bool]
"""Whether the content of a rule means a call with these arguments."""

SuggestRules: TypeAlias = Callable[[Mapping[str, Any]], Iterable[PermissionRule]]
"""Rules that would have avoided the question, narrow ones first."""


class CheckedTool(Protocol):
    """A tool, as far as permission is concerned."""

    @property
    def name(self) -> str:
        """What rules call it."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether it changes nothing."""
        ...

    @property
    def check_permission(self) -> CheckPermission | None:
        """Its own opinion of a call."""
        ...

    @property
    def match_rule(self) -> MatchRule | None:
        """How it reads the content of a rule, instead of the way described in `rule_matches`."""
        ...

    @property
    def suggest_rules(self) -> SuggestRules | None:
        """What it suggests, instead of what `suggest` does."""
        ...

    @property
    def path_arguments(self) -> tuple[str, ...]:
        """The arguments that name what it reads or writes in the file system; it touches nothing else."""
        ...

    @property
    def rule_arguments(self) -> tuple[str, ...]:
        """The arguments that the content of a rule is about; none means the paths, else all texts."""
        ...

    @property
    def dangerous_paths(self) -> tuple[str, ...]:
        """Paths that it asks about in every mode."""
        ...

    def arguments(self, call: ToolUseBlock) -> Mapping[str, Any] | None:
        """Return what the tool would run with, as JSON, defaults too; None if the call cannot run."""
        ...
