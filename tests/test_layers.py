"""The architecture as a table: which part may import which, and where each outside library may be used."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "agentscope_rx"

# A part imports only parts of its own row and of the rows above it.
LAYERS = (
    {
        "errors",
        "identity",
        "typing",
        "_check",
        "_frames",
        "_frozen",
        "_json",
        "_json_schema",
        "_partial_json",
        "_repr",
        "_storage",
        "_typed_json",
    },
    {"message"},
    {"permission", "state"},
    {"event"},
    {"wire"},
    {"operators"},
    {"interop"},
    {"context", "log", "middleware", "model", "output", "store", "tool"},
    {"agent"},
    {"testing", "serve", "cli", "__main__"},
)

# An outside library, and the only parts or modules of ours that may import it.
PLACES = {
    "aiohttp": {"model._http"},
    "asyncio": {
        "_storage",
        "agent",
        "cli",
        "interop",
        "log",
        "model._http",
        "store",
        "testing._laws",
        "tool._run",
    },
    "attrs": set.union(*LAYERS),
    "cattrs": {"wire"},
    "click": {"cli"},
    "docstring_parser": {"tool"},
    "jsonschema": {"_json_schema"},
    "msgspec": {"_json", "_typed_json", "wire", "tool"},
    "redis": {"_storage._redis", "log._redis_append"},
    "referencing": {"_json_schema"},  # comes with jsonschema
    "reactivex": {"typing"}.union(*LAYERS[5:]),
}

FILES = sorted((ROOT / PACKAGE).rglob("*.py"))


def module_of(file: Path) -> str:
    """The dotted name below the package: `event._base`; of `event/__init__.py`, `event`; of the top, ``."""
    parts = file.relative_to(ROOT / PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and dotted name of whatever is imported at run time, at the top or inside a function."""

    def visit(node: ast.AST) -> Iterator[tuple[int, str]]:
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=orelse):
                for child in orelse:
                    yield from visit(child)
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                assert level == 0, f"line {node.lineno}: imports are absolute"
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in names)
            case _:
                for child in ast.iter_child_nodes(node):
                    yield from visit(child)

    return visit(tree)


IMPORTS = [
    (module_of(file), f"{file.relative_to(ROOT)}:{line}", name)
    for file in FILES
    for line, name in imports(ast.parse(file.read_text(encoding="utf-8")))
]
INSIDE = [
    (module, where, name.removeprefix(f"{PACKAGE}."))
    for module, where, name in IMPORTS
    if name.split(".")[0] == PACKAGE
]
OUTSIDE = [(module, where, name) for module, where, name in IMPORTS if name.split(".")[0] != PACKAGE]


def part_of(module: str) -> str:
    return module.split(".")[0]


def row_of(module: str) -> int:
    return next(index for index, row in enumerate(LAYERS) if part_of(module) in row)


def test_every_part_of_the_package_stands_in_the_table() -> None:
    parts = {part_of(module_of(file)) for file in FILES} - {""}

    assert parts <= set.union(*LAYERS), "a new part must say in LAYERS where it stands"


def test_parts_import_only_their_own_row_and_the_rows_above() -> None:
    wrong = [
        f"{where}: {part_of(module)} imports {name}"
        for module, where, name in INSIDE
        if module and row_of(name) > row_of(module)
    ]

    assert wrong == []


def test_no_two_parts_import_each_other() -> None:
    graph: dict[str, set[str]] = {}
    for module, _, name in INSIDE:
        if module and part_of(name) != part_of(module):
            graph.setdefault(part_of(module), set()).add(part_of(name))

    TopologicalSorter(graph).prepare()  # raises CycleError


def test_private_modules_are_imported_only_inside_their_own_package() -> None:
    wrong: list[str] = []
    for module, where, name in INSIDE:
        *path, leaf = name.split(".")
        owners = [path[:index] for index, part in enumerate([*path, leaf]) if is_private(part)]
        wrong += [f"{where}: {name}" for owner in owners if module.split(".")[: len(owner)] != owner]

    assert wrong == [], "across packages, import from the package"


def is_private(part: str) -> bool:
    return part.startswith("_") and not part.startswith("__")


def test_outside_libraries_are_used_only_in_their_places() -> None:
    wrong = [
        f"{where}: {name}"
        for module, where, name in OUTSIDE
        if (places := PLACES.get(part_of(name))) is not None
        and not any(f"{module}.".startswith(f"{place}.") for place in places)
    ]

    assert wrong == []


def test_every_outside_library_has_its_places() -> None:
    standard = sys.stdlib_module_names - {"asyncio"}
    wrong = [
        f"{where}: {name}" for _, where, name in OUTSIDE if part_of(name) not in standard | PLACES.keys()
    ]

    assert wrong == [], "a new dependency must say in PLACES where it may be used"


@pytest.mark.parametrize("library", ["aiohttp", "click", "jsonschema", "redis", "sqlite3"])
def test_the_top_level_loads_no(library: str) -> None:
    script = f"import sys, {PACKAGE}; sys.exit({library!r} in sys.modules)"

    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0


def test_the_table_would_notice() -> None:
    tree = ast.parse(
        "import cattrs\n"
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from agentscope_rx.agent import Agent\n"
        "else:\n    import aiohttp\n"
        "def f():\n    from agentscope_rx.event._base import AgentEvent\n"
    )

    assert list(imports(tree)) == [
        (1, "cattrs"),
        (2, "typing.TYPE_CHECKING"),
        (6, "aiohttp"),
        (8, "agentscope_rx.event._base.AgentEvent"),
    ]
