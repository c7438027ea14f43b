"""Rules that would have avoided a question, and what comes of those that the human accepts."""

from __future__ import annotations

import glob
import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final

from attrs import evolve

from agentscope_rx.permission._checked import CheckedTool
from agentscope_rx.permission._match import paths_of, rule_matches, rule_texts
from agentscope_rx.permission._paths import written
from agentscope_rx.permission._values import PermissionBehavior, PermissionContextState, PermissionRule

__all__ = ["accept_rules", "suggest"]

_log = logging.getLogger("agentscope_rx")

_TABLES: Final = {
    PermissionBehavior.ALLOW: "allow_rules",
    PermissionBehavior.DENY: "deny_rules",
    PermissionBehavior.ASK: "ask_rules",
}


def accept_rules(context: PermissionContextState, rules: Iterable[PermissionRule]) -> PermissionContextState:
    """Return the context with more rules, each in the table of its behavior, none of them twice.

    A rule of behavior `passthrough` says nothing. Accepted allow rules do not end deny or ask rules.
    """
    for rule in rules:
        if rule.behavior not in _TABLES:
            continue
        table = _TABLES[rule.behavior]
        by_tool: Mapping[str, tuple[PermissionRule, ...]] = getattr(context, table)
        known = by_tool.get(rule.tool_name, ())
        if all(each.rule_content != rule.rule_content for each in known):
            context = evolve(context, **{table: {**by_tool, rule.tool_name: (*known, rule)}})
    return context


def suggest(
    tool: CheckedTool, input: Mapping[str, Any], own: Iterable[PermissionRule] | None = None
) -> tuple[PermissionRule, ...]:
    """Return allow rules, each of which alone would have avoided the question about a call.

    1. What the tool says, with its decision (`own`) or as its `suggest_rules`, without what would not help.
    2. Else one rule, as narrow as can be: the directory of the paths; the text that rules are about, if it
       is one without a `*`; and where rules are about nothing in particular, or the tool reads them in its
       own way, the whole tool.
    """
    return tuple(
        rule
        for rule in _offered(tool, input, own)
        if rule.behavior is PermissionBehavior.ALLOW
        and rule.tool_name == tool.name
        and rule_matches(rule, tool, input, restricts=False)
    )


def _offered(
    tool: CheckedTool, input: Mapping[str, Any], own: Iterable[PermissionRule] | None
) -> Iterable[PermissionRule]:
    if own is not None:
        return own
    if tool.suggest_rules is not None:
        try:
            return tuple(tool.suggest_rules(input))
        except MemoryError:
            raise
        except Exception:
            _log.warning("suggest_rules of tool %s failed", tool.name, exc_info=True)
            return ()
    return [PermissionRule(tool.name, content, source="suggested") for content in _contents(tool, input)]


def _contents(tool: CheckedTool, input: Mapping[str, Any]) -> Iterator[str | None]:
    """Return the content of the default suggestion, if there is one."""
    if tool.match_rule is not None or not (tool.rule_arguments or tool.path_arguments):
        yield None
        return
    paths, texts = paths_of(tool, input, about_rules=True), rule_texts(tool, input)
    match paths, texts:
        case [_, *_], []:
            yield from _directory(paths)
        case [], [text] if text.strip() and "*" not in text:
            yield text.strip()
        case _:
            pass


def _directory(paths: Iterable[str]) -> Iterator[str]:
    """Return the directory that all paths are in, as a pattern; the root is none to give away."""
    first, *others = (PurePath(written(path)).parent for path in paths)
    for directory in (first, *first.parents):
        if all(other.is_relative_to(directory) for other in others) and directory != directory.parent:
            yield f"{glob.escape(str(directory))}/**"
            return
