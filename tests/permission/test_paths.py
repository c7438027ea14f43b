"""Paths: dangerous ones, working directories, patterns, and the ways around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentscope_rx.permission import DANGEROUS_PATHS, is_dangerous_path, is_in_working_directory
from agentscope_rx.permission._paths import matches_path, texts_in
from tests.permission.checked import context


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with `ws` (the current directory) and `out` beside it; the path to it holds no link."""
    root = tmp_path.resolve()
    for name in ("ws/docs", "out", "ws-2"):
        (root / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.chdir(root / "ws")
    return root


# pattern | path, both below the home where they begin with it | what an allow rule means | a deny or ask rule
PATTERNS = [
    ("/etc/passwd", "/etc/passwd", True, True),
    ("/etc/passwd", "/etc/passwd2", False, False),
    ("/etc/passwd", "/usr/../etc//./passwd", True, True),
    ("/etc/**", "/etc/passwd", True, True),
    ("/etc/**", "/etc/a/b/c", True, True),
    ("/etc/**", "/etc", True, True),
    ("/etc/**", "/etcetera/x", False, False),
    ("/etc/**", "/var/../etc/x", True, True),
    ("/etc/**", "/etc/../var/x", False, False),
    ("/etc/", "/etc/a/b", True, True),
    ("/etc:*", "/etc/a/b", True, True),
    ("/etc:*", "/etcetera", False, False),
    # a directory as it is: what restricts means what is in it
    ("/etc", "/etc", True, True),
    ("/etc", "/etc/passwd", False, True),
    ("/etc/*", "/etc/passwd", True, True),
    ("/etc/*", "/etc/a/b", False, True),
    ("/etc/*", "/etc", False, False),
    ("/e?c/[pq]*", "/etc/passwd", True, True),
    ("/e?c/[pq]*", "/etc/shadow", False, False),
    ("/a/**/b", "/a/b", True, True),
    ("/a/**/b", "/a/x/y/b", True, True),
    ("/a/**/b", "/a/x/y/c", False, False),
    ("/**/a/**/*.py", "/x/a/y/a/z.py", True, True),
    ("/**/a/**/*.py", "/x/a/y/a/z.js", False, False),
    # a relative pattern begins here, and for what restricts anywhere
    ("notes.txt", "~/ws/notes.txt", True, True),
    ("notes.txt", "notes.txt", True, True),
    ("./notes.txt", "docs/../notes.txt", True, True),
    ("notes.txt", "~/ws/docs/notes.txt", False, True),
    ("*.pem", "/deep/down/key.pem", False, True),
    ("docs/**", "docs/a", True, True),
    ("docs/**", "/other/docs/a", False, True),
    ("../out/*", "~/out/x", True, True),
    ("../out/*", "/out/x", False, False),
    ("./notes.txt", "docs/notes.txt", False, False),
    ("./docs", "docs/a", False, True),
    ("./docs", "/other/docs/a", False, False),
    (".", "a", False, True),
    (".", "/a", False, False),
    ("./", "a/b", True, True),
    ("..", "~/out/x", False, True),
    ("..", "/a", False, False),
    ("~/out/**", "../out/x", True, True),
    ("~/out/**", "~/ws/x", False, False),
    ("/etc/**", "/ETC/passwd", False, True),
    # brackets in a name are brackets, too
    ("/a [b]/x*", "/a [b]/xy", True, True),
    ("/a [b]/x*", "/a b/xy", True, True),
    ("/a [b]/x*", "/a c/xy", False, False),
]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(("pattern", "path", "permits", "restricts"), PATTERNS)
def test_a_pattern_means_a_path(pattern: str, path: str, permits: bool, restricts: bool) -> None:
    assert matches_path(pattern, path, restricts=False) is permits
    assert matches_path(pattern, path, restricts=True) is restricts


def test_what_a_permission_means_a_restriction_means_too() -> None:
    assert [row for row in PATTERNS if row[2] and not row[3]] == []


def test_a_link_out_of_a_permitted_directory_is_not_permitted(home: Path) -> None:
    (home / "ws" / "link").symlink_to(home / "out")

    assert not matches_path("~/ws/**", "~/ws/link/x", restricts=False)
    assert matches_path("~/ws/**", "~/ws/link/x", restricts=True)
    assert matches_path("~/out/**", "~/ws/link/x", restricts=True)


def test_a_link_in_front_of_a_permitted_directory_is_followed(home: Path) -> None:
    (home / "short").symlink_to(home / "ws")

    assert matches_path("~/short/**", "~/short/x", restricts=False)
    assert matches_path("~/short/docs/x", "~/short/docs/x", restricts=False)
    assert matches_path("~/short/**", "~/ws/x", restricts=False)
    assert matches_path("~/short/**", "~/ws/x", restricts=True)


def test_a_permitted_file_that_has_become_a_link_is_not_permitted(home: Path) -> None:
    assert matches_path("~/ws/notes.txt", "notes.txt", restricts=False)

    (home / "ws" / "notes.txt").symlink_to(home / "out" / "secret")

    assert not matches_path("~/ws/notes.txt", "notes.txt", restricts=False)


@pytest.mark.parametrize(
    "path",
    ["/etc/\0passwd", "/etc/\udfff", "", "~nobody-at-all/x", "/" * 3 + "etc", "a" * 5000, "a/" * 50_000],
)
@pytest.mark.usefixtures("home")
def test_a_strange_path_raises_nothing_and_is_nowhere(path: str) -> None:
    assert not matches_path("~/out/**", path, restricts=False)
    assert not is_in_working_directory(path, context(inside=["~/out"]))
    assert not is_dangerous_path(path)


@pytest.mark.parametrize(
    "path",
    [
        "~/.ssh/id_rsa",
        "~/.ssh",
        "/home/u/.ssh/../.ssh/config",
        "x/.git/hooks/pre-commit",
        ".bashrc",
        "~/.BashRC",
        ".env",
        "/srv/app/.env.production",
        "~/.aws/credentials",
    ],
)
@pytest.mark.usefixtures("home")
def test_files_that_run_code_or_hold_secrets_are_dangerous(path: str) -> None:
    assert is_dangerous_path(path)


@pytest.mark.parametrize(
    "path", ["~/notes", ".environment", "x/git", ".ssh/../notes", "bashrc", ".github/x.yml"]
)
@pytest.mark.usefixtures("home")
def test_others_are_not(path: str) -> None:
    assert not is_dangerous_path(path)


def test_what_leads_to_a_dangerous_file_is_dangerous(home: Path) -> None:
    (home / ".ssh").mkdir()
    (home / "ws" / "innocent").symlink_to(home / ".ssh")
    (home / "ws" / "twice").symlink_to("innocent")
    (home / "ws" / "gone").symlink_to(home / ".ssh" / "missing")

    assert [is_dangerous_path(path) for path in ("innocent/id", "twice/id", "gone")] == [True] * 3


def test_dangerous_paths_may_be_others() -> None:
    assert is_dangerous_path("/srv/secrets/x", [*DANGEROUS_PATHS, "secrets"])
    assert is_dangerous_path("/etc/passwd", ["/etc/**"])
    assert not is_dangerous_path("~/.ssh", [])


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("notes.txt", True),
        ("~/ws", True),
        ("~/ws/docs/deep/new.txt", True),
        ("docs/../notes.txt", True),
        ("../ws/notes.txt", True),
        ("../out/x", False),
        ("~/ws/../out/x", False),
        ("~/ws-2/x", False),
        ("docs/../../out/x", False),
        ("~", False),
        ("/", False),
    ],
)
@pytest.mark.parametrize("directory", ["~/ws", ".", "~/out/../ws"])
@pytest.mark.usefixtures("home")
def test_a_path_lies_inside_a_working_directory(directory: str, path: str, inside: bool) -> None:
    assert is_in_working_directory(path, context(inside=[directory])) is inside
    assert is_in_working_directory(path, context(inside=["/nowhere", directory])) is inside
    assert not is_in_working_directory(path, context())


def test_links_out_of_a_working_directory_and_into_it_are_outside(home: Path) -> None:
    (home / "ws" / "link").symlink_to(home / "out")
    (home / "out" / "back").symlink_to(home / "ws")
    (home / "ws" / "in").symlink_to(home / "ws" / "docs")
    state = context(inside=["~/ws"])

    inside = [
        is_in_working_directory(path, state) for path in ("link/x", "link/../x", "~/out/back/x", "in/x")
    ]

    assert inside == [False, False, False, True]


def test_a_working_directory_behind_a_link_is_known_under_both_names(home: Path) -> None:
    (home / "short").symlink_to(home / "ws")
    state = context(inside=["~/short"])

    assert is_in_working_directory("~/short/x", state)
    assert is_in_working_directory("~/ws/x", state)


def test_a_link_that_leads_to_itself_raises_nothing(home: Path) -> None:
    (home / "ws" / "loop").symlink_to("loop")

    assert matches_path("~/ws/**", "loop", restricts=False)


def test_texts_are_found_at_any_depth() -> None:
    assert texts_in({"a": ["b", {"c": "d"}], "e": 1, "f": None, "g": ("h",)}) == ["b", "d", "h"]
