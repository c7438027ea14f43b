"""Permission rules and what they are kept in; snake_case on the wire, as Java writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, final

from attrs import field, frozen

from agentscope_rx._check import a, a_str, a_str_or_none, tuple_of
from agentscope_rx._frozen import EMPTY, FrozenDict, freeze, freeze_or_none
from agentscope_rx._repr import Name
from agentscope_rx.errors import ConfigurationError

__all__ = [
    "AdditionalWorkingDirectory",
    "PermissionBehavior",
    "PermissionContextState",
    "PermissionDecision",
    "PermissionMode",
    "PermissionRule",
]


class PermissionMode(Name):
    """How much an agent may do unasked."""

    DEFAULT = "default"
    ACCEPT_EDITS = "accept_edits"
    EXPLORE = "explore"
    BYPASS = "bypass"
    DONT_ASK = "dont_ask"


class PermissionBehavior(Name):
    """What a rule or a tool says about a call; `PASSTHROUGH` leaves it to others."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    PASSTHROUGH = "passthrough"


@final
@frozen
class PermissionRule:
    """What to do with calls of one tool.

    Attributes:
        tool_name: the tool.
        rule_content: which of its calls, in the tool's own words; None means all.
        behavior: what to do with them.
        source: where the rule comes from, as `session` or `suggested`.
    """

    tool_name: str = field(validator=a_str)
    rule_content: str | None = field(default=None, validator=a_str_or_none)
    behavior: PermissionBehavior = field(default=PermissionBehavior.ALLOW, validator=a(PermissionBehavior))
    source: str = field(default="session", validator=a_str)


def _rules(rules: Iterable[PermissionRule] | None) -> tuple[PermissionRule, ...] | None:
    return None if rules is None else tuple_of(PermissionRule, rules)


def _rule_lists(mapping: Mapping[str, Iterable[PermissionRule]]) -> Mapping[str, Any]:
    if not isinstance(mapping, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise ConfigurationError(
            f"the rules are {mapping!r}; give lists of them by tool name, as {{'read': [rule]}}"
        )
    lists = {name: tuple_of(PermissionRule, rules) for name, rules in freeze(mapping).items()}
    return FrozenDict({name: rules for name, rules in lists.items() if rules})


@final
@frozen
class PermissionDecision:
    """What was decided about one call, why, and what would avoid the question next time.

    Attributes:
        behavior: what to do with the call.
        message: for the human who is asked, or for the model that is denied.
        decision_reason: what decided; with the word `safety` in it, a tool's question is asked in every mode.
        updated_input: arguments to run the call with instead of its own.
        suggested_rules: allow rules that would avoid the question.
    """

    behavior: PermissionBehavior = field(validator=a(PermissionBehavior))
    message: str = field(default="", validator=a_str)
    decision_reason: str | None = field(default=None, validator=a_str_or_none)
    updated_input: Mapping[str, Any] | None = field(default=None, converter=freeze_or_none, hash=False)
    suggested_rules: tuple[PermissionRule, ...] | None = field(default=None, converter=_rules)

    @classmethod
    def allow(cls, message: str = "", decision_reason: str | None = None) -> PermissionDecision:
        """Let the call run."""
        return cls(PermissionBehavior.ALLOW, message, decision_reason)

    @classmethod
    def deny(cls, message: str = "", decision_reason: str | None = None) -> PermissionDecision:
        """Refuse the call; the message tells the model why."""
        return cls(PermissionBehavior.DENY, message, decision_reason)

    @classmethod
    def ask(cls, message: str = "", decision_reason: str | None = None) -> PermissionDecision:
        """Ask a human; of `decision_reason="safety"`, whatever the mode and the allow rules say."""
        return cls(PermissionBehavior.ASK, message, decision_reason)

    @classmethod
    def passthrough(cls, message: str = "") -> PermissionDecision:
        """Leave the call to the rules and the mode."""
        return cls(PermissionBehavior.PASSTHROUGH, message)

    @property
    def is_safety(self) -> bool:
        """Whether the decision is about safety, by its reason."""
        return "safety" in (self.decision_reason or "").lower()


@final
@frozen
class AdditionalWorkingDirectory:
    """A directory inside which edits are accepted."""

    path: str = field(validator=a_str)
    source: str = field(default="session", validator=a_str)


@final
@frozen
class PermissionContextState:
    """The permissions of one session: the mode, the directories, and the rules by tool name.

    PermissionContextState(allow_rules={"read": [PermissionRule("read")]})
    """

    mode: PermissionMode = field(default=PermissionMode.DEFAULT, validator=a(PermissionMode))
    working_directories: Mapping[str, AdditionalWorkingDirectory] = field(
        default=EMPTY, converter=freeze, hash=False
    )
    allow_rules: Mapping[str, tuple[PermissionRule, ...]] = field(
        default=EMPTY, converter=_rule_lists, hash=False
    )
    deny_rules: Mapping[str, tuple[PermissionRule, ...]] = field(
        default=EMPTY, converter=_rule_lists, hash=False
    )
    ask_rules: Mapping[str, tuple[PermissionRule, ...]] = field(
        default=EMPTY, converter=_rule_lists, hash=False
    )
