"""The README says what is so: its first program prints its output, and its tables list what there is."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import pytest

import agentscope_rx
from agentscope_rx import ReActAgent, RuntimeContext, event, operators
from agentscope_rx.event import AgentEndEvent, AgentEvent, AgentEventType, AgentResultEvent
from agentscope_rx.message import ChatUsage, GenerateReason, TextBlock, ToolResultBlock, ToolUseBlock
from agentscope_rx.model._providers import PROVIDERS
from agentscope_rx.testing import ScriptedModel, check_call, tool_call
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


def test_the_table_of_providers_has_every_class_and_the_section_every_name() -> None:
    text = section("A real model")

    assert {row[1].strip("`") for row in rows(text)} == {row.name for row in PROVIDERS.values()}
    assert [name for name in PROVIDERS if f"`{name}:`" not in text] == []


def test_the_first_program_prints_the_output_below_it() -> None:
    program, output = code(README, "python")[0], code(README, "text")[0]
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )

    assert (run.stderr, run.stdout) == ("", output)


@pytest.fixture
def pasted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """The names that there are when all programs were pasted, one after the other, into one Python."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for program in code(README, "python"):
            exec(compile(program, "README.md", "exec", dont_inherit=True), names)
    return names


def test_the_programs_run_one_after_the_other(pasted: dict[str, Any]) -> None:
    assert pasted["message"].text_content == "You said: hi"
    assert isinstance(pasted["events"][-1], AgentEndEvent)
    assert pasted["answered"].text_content == "It is sunny."
    assert pasted["answered"].id == pasted["question"].reply_id
    assert pasted["state"].user_id == "ann"
    assert [type(event) for event in pasted["missed"][-2:]] == [AgentResultEvent, AgentEndEvent]
    assert [type(middleware).__name__ for middleware in pasted["watched"]] == [
        "_OnReasoning",
        "_OnActing",
        "_OnModelCall",
    ]


def test_its_subagent_says_what_it_has_found(pasted: dict[str, Any]) -> None:
    assert pasted["found"].text_content == "It is sunny."


def test_its_structured_reply_is_of_its_class(pasted: dict[str, Any]) -> None:
    assert pasted["city"] == pasted["City"]("Lisbon")


def test_its_middlewares_do_what_they_are_for(pasted: dict[str, Any]) -> None:
    model = ScriptedModel(tool_call("weather", city="Lisbon"), "Done.")
    middlewares = [pasted["Remember"](), pasted["mask"], pasted["patient"]]
    agent = ReActAgent("friend", model=model, toolkit=[pasted["weather"]], middlewares=middlewares)
    record = check_call(agent, "weather", RuntimeContext(user_id="Ann"))

    assert record.message is not None
    (result,) = record.message.get_content_blocks(ToolResultBlock)
    assert result.text_content == "***"
    assert model.calls[0].messages[0].text_content == "The user is Ann."


def test_its_budget_stops_the_agent_before_the_model_is_asked_again(pasted: dict[str, Any]) -> None:
    usage = ChatUsage(60, 40)
    model = ScriptedModel(
        [tool_call("weather", city="Lisbon"), usage], [tool_call("weather", city="Oslo"), usage]
    )
    agent = ReActAgent(
        "friend", model=model, toolkit=[pasted["weather"]], middlewares=[pasted["Budget"](200)]
    )
    record = check_call(agent, "weather")

    assert record.message is not None
    assert record.message.generate_reason is GenerateReason.MIDDLEWARE_STOP_REQUESTED
    assert len(record.message.get_content_blocks(ToolResultBlock)) == 2
    assert check_call(agent, "And now?").error is None


def test_its_stream_with_the_answers_in_it_is_one_message(pasted: dict[str, Any]) -> None:
    assert pasted["scarf"].text_content == "Take a scarf."
    assert [type(block) for block in pasted["scarf"].content] == [ToolUseBlock, ToolResultBlock, TextBlock]


def test_the_table_of_namespaces_says_where_each_name_is_that_no_program_imports() -> None:
    """But for those that stand in a section of their own."""
    listed = rows(README[README.index("| from `agentscope_rx.…`") : README.index("## A call")])
    spaces = [space for row in listed for space in re.findall(r"`([\w.]+)`", row[0])]
    named = {name for row in listed for name in re.findall(r"`(\w+)`", row[1])}
    public = {space: set(import_module(f"agentscope_rx.{space}").__all__) for space in spaces}
    prose = README.replace(section("Events"), "")  # there, names are short of their `Event`
    prose = re.sub(r"^```.*?^```", "", prose, flags=re.MULTILINE | re.DOTALL)
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", prose))))
    imported = set(re.findall(r"\w+", " ".join(re.findall(r"import (.*)", "".join(code(README, "python"))))))
    elsewhere = {"event", "operators", "model", "store", "testing", "wire", "errors"}

    assert elsewhere < public.keys()
    assert named <= set[str]().union(*public.values())
    found = imported.union(agentscope_rx.__all__, named, *(public[space] for space in elsewhere))
    assert {(space, name) for space, names in public.items() for name in names & words - found} == set()


def test_the_table_of_events_lists_the_31_with_their_fields() -> None:
    common = {field.name for field in attrs.fields(AgentEvent)} | {"reply_id"}
    listed = {
        f"{name}Event": set(re.findall(r"`(\w+)`", fields))
        for _, names, fields in rows(section("Events"))
        for name in re.findall(r"`(\w+)`", names)
    }
    classes = {
        cls.__name__: {field.name for field in attrs.fields(cls)} - common
        for cls in vars(event).values()
        if isinstance(cls, type) and issubclass(cls, AgentEvent) and cls.type in set(AgentEventType)
    }

    assert len(classes) == 31
    assert set(listed) == set(classes)
    assert [name for name, fields in classes.items() if not fields <= listed[name]] == []
    assert set[str]().union(*listed.values()) == set[str]().union(*classes.values())


def test_the_table_of_operators_names_every_operator() -> None:
    cells = " ".join(row[1] for row in rows(section("Which operator?")))
    named = set(re.findall(r"`(\w+)\(", cells))

    public = {name for name in operators.__all__ if name.islower()}
    assert named <= public
    assert public - named == set(), "an operator that nobody finds is not there"


def test_the_picture_of_the_layers_is_the_tested_one() -> None:
    drawn = [line.split() for line in code(section("Working on it"), "text")[0].splitlines()]
    tested = [sorted(part for part in row if not is_private(part) and part != "__main__") for row in LAYERS]

    assert [sorted(line) for line in drawn] == tested


@pytest.mark.parametrize("target", ["demo", "test", "check", "help"])
def test_the_targets_that_it_names_are_in_the_makefile(target: str) -> None:
    assert f"make {target}" in README
    assert re.search(rf"^{target}:.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
