"""Questions of an agent, put to whoever sits before it; and `agentscope-rx chat --ask`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest
from click.testing import CliRunner, Result

from agentscope_rx import wire
from agentscope_rx.agent import ConfirmResults
from agentscope_rx.cli import _chat, main
from agentscope_rx.cli._confirm import confirm
from agentscope_rx.event import AgentEndEvent, ConfirmResult, RequireUserConfirmEvent
from agentscope_rx.message import GenerateReason, ToolCallState, ToolUseBlock
from agentscope_rx.permission import PermissionRule
from agentscope_rx.testing import ScriptedModel, tool_call

ONE = ToolUseBlock("c1", "write", {"path": "/a"}, '{"path": "/a"}', state=ToolCallState.ASKING)
TWO = ToolUseBlock("c2", "write", {"path": "/b"}, state=ToolCallState.ASKING)
RULE = PermissionRule("write", "/a/**", source="suggested")
ALL = PermissionRule("write", source="suggested")


def put(*questions: RequireUserConfirmEvent, said: list[str]) -> tuple[ConfirmResults, list[str]]:
    """The answers to questions, and the prompts that were shown."""
    prompts: list[str] = []
    lines = iter(said)

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        line = next(lines, None)
        if line is None:
            raise EOFError
        return line

    answers = confirm(questions, ask)
    assert next(lines, None) is None
    return answers, prompts


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (["y"], ConfirmResult(True, ONE)),
        ([" YES "], ConfirmResult(True, ONE)),
        (["n"], ConfirmResult(False, ONE)),
        (["no"], ConfirmResult(False, ONE)),
        (["a"], ConfirmResult(True, ONE, [RULE, ALL])),
        (["hm", "", "y"], ConfirmResult(True, ONE)),
        ([], ConfirmResult(False, ONE)),
        (["hm"], ConfirmResult(False, ONE)),
        (["e"], ConfirmResult(False, ONE)),
        (["e", "/b", "[1]", "{}"], ConfirmResult(True, ToolUseBlock("c1", "write", {}, state=ONE.state))),
        (
            ["edit", '{"path": "/b"}'],
            ConfirmResult(True, ToolUseBlock("c1", "write", {"path": "/b"}, state=ONE.state)),
        ),
    ],
)
def test_a_line_is_an_answer_and_what_is_none_is_asked_again(said: list[str], answer: ConfirmResult) -> None:
    answers, prompts = put(RequireUserConfirmEvent("r", [ONE], {"c1": [RULE, ALL]}), said=said)

    assert answers == ConfirmResults(answer, "r")
    assert prompts[0] == 'write {"path":"/a"}: may it run? yes, no, edit, always (write /a/**, write): '


def test_without_a_rule_there_is_no_always() -> None:
    answers, prompts = put(RequireUserConfirmEvent("r", [ONE]), said=["always", "no"])

    assert answers.results == (ConfirmResult(False, ONE),)
    assert prompts == ['write {"path":"/a"}: may it run? yes, no, edit: '] * 2


def test_each_call_is_asked_about_in_order_and_those_of_another_reply_not_yet() -> None:
    answers, prompts = put(
        RequireUserConfirmEvent("child", [ONE], source="main/child"),
        RequireUserConfirmEvent("r", [TWO]),
        RequireUserConfirmEvent("child", [TWO], source="main/child"),
        said=["y", "n"],
    )

    assert answers == ConfirmResults([ConfirmResult(True, ONE), ConfirmResult(False, TWO)], "child")
    assert [prompt[:20] for prompt in prompts] == ['write {"path":"/a"}:', 'write {"path":"/b"}:']


# The command.


def chat(*options: str, input: str | None = None) -> Result:
    return CliRunner().invoke(main, ["chat", "--ask", *options], input=input)


def test_a_tool_that_is_confirmed_runs() -> None:
    result = chat(input="weather in Porto\ny\n")

    assert (result.exit_code, result.stdout) == (
        0,
        "Let me look.\n"
        '[weather {"city":"Porto"}]\n'
        "[weather: rainy, 22 °C in Porto]\n"
        "It is rainy, 22 °C in Porto.\n",
    )


def test_a_tool_that_is_denied_does_not_run_and_the_conversation_goes_on() -> None:
    result = chat(input="weather in Porto\nn\nWho are you?\n")

    assert "[weather (denied): Permission denied by user]\n" in result.stdout
    assert "I am a script" in result.stdout


def test_always_is_asked_only_once() -> None:
    result = chat(input="weather in Porto\nalways\nweather in Oslo\nweather in Rome\n")

    assert result.stdout.count("[weather: ") == 3


def test_edited_arguments_are_what_runs() -> None:
    result = chat("--once", "weather in Porto", input='e\n{"city": "Rome"}\n')

    assert result.exit_code == 0
    assert result.stdout.endswith("in Rome.\n")


def test_where_nobody_answers_nothing_runs() -> None:
    result = chat("--once", "weather in Porto")

    assert result.exit_code == 0
    assert "[weather (denied): Permission denied by user]\n" in result.stdout


def test_each_step_that_asks_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    two = [tool_call("weather", city="Porto"), tool_call("weather", city="Oslo")]
    monkeypatch.setattr(
        _chat, "_model", lambda *_: ScriptedModel(two, [tool_call("weather", city="Rome")], ".")
    )
    result = chat("--once", "hi", input="y\nn\ny\n")

    assert [line for line in result.stdout.splitlines() if line.startswith("[weather: ")] == [
        "[weather: rainy, 22 °C in Porto]",
        "[weather: windy, 13 °C in Rome]",
    ]


def test_events_of_a_reply_that_pauses_are_all_there_and_fold_to_one_message() -> None:
    result = chat("--once", "weather in Porto", "--events", input="y\n")
    events = [wire.loads_event(line) for line in result.stdout.encode().splitlines()]
    replayed = CliRunner().invoke(main, ["replay", "-"], input=result.stdout.encode()).stdout.splitlines()

    assert [e.generate_reason for e in events if isinstance(e, AgentEndEvent)] == [
        GenerateReason.PERMISSION_ASKING,
        GenerateReason.MODEL_STOP,
    ]
    last = wire.loads_msg(replayed[-1])
    assert last.text_content == "Let me look.\nIt is rainy, 22 °C in Porto."


def test_without_the_option_nothing_is_asked() -> None:
    result = CliRunner().invoke(main, ["chat", "--once", "weather in Porto"])

    assert "[weather: rainy" in result.stdout


def test_ctrl_c_at_a_question_leaves_it_open_and_an_empty_line_asks_again() -> None:
    pty = pytest.importorskip("pty")
    keyboard, terminal = pty.openpty()
    command = [sys.executable, "-m", "agentscope_rx", "chat", "--ask"]
    with subprocess.Popen(command, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        patience = threading.Timer(30, process.kill)
        patience.start()

        def wait_for(text: str) -> None:
            shown = b""
            while not shown.endswith(text.encode()):
                assert process.stderr is not None
                byte = process.stderr.read(1)
                assert byte, f"it ended behind {shown!r}"
                shown += byte

        wait_for("> ")
        os.write(keyboard, b"weather in Porto\n")
        wait_for("always (weather): ")
        process.send_signal(signal.SIGINT)
        wait_for("an empty line goes on with the reply]\n> ")
        os.write(keyboard, b"\n")
        wait_for("always (weather): ")
        os.write(keyboard, b"y\n")
        wait_for("> ")
        os.write(keyboard, b"\x04")
        output, _ = process.communicate()
        patience.cancel()
    os.close(keyboard)
    os.close(terminal)

    assert output.decode().endswith("[weather: rainy, 22 °C in Porto]\nIt is rainy, 22 °C in Porto.\n")
