"""The decision about one tool call. Pure, but for what it reads: links in paths, and the tool's own check."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, TypeAlias, final

from attrs import evolve, frozen

from agentscope_rx._frozen import freeze_or_none
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import ToolCallState, ToolUseBlock
from agentscope_rx.permission._checked import CheckedTool, CheckPermission
from agentscope_rx.permission._match import means_every_call, paths_of, rule_matches
from agentscope_rx.permission._paths import containing_directory, dangerous_pattern
from agentscope_rx.permission._suggest import suggest
from agentscope_rx.permission._values import (
    PermissionBehavior,
    PermissionContextState,
    PermissionDecision,
    PermissionMode,
    PermissionRule,
)

__all__ = ["decide"]

_log = logging.getLogger("agentscope_rx")


def decide(
    call: ToolUseBlock, tool: CheckedTool | None, context: PermissionContextState, *, configured: bool = True
) -> PermissionDecision:
    """Decide whether a call runs: allow, deny or ask.

    1. The first step that has an opinion decides; see `_STEPS`.
    2. A call that a human has approved runs, unless a deny rule or the tool itself denies it.
    3. What would ask about a call that cannot run, since its tool is unknown or its arguments do not fit,
       lets it go on: its result will say what is wrong. In the mode `dont_ask` what would ask denies.
    4. Without a permission configuration (`configured=False` and the default mode) what nobody objects to
       runs: only the tool's own check counts, and rules that were accepted about it.
    5. A check that fails is a question of safety.

    The call is to be run with `updated_input`, if that is not None.
    """
    asked = _Question(call, tool, context)
    decision = next(opinion for step in _steps(asked, configured) if (opinion := step(asked)) is not None)
    if decision.behavior is not PermissionBehavior.ASK:
        return decision
    if asked.input is None:
        return PermissionDecision.allow(decision_reason="the call cannot run")
    if context.mode is PermissionMode.DONT_ASK:
        return PermissionDecision.deny(
            f"Permission denied: nobody can be asked. {decision.message}".rstrip(),
            f"mode dont_ask; {decision.decision_reason}",
        )
    return decision


@final
@frozen
class _Question:
    """A call, and what can be found out about it."""

    call: ToolUseBlock
    tool: CheckedTool | None
    context: PermissionContextState

    @property
    def mode(self) -> PermissionMode:
        return self.context.mode

    @property
    def reads_only(self) -> bool:
        return self.tool is not None and self.tool.read_only

    @cached_property
    def input(self) -> Mapping[str, Any] | None:
        """The arguments as the tool will get them; None if the call cannot run."""
        arguments = None if self.tool is None else self.tool.arguments(self.call)
        return freeze_or_none(arguments)

    @cached_property
    def own(self) -> PermissionDecision:
        """What the tool itself says."""
        if self.tool is None or self.tool.check_permission is None or self.input is None:
            return PermissionDecision.passthrough()
        return _opinion(self.tool, self.tool.check_permission, self.input, self.context)

    @cached_property
    def paths(self) -> list[str]:
        """The paths that the call names."""
        if self.tool is None or not self.tool.path_arguments or self.input is None:
            return []
        return paths_of(self.tool, self.input)

    def rule(self, rules: Mapping[str, tuple[PermissionRule, ...]], *, restricts: bool) -> str | None:
        """Return the first rule that means the call, in words."""
        for rule in rules.get(self.call.name, ()):
            if self._is_meant(rule, restricts):
                return f"{self.call.name}({rule.rule_content})" if rule.rule_content else self.call.name
        return None

    def allow(self, reason: str) -> PermissionDecision:
        return evolve(PermissionDecision.allow(decision_reason=reason), updated_input=self.own.updated_input)

    def _is_meant(self, rule: PermissionRule, restricts: bool) -> bool:
        if means_every_call(rule):
            return True
        if self.tool is None or self.input is None:
            return False
        return rule_matches(rule, self.tool, self.input, restricts=restricts)


def _opinion(
    tool: CheckedTool,
    check: CheckPermission,
    input: Mapping[str, Any],
    context: PermissionContextState,
) -> PermissionDecision:
    try:
        said = check(input, context)
        if said is None:
            return PermissionDecision.passthrough()
        if not isinstance(said, PermissionDecision):  # pyright: ignore[reportUnnecessaryIsInstance] - users may be untyped
            raise ConfigurationError(
                f"check_permission of tool {tool.name!r} returned {said!r}; "
                "return a PermissionDecision, as PermissionDecision.ask('…'), or None"
            )
    except MemoryError:
        raise
    except Exception as error:
        _log.warning("check_permission of tool %s failed", tool.name, exc_info=True)
        words = f"{type(error).__name__}: {error}".removesuffix(": ")
        return PermissionDecision.ask(f"The permission check of {tool.name!r} failed: {words}", "safety")
    return said


_Step: TypeAlias = Callable[[_Question], PermissionDecision | None]
"""An opinion about a call, or None."""


def _deny_rules(asked: _Question) -> PermissionDecision | None:
    rule = asked.rule(asked.context.deny_rules, restricts=True)
    return (
        None if rule is None else PermissionDecision.deny("Permission denied by rules", f"deny rule {rule}")
    )


def _ask_rules(asked: _Question) -> PermissionDecision | None:
    rule = asked.rule(asked.context.ask_rules, restricts=True)
    return None if rule is None else PermissionDecision.ask(_required(asked), f"ask rule {rule}")


def _own_deny(asked: _Question) -> PermissionDecision | None:
    if asked.own.behavior is not PermissionBehavior.DENY:
        return None
    message = asked.own.message or f"Permission denied by tool {asked.call.name!r}"
    return PermissionDecision.deny(message, asked.own.decision_reason or "the tool's own check")


def _own_safety_ask(asked: _Question) -> PermissionDecision | None:
    if asked.own.behavior is PermissionBehavior.ASK and asked.own.is_safety:
        # An accepted rule would not avoid this question.
        return evolve(asked.own, message=asked.own.message or _required(asked), suggested_rules=None)
    patterns = asked.tool.dangerous_paths if asked.tool is not None else ()
    for path in asked.paths:
        pattern = dangerous_pattern(path, patterns)
        if pattern is not None:
            message = f"{asked.call.name} wants to use {path}, which is protected"
            return PermissionDecision.ask(message, f"safety: dangerous path {pattern}")
    return None


def _explore(asked: _Question) -> PermissionDecision | None:
    if asked.mode is not PermissionMode.EXPLORE:
        return None
    if asked.reads_only:
        return asked.allow("mode explore, and the tool only reads")
    message = f"Permission denied: {asked.call.name!r} may change something, and only reading is allowed now"
    return PermissionDecision.deny(message, "mode explore")


def _read_only(asked: _Question) -> PermissionDecision | None:
    return asked.allow("the tool only reads") if asked.reads_only else None


def _accept_edits(asked: _Question) -> PermissionDecision | None:
    if asked.mode is not PermissionMode.ACCEPT_EDITS or not asked.paths:
        return None
    inside = [containing_directory(path, asked.context) for path in asked.paths]
    return None if None in inside else asked.allow("inside the working directories")


def _own_allow(asked: _Question) -> PermissionDecision | None:
    return asked.own if asked.own.behavior is PermissionBehavior.ALLOW else None


def _allow_rules(asked: _Question) -> PermissionDecision | None:
    rule = asked.rule(asked.context.allow_rules, restricts=False)
    return None if rule is None else asked.allow(f"allow rule {rule}")


def _bypass(asked: _Question) -> PermissionDecision | None:
    return asked.allow("mode bypass") if asked.mode is PermissionMode.BYPASS else None


def _own_ask(asked: _Question) -> PermissionDecision | None:
    return _ask(asked) if asked.own.behavior is PermissionBehavior.ASK else None


def _ask(asked: _Question) -> PermissionDecision:
    own, offered = asked.own, None
    message, reason = _required(asked), f"mode {asked.mode.value}"
    if own.behavior is PermissionBehavior.ASK:
        message, reason = own.message or message, own.decision_reason or "the tool's own check"
        offered = own.suggested_rules
    helpful = suggest(asked.tool, asked.input, offered) if asked.tool and asked.input is not None else ()
    return PermissionDecision(
        PermissionBehavior.ASK, message, reason, own.updated_input, suggested_rules=helpful
    )


def _approved(asked: _Question) -> PermissionDecision:
    return asked.allow("approved by a human")


def _nobody_objects(asked: _Question) -> PermissionDecision:
    return asked.allow("no permission configuration")


def _required(asked: _Question) -> str:
    return f"Permission required for {asked.call.name!r}"


_STEPS: Final[tuple[_Step, ...]] = (
    _deny_rules,
    _ask_rules,
    _own_deny,
    _own_safety_ask,
    _explore,
    _read_only,
    _accept_edits,
    _own_allow,
    _allow_rules,
    _bypass,
    _ask,
)
"""The order of evaluation."""

_UNCONFIGURED_STEPS: Final[tuple[_Step, ...]] = (
    _deny_rules,
    _ask_rules,
    _own_deny,
    _own_safety_ask,
    _own_allow,
    _allow_rules,
    _own_ask,
    _nobody_objects,
)
"""The order where nobody has said what may run: rules can only have been accepted on a tool's question."""

_APPROVED_STEPS: Final[tuple[_Step, ...]] = (_deny_rules, _own_deny, _approved)
"""The order for a call that has been asked about already, perhaps edited since."""


def _steps(asked: _Question, configured: bool) -> tuple[_Step, ...]:
    if asked.call.state is ToolCallState.ALLOWED:
        return _APPROVED_STEPS
    return _STEPS if configured or asked.mode is not PermissionMode.DEFAULT else _UNCONFIGURED_STEPS
