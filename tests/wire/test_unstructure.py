"""What goes onto the wire: our form, Java's form, and what is refused."""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any

import pytest
from attrs import frozen

from agentscope_rx import wire
from agentscope_rx.errors import ConfigurationError, WireError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    AllToolsDeniedEvent,
    ConfirmResult,
    CustomEvent,
    DataBlockDeltaEvent,
    DataBlockStartEvent,
    ErrorInfo,
    ModelCallEndEvent,
    ModelCallStartEvent,
    RequestStopEvent,
    RequireUserConfirmEvent,
    SubagentExposedEvent,
    TextBlockDeltaEvent,
    ToolResultDataDeltaEvent,
    ToolResultTextDeltaEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.message import (
    AssistantMessage,
    ChatUsage,
    DataBlock,
    GenerateReason,
    HintBlock,
    ImageBlock,
    Msg,
    MsgRole,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    URLSource,
    UserMessage,
)
from agentscope_rx.permission import PermissionRule

FRAME: Any = {"id": "e", "created_at": "t"}
HEAD = {"id": "e", "createdAt": "t"}
CALL = {
    "type": "tool_use",
    "id": "c",
    "name": "n",
    "input": {},
    "content": None,
    "metadata": {},
    "state": "pending",
}


@pytest.mark.parametrize(
    ("event", "ours", "java"),
    [
        (ModelCallStartEvent("r", "gpt", **FRAME), {"replyId": "r", "modelName": "gpt"}, {"replyId": "r"}),
        (
            ModelCallEndEvent("r", ChatUsage(3, 4, 1, 0.5, 2), **FRAME),
            {
                "replyId": "r",
                "usage": {
                    "inputTokens": 3,
                    "outputTokens": 4,
                    "cachedTokens": 1,
                    "time": 0.5,
                    "totalTokens": 7,
                    "reasoningTokens": 2,
                },
                "inputTokens": 3,
                "outputTokens": 4,
            },
            {
                "replyId": "r",
                "usage": {
                    "inputTokens": 3,
                    "outputTokens": 4,
                    "cachedTokens": 1,
                    "time": 0.5,
                    "totalTokens": 7,
                },
            },
        ),
        (ModelCallEndEvent("r", **FRAME), {"replyId": "r"}, {"replyId": "r"}),
        (
            AgentEndEvent("r", GenerateReason.INTERRUPTED, ErrorInfo("ModelError", "gone"), **FRAME),
            {
                "replyId": "r",
                "generateReason": "INTERRUPTED",
                "error": {"type": "ModelError", "message": "gone"},
            },
            {"replyId": "r"},
        ),
        (
            DataBlockStartEvent("r", "b", "image/png", **FRAME),
            {"replyId": "r", "blockId": "b", "mediaType": "image/png"},
            {"replyId": "r", "blockId": "b"},
        ),
        (
            DataBlockDeltaEvent("r", "b", "YQ==", media_type="image/png", **FRAME),
            {"replyId": "r", "blockId": "b", "data": "YQ==", "mediaType": "image/png"},
            {"replyId": "r", "blockId": "b", "delta": "YQ=="},
        ),
        (
            DataBlockDeltaEvent("r", "b", url="u", **FRAME),
            {"replyId": "r", "blockId": "b", "url": "u"},
            {"replyId": "r", "blockId": "b"},
        ),
        (
            RequestStopEvent("why", reply_id="r", **FRAME),
            {"reason": "why", "generateReason": "MIDDLEWARE_STOP_REQUESTED", "replyId": "r"},
            {"reason": "why", "generateReason": "MIDDLEWARE_STOP_REQUESTED"},
        ),
        (
            CustomEvent("c", reply_id="r", **FRAME),
            {"name": "c", "value": {}, "replyId": "r"},
            {"name": "c", "value": {}},
        ),
        (
            SubagentExposedEvent("s", reply_id="r", **FRAME),
            {"subagentId": "s", "replyId": "r"},
            {"subagentId": "s"},
        ),
        (
            AllToolsDeniedEvent((ToolUseBlock("c", "n"),), reply_id="r", **FRAME),
            {"deniedToolCalls": [CALL], "replyId": "r"},
            {"deniedToolCalls": [CALL]},
        ),
        (AgentResultEvent(None, reply_id="r", **FRAME), {"replyId": "r"}, {}),
        (
            RequireUserConfirmEvent("r", suggested_rules={"c": [PermissionRule("n")]}, **FRAME),
            {
                "replyId": "r",
                "toolCalls": [],
                "suggestedRules": {
                    "c": [{"tool_name": "n", "rule_content": None, "behavior": "allow", "source": "session"}]
                },
            },
            {"replyId": "r", "toolCalls": []},
        ),
        (
            UserConfirmResultEvent("r", (ConfirmResult(True, None),), **FRAME),
            {"replyId": "r", "confirmResults": [{"confirmed": True, "toolCall": None, "rules": None}]},
            {"replyId": "r", "confirmResults": [{"confirmed": True, "toolCall": None, "rules": None}]},
        ),
    ],
    ids=lambda value: value.type if isinstance(value, AgentEvent) else "",
)
def test_what_java_does_not_know_is_added_and_left_out(
    event: AgentEvent, ours: dict[str, Any], java: dict[str, Any]
) -> None:
    assert wire.to_dict(event) == {"type": event.type, **HEAD, **ours}
    assert wire.to_dict(event, java=True) == {"type": event.type, **HEAD, **java}


