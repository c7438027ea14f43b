"""Paths: where they lead, which are dangerous, which lie inside a working directory, what a pattern means.

A path counts twice, and links are followed for it (the file system is read, never written): as it is
written, with `~` expanded and `..` taken back, and as what it really leads to. What permits must hold for
both; for what restricts, one is enough. A link that is changed between the decision and the run is not
noticed: a tool that runs foreign code needs a sandbox, not rules.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, Final, TypeAlias, cast

from agentscope_rx.permission._values import PermissionContextState

__all__ = [
    "DANGEROUS_PATHS",
    "containing_directory",
    "dangerous_pattern",
    "is_dangerous_path",
    "is_in_working_directory",
    "matches_path",
    "texts_in",
    "written",
]

Segments: TypeAlias = tuple[str, ...]

DANGEROUS_PATHS: Final = (
    *(".git", ".gitconfig", ".gitmodules", ".githooks", ".hg", ".svn"),
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout"),
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials", ".pgpass"),
    *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".env", ".envrc", ".env.*"),
    *(".vscode", ".idea", ".claude", ".cursor", ".mcp.json"),
)
"""Files and directories that can run code, or hold secrets, wherever they are; patterns as in rules."""

_ANYWHERE: Final = "**"
_WILD: Final = frozenset("*?[")
_NOWHERE: Final = "\0"
_LONGEST: Final = 32_767
"""Characters of the longest path that a system knows."""


def is_dangerous_path(path: str, patterns: Iterable[str] = DANGEROUS_PATHS) -> bool:
    """Whether a path, or what it leads to, is one of those, or lies beneath one."""
    return dangerous_pattern(path, patterns) is not None


def dangerous_pattern(path: str, patterns: Iterable[str]) -> str | None:
    """Return the first pattern by which a path is dangerous."""
    forms = _path_forms(path)
    return next((pattern for pattern in patterns if _restricts(pattern, forms)), None)


def is_in_working_directory(path: str, context: PermissionContextState) -> bool:
    """Whether a path, and what it leads to, lies inside a working directory of the session."""
    return containing_directory(path, context) is not None


def containing_directory(path: str, context: PermissionContextState) -> str | None:
    """Return the working directory that a path lies in, links and `..` considered."""
    as_written, real = _path_forms(path)
    for directory in context.working_directories.values():
        home, real_home = _path_forms(directory.path)
        if _begins(real, real_home) and (_begins(as_written, home) or _begins(as_written, real_home)):
            return directory.path
    return None


def matches_path(pattern: str, path: str, *, restricts: bool) -> bool:
    """Whether a pattern means a path.

    1. `*`, `?` and `[abc]` stand for characters of one name, `**` for any number of names. `/etc/**`, `/etc/`
       and `/etc:*` mean the directory and everything beneath it. `~` is the home directory.
    2. What permits means exactly that, and a relative pattern begins in the current directory.
    3. What restricts also means everything beneath; a relative pattern begins anywhere, so that `.env` means
       each file of that name, unless it begins with `./` or `../`; and case does not count, since not every
       file system knows it.
    """
    forms = _path_forms(path)
    return _restricts(pattern, forms) if restricts else _permits(pattern, forms)


def written(path: str) -> str:
    """Return a path as it is written: absolute, with `~` expanded, without `..`; links are not followed."""
    return os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 - pathlib keeps the `..`


def texts_in(value: Any) -> list[str]:
    """Return the strings in a JSON value, of lists and objects too."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value).values()
    elif not isinstance(value, list | tuple):
        return []
    return [text for item in cast("Iterable[Any]", value) for text in texts_in(item)]


def _real(path: str) -> str:
    """Return what a path leads to, links followed; the same for what does not exist yet."""
    if len(path) > _LONGEST:
        return _NOWHERE
    try:
        return os.path.realpath(os.path.expanduser(path))  # noqa: PTH111
    except ValueError:  # no path of any file, as one with a null character
        return _NOWHERE


def _path_forms(path: str) -> tuple[Segments, Segments]:
    """Return a path as it is written, and what it leads to."""
    return _segments(written(path)), _segments(_real(path))


def _segments(path: str) -> Segments:
    return PurePath(os.path.normcase(path)).parts


def _folded(segments: Segments) -> Segments:
    return tuple(segment.casefold() for segment in segments)


def _begins(segments: Segments, with_: Segments) -> bool:
    return segments[: len(with_)] == with_


def _permits(pattern: str, path_forms: Iterable[Segments]) -> bool:
    patterns = _pattern_forms(_expanded(pattern))
    return all(any(_match(each, segments) for each in patterns) for segments in path_forms)


def _restricts(pattern: str, path_forms: Iterable[Segments]) -> bool:
    beneath = f"{_expanded(pattern)}/{_ANYWHERE}"
    first, _, rest = beneath.partition("/")
    patterns: list[Segments] = []
    if not os.path.isabs(beneath) and first not in (".", ".."):  # noqa: PTH117
        patterns.append((_ANYWHERE, *_segments(os.path.normpath(beneath))))
    if rest != _ANYWHERE or not patterns:  # a mere name means the same wherever it begins
        patterns += _pattern_forms(beneath)
    folded = {_folded(segments) for segments in path_forms}
    return any(_match(_folded(each), segments) for each in patterns for segments in folded)


def _expanded(pattern: str) -> str:
    """Return a pattern with `~`, and the short forms for all of a directory, written out."""
    pattern = os.path.expanduser(pattern)  # noqa: PTH111
    if pattern.endswith(":*"):
        return f"{pattern[:-2]}/{_ANYWHERE}"
    return f"{pattern}{_ANYWHERE}" if pattern.endswith("/") else pattern


def _pattern_forms(pattern: str) -> tuple[Segments, Segments]:
    """Return a pattern as it is written, and with the links followed in the part that is no wildcard."""
    segments = _segments(written(pattern))
    # A file's own name is not followed: a link put there later would choose what a permission means.
    fixed = next((i for i, segment in enumerate(segments) if _WILD & set(segment)), len(segments) - 1)
    followed = _segments(_real(str(PurePath(*segments[:fixed])))) if fixed else ()
    return segments, (*followed, *segments[fixed:])


def _match(pattern: Segments, path: Segments) -> bool:
    """Match names with names; a `**` takes as few as it can, and more if that fails: linear in practice."""
    at, here = 0, 0
    retry: tuple[int, int] | None = None
    while here < len(path):
        if at < len(pattern) and pattern[at] == _ANYWHERE:
            at += 1
            retry = at, here
        elif at < len(pattern) and (pattern[at] == path[here] or fnmatchcase(path[here], pattern[at])):
            at, here = at + 1, here + 1
        elif retry is not None:
            at, here = retry[0], retry[1] + 1
            retry = at, here
        else:
            return False
    return all(segment == _ANYWHERE for segment in pattern[at:])
