"""What the content of a rule means.

In doubt a restriction (a deny or ask rule) means a call, and a permission (an allow rule) does not:
of several texts or paths in a call, one is enough for the first, and all are needed for the second.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from agentscope_rx.permission._checked import CheckedTool
from agentscope_rx.permission._paths import matches_path, texts_in
from agentscope_rx.permission._values import PermissionRule

__all__ = ["matches_text", "means_every_call", "paths_of", "rule_matches", "rule_texts"]

_log = logging.getLogger("agentscope_rx")

_EVERYTHING: Final = frozenset({"*", "**", ":*"})

_OPERATORS: Final = re.compile(r"[;&|<>(){}`\n\r]")
"""What begins another command in a shell."""

_ASSIGNMENTS: Final = re.compile(r"\A(?:\w+=\S*\s+)+")
"""Variables set for one command, in front of it."""

_ANY: Final = r"."
_NO_COMMAND: Final = r"(?:[^;&|<>`\n\r(]|(?<!\$)\()"
"""A character that cannot begin another command in a shell; `(` can behind `$`."""


def rule_matches(
    rule: PermissionRule, tool: CheckedTool, input: Mapping[str, Any], *, restricts: bool
) -> bool:
    """Whether a rule of a tool means a call with these arguments.

    1. A rule without content, or with `*`, means every call.
    2. Else the tool's own matcher decides, if it has one; if that fails, restrictions match.
    3. Else the content is compared with the tool's `rule_arguments`; if it names none, with its
       `path_arguments`; if it has none of these, with all texts in the call. See `matches_path` and
       `matches_text`.
    """
    content = rule.rule_content
    if not content or means_every_call(rule):
        return True
    if tool.match_rule is not None:
        try:
            return bool(tool.match_rule(content, input))
        except MemoryError:
            raise
        except Exception:
            _log.warning("match_rule of tool %s failed on %r", tool.name, content, exc_info=True)
            return restricts
    paths = paths_of(tool, input, about_rules=True)
    matched = [matches_path(content, path, restricts=restricts) for path in paths]
    matched += [matches_text(content, text, restricts=restricts) for text in rule_texts(tool, input)]
    return any(matched) if restricts else bool(matched) and all(matched)


def means_every_call(rule: PermissionRule) -> bool:
    """Whether a rule means its tool as a whole."""
    return not rule.rule_content or rule.rule_content in _EVERYTHING


def paths_of(tool: CheckedTool, input: Mapping[str, Any], *, about_rules: bool = False) -> list[str]:
    """Return the paths that a call names; those that rules are about, if only they are asked for."""
    names = tool.path_arguments
    if about_rules and tool.rule_arguments:
        names = tuple(name for name in names if name in tool.rule_arguments)
    return [path for name in names for path in texts_in(input.get(name))]


def rule_texts(tool: CheckedTool, input: Mapping[str, Any]) -> list[str]:
    """Return the texts, which are no paths, that rules are about."""
    names = tool.rule_arguments or (() if tool.path_arguments else tuple(input))
    return [text for name in names if name not in tool.path_arguments for text in texts_in(input.get(name))]


def matches_text(content: str, text: str, *, restricts: bool) -> bool:
    """Whether the content of a rule means a text, which may be a command.

    1. `git status` means this text; `git *` has any text in the place of `*`; `git log:*` means the command
       `git log` with or without anything behind it, but not `git logout`.
    2. Spaces count as one.
    3. What permits lets `*` stand only for text that begins no other command: `ls:*` does not permit
       `ls; rm -rf /` or `ls $(rm -rf /)`.
    4. What restricts looks at each command in the text, and behind variables that are set for it: `rm:*`
       means `cd / && X=1 rm -rf *` too. It reads text, not programs: `sh script` may do anything.
    """
    if content.strip() == text.strip():
        return True
    pattern = _compiled(content.strip(), restricts)
    if not restricts:
        return pattern.fullmatch(re.sub(r"[ \t]+", " ", text.strip())) is not None
    commands = (" ".join(part.split()) for part in (text, *_OPERATORS.split(text)))
    return any(
        pattern.fullmatch(form) for command in commands for form in (command, _ASSIGNMENTS.sub("", command))
    )


@lru_cache(maxsize=1024)
def _compiled(content: str, restricts: bool) -> re.Pattern[str]:
    gap = _ANY if restricts else _NO_COMMAND
    head = content.removesuffix(":*")
    first, *rest = map(re.escape, re.split(r"\*+", " ".join(head.split())))
    # Atomic: the first place that fits is as good as any later one, and tried texts are not tried again.
    middle = [f"(?>{gap}*?{part})" for part in rest[:-1]]
    last = [f"{gap}*{rest[-1]}"] if rest else []
    tail = f"(?: {gap}*)?" if head != content else ""
    return re.compile("".join([first, *middle, *last, tail]), re.DOTALL)