@pytest.mark.parametrize(
    ("delta", "ours", "java"),
    [
        (
            {"data": "YQ==", "media_type": "image/png", "block_id": "i"},
            {"data": "YQ==", "mediaType": "image/png", "blockId": "i"},
            {
                "type": "data",
                "source": {"type": "base64", "media_type": "image/png", "data": "YQ=="},
                "id": "i",
            },
        ),
        (
            {"data": "YQ=="},
            {"data": "YQ=="},
            {
                "type": "data",
                "source": {"type": "base64", "media_type": "application/octet-stream", "data": "YQ=="},
                "id": "e",
            },
        ),
        (
            {"url": "u", "media_type": "image/png"},
            {"url": "u", "mediaType": "image/png"},
            {"type": "data", "source": {"type": "url", "url": "u", "mime_type": "image/png"}, "id": "e"},
        ),
        (
            {"block": ImageBlock(URLSource("u"), 1)},
            {"data": {"type": "image", "source": {"type": "url", "url": "u"}, "minPixels": 1}},
            {"type": "image", "source": {"type": "url", "url": "u"}, "minPixels": 1},
        ),
        ({}, {}, None),
    ],
)
def test_java_gets_the_data_of_a_tool_as_a_block(
    delta: dict[str, Any], ours: dict[str, Any], java: dict[str, Any] | None
) -> None:
    event = ToolResultDataDeltaEvent("r", "c", "n", **delta, **FRAME)
    head = {"type": event.type, **HEAD, "replyId": "r", "toolCallId": "c", "toolCallName": "n"}

    assert wire.to_dict(event) == head | ours
    assert wire.to_dict(event, java=True) == head | ({} if java is None else {"data": java})


def test_an_empty_id_or_time_is_not_written_and_an_empty_delta_is() -> None:
    event = ToolResultTextDeltaEvent("", "", "", "", id="", created_at="")

    assert wire.dumps_event(event) == b'{"type":"TOOL_RESULT_TEXT_DELTA","toolCallName":"","delta":""}'
    assert wire.dumps_event(event, java=True) == wire.dumps_event(event)


def test_an_empty_source_is_written_and_empty_metadata_is_not() -> None:
    event = AgentStartEvent("", "r", "", "", id="e", created_at="t", source="", metadata={})

    assert wire.dumps_event(event) == (
        b'{"type":"AGENT_START","id":"e","createdAt":"t","sessionId":"","replyId":"r","name":"","role":"","source":""}'
    )


def test_an_empty_hint_is_a_hint_and_only_for_java_none() -> None:
    assert wire.to_dict(HintBlock("h", ""))["hint"] == ""
    assert wire.to_dict(HintBlock("h", ""), java=True)["hint"] is None


def test_a_message_writes_its_nulls_as_java_does() -> None:
    msg = Msg(None, None, [ToolUseBlock("", ""), ToolResultBlock("", ""), HintBlock("")], id="", timestamp="")

    assert wire.dumps_msg(msg, java=True) == (
        b'{"id":null,"name":null,"role":null,"content":['
        b'{"type":"tool_use","id":null,"name":null,"input":{},"content":null,"metadata":{},"state":"pending"},'
        b'{"type":"tool_result","id":null,"name":null,"output":[],"metadata":{},"state":"running"},'
        b'{"type":"hint","id":null,"hint":null,"source":null}],'
        b'"metadata":{},"timestamp":null,"usage":null}'
    )


