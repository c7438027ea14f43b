"""`agentscope-rx replay`: events in, messages out, errors with their line."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agentscope_rx import wire
from agentscope_rx.cli import main
from agentscope_rx.cli._replay import read_events
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    ModelCallStartEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
)

CASES = Path(__file__).parent.parent / "cases" / "events"
COMMAND = [sys.executable, "-m", "agentscope_rx"]


def reply(reply_id: str, *words: str) -> list[AgentEvent]:
    return [
        AgentStartEvent("s", reply_id, "agent"),
        TextBlockStartEvent(reply_id, "text-1"),
        *(TextBlockDeltaEvent(reply_id, "text-1", word) for word in words),
        TextBlockEndEvent(reply_id, "text-1"),
        AgentEndEvent(reply_id),
    ]


def lines(events: list[AgentEvent]) -> bytes:
    return b"".join(wire.dumps_event(event) + b"\n" for event in events)


def frames(events: list[AgentEvent]) -> bytes:
    return b"".join(b"id: %d\ndata: %s\n\n" % (i, wire.dumps_event(event)) for i, event in enumerate(events))


def replay(input: bytes, *options: str) -> Result:
    return CliRunner().invoke(main, ["replay", *options, "-"], input=input)


def printed(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.split("\n") if line]


def texts(result: Result) -> list[tuple[str, str]]:
    return [(message["id"], "".join(b["text"] for b in message["content"])) for message in printed(result)]


TWO = reply("r1", "Hel", "lo") + reply("r2", "bye")


@pytest.mark.parametrize("options", [(), ("--snapshots",), ("--scope", "call")])
@pytest.mark.parametrize("text", [b'{"name":"a package","version":1}', b'{"type":"OF_THE_FUTURE"}'])
def test_a_file_of_something_else_is_an_error_and_no_message(text: bytes, options: tuple[str, ...]) -> None:
    result = replay(text, *options)

    assert (result.exit_code, result.stdout) == (1, "")
    assert "no line is an event that is known here" in result.stderr


def test_an_event_of_the_future_among_others_is_passed_over() -> None:
    result = replay(b'{"type":"OF_THE_FUTURE"}\n' + lines(TWO) + b'{"type":"OF_THE_FUTURE","replyId":"r3"}')

    assert texts(result) == [("r1", "Hello"), ("r2", "bye")]


@pytest.mark.parametrize("encode", [lines, frames], ids=["JSON lines", "server-sent events"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_each_reply_becomes_one_line(encode: Any, newline: bytes) -> None:
    result = replay(encode(TWO).replace(b"\n", newline))

    assert texts(result) == [("r1", "Hello"), ("r2", "bye")]
    assert result.exit_code == 0


def test_it_reads_a_file_too(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(lines(TWO))

    assert texts(CliRunner().invoke(main, ["replay", str(file)])) == [("r1", "Hello"), ("r2", "bye")]


def test_blank_lines_comments_pings_and_a_byte_order_mark_are_passed_over() -> None:
    first, *rest = TWO

    assert texts(replay(b"\xef\xbb\xbf\n\n" + lines([first]) + b"\n" + lines(rest))) == [
        ("r1", "Hello"),
        ("r2", "bye"),
    ]
    assert texts(replay(b"\xef\xbb\xbf" + lines(TWO))) == [("r1", "Hello"), ("r2", "bye")]
    assert texts(replay(b": hi\n\nevent: ping\ndata: \n\nretry: 5\n\n" + frames(TWO))) == [
        ("r1", "Hello"),
        ("r2", "bye"),
    ]


def test_a_reply_that_does_not_end_is_printed_as_far_as_it_came() -> None:
    assert texts(replay(lines(reply("r1", "Hel", "lo")[:3]))) == [("r1", "Hel")]
    assert texts(replay(frames(reply("r1", "Hel", "lo")[:3]).rstrip(b"\n"))) == [("r1", "Hel")]


def test_nothing_in_is_nothing_out() -> None:
    result = replay(b"\n\n")

    assert (result.exit_code, result.output) == (0, "")


def test_snapshots_print_the_message_after_every_event() -> None:
    result = replay(lines(reply("r1", "Hel", "lo")), "--snapshots")

    assert [text for _, text in texts(result)] == ["", "", "Hel", "Hello", "Hello", "Hello"]


def test_scope_call_takes_everything_between_start_and_end_into_one_message() -> None:
    start, *body, end = reply("r1", "Hel", "lo")
    elsewhere = [TextBlockStartEvent("r9", "x"), TextBlockDeltaEvent("r9", "x", "!")]
    stream = lines([start, ModelCallStartEvent("r8"), *body, *elsewhere, end])

    assert texts(replay(stream, "--scope", "call")) == [("r1", "Hello!")]


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (b"{", "line 3, $: "),
        (b"hello", "line 3, $: "),
        (b'{"type":"TEXT_BLOCK_DELTA","delta":5}', "line 3, $.delta: expected str, got int"),
        (b'[{"type":"TEXT_BLOCK_DELTA"}]', "line 3, $: "),
        (b"[" * 100_000, "line 3, $: "),
    ],
    ids=["cut off", "no JSON", "wrong type", "no object", "too deep"],
)
def test_a_bad_line_ends_it_with_its_number_after_what_came_before(bad: bytes, complaint: str) -> None:
    start, opened, *_ = lines(reply("r1", "Hello")).splitlines(keepends=True)
    result = replay(start + opened + bad + b"\n")

    assert result.exit_code == 1
    assert complaint in result.stderr
    assert texts(result) == [("r1", "")]


def test_a_bad_event_of_a_stream_is_named_by_its_first_line() -> None:
    result = replay(b"id: 1\ndata: {}\n\n: ping\n\nid: 2\ndata: {\ndata: x\n\n")

    assert result.exit_code == 1
    assert "line 6, $: " in result.stderr


def test_a_line_that_is_too_long_is_refused() -> None:
    result = replay(lines(reply("r1", "x" * 5_000)), "--max-line", "1000")

    assert result.exit_code == 1
    assert "line 3, $: longer than 1000 bytes" in result.stderr


def test_the_first_line_decides_what_is_read() -> None:
    assert [event.id for event in read_events([b'{"type":"CUSTOM","id":"1"}\n', b"\n"])] == ["1"]
    assert [event.id for event in read_events([b'data:{"type":"CUSTOM","id":"1"}\n', b"\n"])] == ["1"]


@pytest.mark.parametrize("name", ["S01-own-stream-any-cut", "S02-last-event-id"])
def test_it_reads_the_streams_of_the_cases(name: str) -> None:
    case = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    result = replay(b"".join(base64.b64decode(chunk) for chunk in case["chunks"]))

    assert [message["content"] for message in printed(result)] == [
        [{**block} for block in case["expected"]["content"]]
    ]


def test_messages_come_while_the_input_is_still_open() -> None:
    with subprocess.Popen(
        [*COMMAND, "replay", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines(reply("r1", "Hello")))
        process.stdin.flush()

        assert json.loads(process.stdout.readline())["id"] == "r1"

        process.stdin.close()
        assert process.wait(timeout=30) == 0


def test_a_reader_that_leaves_ends_it_quietly() -> None:
    with subprocess.Popen(
        [*COMMAND, "replay", "--snapshots", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, stderr = process.communicate(lines(TWO), timeout=30)

    assert (process.returncode, stderr) == (1, b"")
