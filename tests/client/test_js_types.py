"""The types of the browser's client: the compiler checks a user's code against them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.nodejs import find_node, without

HERE = Path(__file__).parent
CLIENT = HERE.parents[1] / "agentscope_rx" / "client" / "js"
COMPILER = HERE.parent / "node" / "node_modules" / "typescript" / "bin" / "tsc"
OPTIONS = ("--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom")


def test_a_users_typescript_compiles_and_its_mistakes_are_found() -> None:
    node = find_node()
    if not COMPILER.exists():
        without("typescript is not installed; `npm ci --prefix tests/node` with Node 20 or newer")

    run = subprocess.run(
        [node, str(COMPILER), *OPTIONS, str(HERE / "js" / "types.mts")], capture_output=True, text=True
    )

    assert (run.returncode, run.stdout) == (0, "")


def test_the_types_name_what_the_module_exports() -> None:
    node = find_node()
    script = f"import('{(CLIENT / 'index.js').as_uri()}').then((m) => console.log(Object.keys(m).join(' ')))"
    exported = subprocess.run([node, "-e", script], capture_output=True, text=True, check=True).stdout.split()
    types = (CLIENT / "index.d.ts").read_text(encoding="utf-8")

    assert set(re.findall(r"^export (?:class|function|const) (\w+)", types, re.MULTILINE)) == set(exported)
