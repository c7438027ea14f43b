"""`agentscope-rx chat`: streams, shows tools, prints events, stops on Ctrl-C, and says what went wrong."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agentscope_rx import wire
from agentscope_rx.cli import _chat, main
from agentscope_rx.event import AgentEndEvent, AgentResultEvent, AgentStartEvent
from agentscope_rx.testing import ScriptedModel, pause, tool_call
from agentscope_rx.tool import tool
from tests.aimock import AIMock, calls, says

COMMAND = [sys.executable, "-m", "agentscope_rx"]

ROUND = (
    "Let me look.\n"
    '[weather {"city":"Porto"}]\n'
    "[weather: rainy, 22 °C in Porto]\n"
    "It is rainy, 22 °C in Porto.\n"
)  # fmt: skip


def chat(*options: str, input: str | None = None) -> Result:
    return CliRunner().invoke(main, ["chat", *options], input=input)


def test_once_streams_the_text_and_shows_the_tool_round() -> None:
    result = chat("--once", "How is the weather in Porto?")

    assert (result.exit_code, result.output) == (0, ROUND)


def test_events_are_json_lines_from_start_to_end() -> None:
    result = chat("--once", "weather in Porto", "--events")
    events = [wire.loads_event(line) for line in result.stdout.encode().split(b"\n") if line]

    assert isinstance(events[0], AgentStartEvent)
    assert isinstance(events[-1], AgentEndEvent)
    assert len({event.id for event in events}) == len(events)


def reported(events: str) -> Any:
    """The message that a run reported, as JSON."""
    (result,) = [
        event.result
        for event in map(wire.loads_event, events.encode().splitlines())
        if isinstance(event, AgentResultEvent)
    ]
    assert result is not None
    return json.loads(wire.dumps_msg(result))


def test_events_replayed_make_the_message_that_the_run_reported() -> None:
    events = chat("--once", "weather in Porto", "--events").stdout
    replayed = CliRunner().invoke(main, ["replay", "-"], input=events.encode()).stdout

    assert json.loads(replayed) == reported(events)


def test_lines_of_a_pipe_are_turns_of_one_conversation() -> None:
    result = chat(input="weather in Porto\n\nWho are you?\n")

    assert result.exit_code == 0
    assert result.stdout.startswith(ROUND + "I am a script")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ["--base-url", "http://127.0.0.1:1/v1"],
            "--base-url is for a real model; give --model PROVIDER:NAME",
        ),
        (["--model", "gpt-4o"], "'gpt-4o' is no model; give PROVIDER:NAME"),
        (["--model", "openai:"], "'openai:' is no model; give PROVIDER:NAME"),
        (["--model", "acme:x"], "'acme:x' is no model that is known: there is no provider 'acme'"),
    ],
)
def test_a_wrong_option_is_named_with_the_remedy(options: list[str], complaint: str) -> None:
    result = chat("--once", "hi", *options)

    assert result.exit_code == 2
    assert complaint in " ".join(result.stderr.split())


def test_a_model_that_cannot_be_reached_is_an_error_and_the_events_end_well() -> None:
    options = ["--once", "hi", "--model", "openai:gpt-4o", "--base-url", "http://127.0.0.1:1/v1"]
    text, events = chat(*options), chat(*options, "--events")

    assert (text.exit_code, text.stdout) == (1, "")
    assert "ModelConnectionError" in text.stderr
    last = wire.loads_event(events.stdout.encode().splitlines()[-1])
    assert isinstance(last, AgentEndEvent)
    assert last.error is not None
    assert last.error.type == "ModelConnectionError"


def test_after_an_error_the_conversation_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_chat, "_model", lambda *_: ScriptedModel("first"))
    result = chat(input="one\ntwo\n")

    assert (result.exit_code, result.stdout) == (0, "first\n")
    assert "the script of model 'scripted' is over" in result.stderr


def press_ctrl_c_soon() -> None:
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_ctrl_c_stops_the_reply_and_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_chat, "_model", lambda *_: ScriptedModel(["Hello", pause(60), " world"]))
    press_ctrl_c_soon()
    result = chat("--once", "hi")

    assert (result.exit_code, result.stdout) == (130, "Hello")


def test_ctrl_c_in_a_conversation_stops_only_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_chat, "_model", lambda *_: ScriptedModel(["Hello", pause(60)], "Still here."))
    press_ctrl_c_soon()
    result = chat(input="one\ntwo\n")

    assert (result.exit_code, result.stdout) == (0, "HelloStill here.\n")


def test_calls_that_ctrl_c_left_open_go_on_with_an_empty_line(monkeypatch: pytest.MonkeyPatch) -> None:
    naps = iter([60.0, 0.0])

    @tool
    async def weather(city: str) -> str:
        """Tell the weather in a city."""
        await asyncio.sleep(next(naps))
        return "sunny"

    monkeypatch.setattr(_chat, "weather", weather)
    press_ctrl_c_soon()
    result = chat(input="weather\nweather\n\n")

    assert result.exit_code == 0
    assert result.stderr == (
        "\n[stopped; an empty line goes on with the reply]\n"
        "Error: a tool call of the stopped reply is open; an empty line goes on with it\n"
    )
    assert result.stdout.endswith("[weather: sunny]\nIt is sunny.\n")


def test_a_reply_that_was_stopped_goes_on_with_an_empty_line(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ScriptedModel(["Hello", pause(60)], "Here I am again.")
    monkeypatch.setattr(_chat, "_model", lambda *_: model)
    press_ctrl_c_soon()
    result = chat(input="one\n\n\n")

    assert result.stdout == "HelloHere I am again.\n"
    assert len(model.calls) == 2


def typed(text: str, *options: str) -> tuple[bytes, bytes]:
    """What comes out of it, and what the terminal shows, when somebody types at one and pipes the output."""
    pty = pytest.importorskip("pty")
    keyboard, terminal = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "chat", *options], stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        os.write(keyboard, text.encode() + b"\x04")
        output = process.communicate(timeout=30)
    os.close(keyboard)
    os.close(terminal)
    return output


def test_what_is_for_the_person_at_the_terminal_does_not_go_into_the_pipe() -> None:
    stdout, stderr = typed("hi\n", "--events")

    assert all(wire.loads_event(line) for line in stdout.splitlines())
    assert isinstance(wire.loads_event(stdout.splitlines()[-1]), AgentEndEvent)
    assert stderr.decode() == ("Model: offline. Ctrl-C stops a reply, Ctrl-D ends the conversation.\n> > \n")


def test_a_reader_that_leaves_ends_it_quietly() -> None:
    process = subprocess.Popen(
        [*COMMAND, "chat", "--once", "weather", "--events"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        process.stdout.close()
        _, stderr = process.communicate(timeout=30)

    assert (process.returncode, stderr) == (1, b"")


@pytest.mark.parametrize("arguments", [["--help"], ["chat", "--help"], ["replay", "-h"]])
def test_it_explains_itself(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)

    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: ")


def test_a_lone_surrogate_does_not_break_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ScriptedModel(tool_call("weather", '{"city":"\\ud800"}'), "Hm.")
    monkeypatch.setattr(_chat, "_model", lambda *_: model)
    result = chat("--once", "hi")

    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "Hm.")
    assert "\\ud800]" in result.stdout


def test_a_real_model_streams_text_a_tool_round_and_the_answer(aimock: AIMock) -> None:
    url = aimock(
        says("weather", "Let me look.", calls("weather", city="Oslo"), after_tools=False),
        says("weather", "Take a scarf.", after_tools=True),
    )
    result = chat("--model", "openai:gpt-4o", "--base-url", url, "--once", "How is the weather in Oslo?")

    assert result.output == (
        "Let me look.\n"
        '[weather {"city":"Oslo"}]\n'
        "[weather: windy, 23 °C in Oslo]\n"
        "Take a scarf.\n"
    )  # fmt: skip
    assert result.exit_code == 0


def test_events_of_a_real_model_replay_to_the_message_of_the_run(aimock: AIMock) -> None:
    url = aimock(
        says(
            "weather", None, calls("weather", city="Oslo"), calls("weather", city="Rome"), after_tools=False
        ),
        says("weather", "Both are fine.", after_tools=True),
    )
    chatted = chat("--model", "openai:gpt-4o", "--base-url", url, "--once", "weather", "--events")
    replayed = CliRunner().invoke(main, ["replay", "-"], input=chatted.stdout.encode())

    assert json.loads(replayed.stdout) == reported(chatted.stdout)
