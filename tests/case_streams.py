"""The handed cases: streams of events, and what they make."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attrs import frozen

from agentscope_rx import wire
from agentscope_rx._frames import SSEReader
from agentscope_rx.errors import WireError
from agentscope_rx.event import AgentEvent
from agentscope_rx.message import Msg, ToolUseBlock

__all__ = ["FILES", "RECONSTRUCT", "REPORTED", "SSE", "Case", "difference", "full", "read_sse"]

FOLDER = Path(__file__).parent / "cases"


@frozen
class Case:
    """One case: `events`, and what they shall make."""

    id: str
    raw: dict[str, Any]
    events: tuple[AgentEvent, ...]
    expected: dict[str, Any]

    @property
    def reply_id(self) -> str:
        return self.raw.get("replyId") or self.expected["replyId"]

    @property
    def scope(self) -> Any:
        return self.raw.get("scope", "reply")

    @property
    def message(self) -> dict[str, Any]:
        """What the message shall hold."""
        return {key: value for key, value in self.expected.items() if key in MESSAGE_KEYS}


MESSAGE_KEYS = ("id", "name", "role", "content", "usage", "generateReason")


def event(raw: dict[str, Any]) -> AgentEvent:
    return wire.from_dict(AgentEvent, full(raw))


def full(value: Any) -> Any:
    """Write the short forms of the cases in full."""
    if isinstance(value, list):
        return [full(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = {SHORT.get(key, key): full(item) for key, item in value.items()}
    if value.get("type") == "data" and "source" not in value and ("data" in value or "url" in value):
        media_type = value.pop("mediaType", None)
        if "url" in value:
            source = {"type": "url", "url": value.pop("url"), "mime_type": media_type}
        else:
            source = {"type": "base64", "media_type": media_type, "data": value.pop("data")}
        value["source"] = source
    return value


SHORT = {"raw": "content", "input_tokens": "inputTokens", "output_tokens": "outputTokens"}


def lines(file: Path) -> Iterable[dict[str, Any]]:
    return (json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line)


def case(raw: dict[str, Any]) -> Case:
    events = tuple(event(item) for item in raw.get("events", ()))
    return Case(raw["id"], raw, events, full(raw["expected"]))


RECONSTRUCT = [case(raw) for raw in lines(FOLDER / "reconstruct.jsonl")]
FILES = [json.loads(file.read_text(encoding="utf-8")) for file in sorted((FOLDER / "events").glob("*.json"))]
REPORTED = [case(raw) for raw in FILES if raw["kind"] == "events"]
SSE = [case(raw) for raw in FILES if raw["kind"] == "events_sse"]


def read_sse(raw: dict[str, Any], chunks: list[str]) -> list[AgentEvent]:
    """Read the bytes of a connection; frames that are no event are left out; a client reports them."""
    encoding = raw["encoding"]
    reader = SSEReader()
    events: list[AgentEvent] = []
    for chunk in chunks:
        data = base64.b64decode(chunk) if encoding == "base64" else chunk.encode(encoding)
        for frame in reader.feed(data):
            if frame.data.strip():
                try:
                    events.append(wire.loads_event(frame.data, strict=True))
                except WireError:
                    continue
    return events


def difference(expected: Any, message: Msg) -> str | None:
    """Say where a message is not what it shall be: `expected` is a part of it."""
    made = wire.to_dict(message)
    made["generateReason"] = message.generate_reason
    for block, out in zip(message.content, made["content"], strict=True):
        if isinstance(block, ToolUseBlock):
            out["inputError"] = block.input_error
    return _difference(_plain(expected), _plain(made), "$")


def _plain(value: Any) -> Any:
    """Leave out what is not compared, and write alike what is the same."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    plain = {
        SAME.get(key, key): item if key in EXACT else _plain(item)
        for key, item in value.items()
        if item is not None and not (key == "metadata" and not item)
    }
    if plain.get("type") in ("text", "thinking", "data"):
        plain.pop("id", None)
    if "state" in plain:
        plain["state"] = plain["state"].lower()
    return plain


SAME = {"mime_type": "media_type"}
EXACT = ("input", "metadata")


def _difference(expected: Any, made: Any, path: str) -> str | None:
    if isinstance(expected, dict) and isinstance(made, dict):
        for key, value in expected.items():
            exact = key in EXACT and made.get(key) != value
            if exact or key not in made:
                return f"{path}.{key}: expected {value!r}, made {made.get(key)!r}"
            if key not in EXACT and (found := _difference(value, made[key], f"{path}.{key}")):
                return found
        return None
    if isinstance(expected, list) and isinstance(made, list) and len(expected) == len(made):
        parts = (
            _difference(left, right, f"{path}[{index}]")
            for index, (left, right) in enumerate(zip(expected, made, strict=True))
        )
        return next(filter(None, parts), None)
    return None if expected == made else f"{path}: expected {expected!r}, made {made!r}"