def test_metadata_of_text_and_data_is_ours_and_of_a_thinking_block_javas() -> None:
    assert wire.to_dict(TextBlock("x", {"s": 1})) == {"type": "text", "text": "x", "metadata": {"s": 1}}
    assert wire.to_dict(TextBlock("x", {"s": 1}), java=True) == {"type": "text", "text": "x"}
    data = DataBlock(URLSource("http://x"), "d", metadata={"s": 1})
    assert wire.to_dict(data)["metadata"] == {"s": 1}
    assert "metadata" not in wire.to_dict(data, java=True)
    assert wire.to_dict(ThinkingBlock("x"), java=True) == {
        "type": "thinking",
        "thinking": "x",
        "metadata": None,
    }


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Text(str):
    __slots__ = ()


def test_values_inside_of_open_mappings_are_written_in_their_own_form() -> None:
    inside = {
        "msg": UserMessage("hi", id="m", timestamp="t"),
        "answers": (ConfirmResult(True, ToolUseBlock("c", "n")),),
        "enums": [MsgRole.USER, Color.RED, Level.HIGH],
        "bytes": b"\x00\x01\xff",
        "mapping": MappingProxyType(OrderedDict(a=1)),
        "text": Text("x"),
        "number": True,
    }
    written = wire.to_dict(CustomEvent("c", inside))["value"]

    assert written["msg"]["content"] == [{"type": "text", "text": "hi"}]
    assert written["answers"] == [{"confirmed": True, "toolCall": CALL, "rules": None}]
    assert written["enums"] == ["USER", "red", 3]
    assert written["bytes"] == "AAH/"
    assert written["mapping"] == {"a": 1}
    assert (written["text"], type(written["text"])) == ("x", str)
    assert written["number"] is True
    assert [type(item) for item in written["enums"]] == [str, str, int]


def test_numbers_that_are_floats_are_written_as_floats() -> None:
    assert wire.dumps(ChatUsage(time=2)) == wire.dumps(ChatUsage(time=2.0))


@frozen
class Mine:
    x: int = 1


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"a": [float("nan")]}, "$.value.a[0]: nan is no JSON number"),
        ({"a": {"b c": float("-inf")}}, '$.value.a["b c"]: -inf is no JSON number'),
        ({"a": object()}, "$.value.a: a object is no JSON value; put a str, number, dict or list there"),
        ({"a": Mine()}, "$.value.a: a Mine is no JSON value; put a str, number, dict or list there"),
        ({"a": {1, 2}}, "$.value.a: a set is no JSON value; put a str, number, dict or list there"),
        ({"a": {1: 2}}, "$.value.a: the key 1 is no str"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_path(value: dict[str, Any], error: str) -> None:
    for java in (False, True):
        with pytest.raises(WireError) as caught:
            wire.dumps_event(CustomEvent("c", value), java)
        assert str(caught.value) == error


def test_a_usage_that_took_no_time_known_to_json_is_refused() -> None:
    with pytest.raises(WireError, match=r"^\$\.usage\.time: nan is no JSON number$"):
        wire.dumps_msg(AssistantMessage("x", usage=ChatUsage(time=float("nan"))))


def test_an_int_with_too_many_digits_and_a_circle_are_refused() -> None:
    circle: dict[str, Any] = {}
    circle["a"] = circle

    with pytest.raises(WireError, match="Exceeds the limit"):
        wire.dumps({"a": 10**5000})
    with pytest.raises(WireError, match="nested too deeply"):
        wire.dumps(circle)


@pytest.mark.parametrize("wrong", ["x", None, {"type": "AGENT_END"}, UserMessage("hi"), TextBlock("x")])
def test_dumps_event_takes_events_only(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"is no AgentEvent; `wire\.dumps` writes other values"):
        wire.dumps_event(wrong)


@pytest.mark.parametrize("wrong", ["x", None, TextBlockDeltaEvent("r", "b", "d")])
def test_dumps_msg_takes_messages_only(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="is no Msg"):
        wire.dumps_msg(wrong)


def test_collections_enums_and_json_values_are_written_too() -> None:
    assert wire.to_dict([MsgRole.TOOL, None, 1.5, {"a": TextBlock("x")}]) == [
        "TOOL",
        None,
        1.5,
        {"a": {"type": "text", "text": "x"}},
    ]
