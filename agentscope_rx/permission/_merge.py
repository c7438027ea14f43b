"""What an application allows, together with what a session has accepted."""

from __future__ import annotations

from attrs import evolve

from agentscope_rx.permission._suggest import accept_rules
from agentscope_rx.permission._values import PermissionContextState, PermissionMode

__all__ = ["merged"]


def merged(base: PermissionContextState, session: PermissionContextState) -> PermissionContextState:
    """Return `base` with what the session adds: its rules, its directories, and its mode, if it has one.

    What is stored of a session is only what it adds, so that a change of the application's own rules holds
    for old sessions, too.
    """
    rules = [
        rule
        for table in (session.allow_rules, session.deny_rules, session.ask_rules)
        for rules in table.values()
        for rule in rules
    ]
    return evolve(
        accept_rules(base, rules),
        mode=base.mode if session.mode is PermissionMode.DEFAULT else session.mode,
        working_directories={**base.working_directories, **session.working_directories},
    )
