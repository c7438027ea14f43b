"""The README says what is so: its first program prints its output, and its tables list what there is."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentscope_rx import ReActAgent, RuntimeContext, event, operators
from agentscope_rx.event import AgentEvent, AgentEventType
from agentscope_rx.message import ToolResultBlock
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call
from tests.test_layers import LAYERS, is_private

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found, f"README.md has no section {title!r}"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The cells of a table's body."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def code(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_first_program_prints_the_output_below_it() -> None:
    program, output = code(README, "python")[0], code(README, "text")[0]
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )

    assert (run.stderr, run.stdout) == ("", output)


def test_the_other_programs_run_too() -> None:
    first, *others = code(README, "python")
    namespace: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(first, namespace)
        exec(
            "from attrs import evolve\nfrom agentscope_rx import *\nfrom agentscope_rx.event import *",
            namespace,
        )
        exec("from agentscope_rx.message import SystemMessage", namespace)
        namespace["model"] = ScriptedModel(answer)
        namespace["agent"] = ReActAgent("friend", model=namespace["model"])
        for program in others:
            body = eval(compile(program, "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), namespace)
            if inspect.iscoroutine(body):
                asyncio.run(body)

    masked = namespace["agent"].reply("weather").run()
    remembering = ReActAgent("friend", model=namespace["model"], middlewares=[namespace["Remember"]()])
    remembering.reply("hi", RuntimeContext(user_id="Ann")).run()

    assert masked.get_first_content_block(ToolResultBlock).text_content == "***"
    assert namespace["model"].calls[-1].messages[0].text_content == "The user is Ann."


def answer(asked: ScriptedCall) -> Any:
    return "Done." if asked.results or "weather" not in asked.text else tool_call("weather", city="Lisbon")


def test_the_table_of_events_lists_the_31_with_their_fields() -> None:
    common = {field.name for field in attrs.fields(AgentEvent)}
    classes = {
        cls.type: cls
        for cls in vars(event).values()
        if isinstance(cls, type) and issubclass(cls, AgentEvent) and cls.type in set(AgentEventType)
    }
    expected = [
        [f"`{cls.__name__}`", f"`{name}`", ", ".join(f"`{field}`" for field in fields)]
        for name, cls in ((name.value, classes[name]) for name in AgentEventType)
        if (fields := [field.name for field in attrs.fields(cls) if field.name not in common]) is not None
    ]

    assert len(expected) == 31
    assert rows(section("Events")) == expected


def test_the_table_of_operators_names_every_operator() -> None:
    cells = " ".join(row[1] for row in rows(section("Which operator?")))
    named = set(re.findall(r"`(\w+)\(", cells))

    public = {name for name in operators.__all__ if name.islower()}
    assert named <= public
    assert public - named == set(), "an operator that nobody finds is not there"


def test_the_picture_of_the_layers_is_the_tested_one() -> None:
    drawn = [line.split() for line in code(section("Layers"), "text")[0].splitlines()]
    tested = [sorted(part for part in row if not is_private(part) and part != "__main__") for row in LAYERS]

    assert [sorted(line) for line in drawn] == tested


@pytest.mark.parametrize("target", ["demo", "test", "check", "help"])
def test_the_targets_that_it_names_are_in_the_makefile(target: str) -> None:
    assert f"make {target}" in README
    assert re.search(rf"^{target}:.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
