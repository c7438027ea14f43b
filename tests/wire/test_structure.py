"""Generous about form, strict about meaning: the table of decisions, row by row, in all positions."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any, get_args

import pytest
from attrs import evolve

from agentscope_rx import event, message, permission, state, wire
from agentscope_rx.errors import WireError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentEventType,
    AgentResultEvent,
    AgentStartEvent,
    AnyAgentEvent,
    ConfirmResult,
    CustomEvent,
    DataBlockDeltaEvent,
    DataBlockStartEvent,
    ErrorInfo,
    ExceedMaxItersEvent,
    HintBlockEvent,
    ModelCallEndEvent,
    RequestStopEvent,
    RequireUserConfirmEvent,
    SubagentExposedEvent,
    TextBlockDeltaEvent,
    TextBlockStartEvent,
    ToolCallDeltaEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    UnknownEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    ChatUsage,
    ContentBlock,
    DataBlock,
    GenerateReason,
    HintBlock,
    ImageBlock,
    Msg,
    MsgRole,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
    UserMessage,
    VideoBlock,
)
from agentscope_rx.permission import (
    AdditionalWorkingDirectory,
    PermissionBehavior,
    PermissionContextState,
    PermissionDecision,
    PermissionMode,
    PermissionRule,
)
from agentscope_rx.state import Task, TaskContextState, TaskState, ToolContextState, ToolkitState

CALL = {"type": "tool_use", "id": "c", "name": "n"}
RULE = {"tool_name": "n", "behavior": "allow", "source": "s"}


def read(type: str, **members: Any) -> AgentEvent:
    return wire.loads_event(json.dumps({"type": type} | members))


class Test_type_and_keys:
    @pytest.mark.parametrize(
        "text",
        [
            '{"type":"AGENT_END","replyId":"r"}',
            '{"replyId":"r","type":"AGENT_END"}',
            '{"type":"AGENT_END","replyId":"r","type":"AGENT_END"}',
            '{"type":"AGENT_START","replyId":"r","type":"AGENT_END"}',
            '{"type":"AGENT_END","replyId":"x","replyId":"r"}',
            ' {"type" : "AGENT_END", "replyId" : "r"}\r\n',
        ],
    )
    @pytest.mark.parametrize("kind", [str, str.encode])
    def test_type_may_be_anywhere_and_the_last_of_double_keys_counts(self, text: str, kind: Any) -> None:
        ours = wire.loads_event(kind(text))

        assert ours == AgentEndEvent("r", id="", created_at="")

    def test_the_last_of_double_types_counts_in_the_fast_lane_too(self) -> None:
        text = '{"type":"TEXT_BLOCK_END","replyId":"r","type":"TEXT_BLOCK_START"}'

        assert wire.loads_event(text) == TextBlockStartEvent("r", "", id="", created_at="")

    @pytest.mark.parametrize(
        ("legacy", "name"),
        [
            ("RUN_STARTED", "AGENT_START"),
            ("REPLY_START", "AGENT_START"),
            ("RUN_FINISHED", "AGENT_END"),
            ("REPLY_END", "AGENT_END"),
            ("MODEL_CALL_STARTED", "MODEL_CALL_START"),
            ("MODEL_CALL_ENDED", "MODEL_CALL_END"),
            ("BINARY_BLOCK_START", "DATA_BLOCK_START"),
            ("BINARY_BLOCK_DELTA", "DATA_BLOCK_DELTA"),
            ("BINARY_BLOCK_END", "DATA_BLOCK_END"),
            ("TOOL_RESULT_BINARY_DELTA", "TOOL_RESULT_DATA_DELTA"),
            ("THREAD_EXPOSED", "SUBAGENT_EXPOSED"),
        ],
    )
    def test_legacy_names_mean_the_new_ones(self, legacy: str, name: str) -> None:
        assert read(legacy, replyId="r") == read(name, replyId="r")
        assert json.loads(wire.dumps_event(read(legacy)))["type"] == name
        assert wire.from_dict(AgentEventType, legacy) is AgentEventType(name)

    def test_unknown_fields_are_ignored(self) -> None:
        assert read("AGENT_END", extra={"a": [1]}, reply_id="x") == read("AGENT_END")
        assert read("TEXT_BLOCK_DELTA", delta="d", extra=[1]) == read("TEXT_BLOCK_DELTA", delta="d")


class Test_words:
    @pytest.mark.parametrize(
        "enum",
        [
            MsgRole,
            GenerateReason,
            ToolCallState,
            ToolResultState,
            PermissionMode,
            PermissionBehavior,
            TaskState,
        ],
    )
    def test_states_roles_reasons_and_modes_are_read_in_any_case(self, enum: type[StrEnum]) -> None:
        for word in enum:
            for spelling in (word.value, word.value.upper(), word.value.lower(), word.value.title()):
                assert wire.from_dict(enum, spelling) is word

    def test_they_are_read_so_wherever_they_stand(self) -> None:
        end = read("TOOL_RESULT_END", state="DENIED")
        stop = read("REQUEST_STOP", generateReason="interrupted")
        result = read(
            "AGENT_RESULT", result={"role": "Tool", "metadata": {"agentscope_generate_reason": "model_stop"}}
        )
        ask = read("REQUIRE_USER_CONFIRM", toolCalls=[CALL | {"state": "ASKING"}])

        assert isinstance(end, ToolResultEndEvent)
        assert end.state is ToolResultState.DENIED
        assert isinstance(stop, RequestStopEvent)
        assert stop.generate_reason is GenerateReason.INTERRUPTED
        assert isinstance(result, AgentResultEvent)
        assert result.result is not None
        assert (result.result.role, result.result.generate_reason) == (
            MsgRole.TOOL,
            GenerateReason.MODEL_STOP,
        )
        assert isinstance(ask, RequireUserConfirmEvent)
        assert ask.tool_calls[0].state is ToolCallState.ASKING

    @pytest.mark.parametrize("wrong", [0, 1, 1.0, True, [], {}])
    def test_an_ordinal_is_refused(self, wrong: Any) -> None:
        with pytest.raises(WireError, match=r"^\$: expected str, got (int|float|bool|array|object)$"):
            wire.from_dict(ToolCallState, wrong)

    @pytest.mark.parametrize("wrong", ["", " pending", "pending ", "0", "done"])
    def test_padding_and_unknown_words_are_refused_with_the_known_ones(self, wrong: str) -> None:
        with pytest.raises(
            WireError, match=f"unknown ToolCallState '{wrong}'; known: pending, asking, allowed"
        ):
            wire.from_dict(ToolCallState, wrong)

    def test_an_event_type_is_read_in_its_own_case_only(self) -> None:
        with pytest.raises(WireError, match=r"^\$: unknown AgentEventType 'agent_start'$"):
            wire.from_dict(AgentEventType, "agent_start")

    def test_every_enum_of_a_value_has_its_hook(self) -> None:
        enums = {
            cls
            for module in (event, message, permission, state)
            for cls in vars(module).values()
            if isinstance(cls, type) and issubclass(cls, StrEnum)
        }

        assert len(enums) == 8
        for enum in enums:
            assert [wire.from_dict(enum, word.value) for word in enum] == list(enum)
            with pytest.raises(WireError, match=f"unknown {enum.__name__} 'NOPE'"):
                wire.from_dict(enum, "NOPE")


class Test_other_forms:
    def test_usage_is_read_nested_or_flat(self) -> None:
        nested = read("MODEL_CALL_END", usage={"inputTokens": 3, "outputTokens": 4})

        assert nested == read("MODEL_CALL_END", inputTokens=3, outputTokens=4)
        assert nested == read("MODEL_CALL_END", usage={"inputTokens": 3, "outputTokens": 4}, inputTokens=9)
        assert isinstance(nested, ModelCallEndEvent)
        assert nested.usage == ChatUsage(3, 4)

    @pytest.mark.parametrize(
        ("flat", "usage"),
        [
            ({}, None),
            ({"usage": None, "inputTokens": None}, None),
            ({"inputTokens": 0}, ChatUsage()),
            ({"outputTokens": 7}, ChatUsage(0, 7)),
            ({"usage": {}, "outputTokens": 7}, ChatUsage()),
        ],
    )
    def test_flat_usage_may_be_half_there_or_not_at_all(self, flat: Any, usage: ChatUsage | None) -> None:
        ours = read("MODEL_CALL_END", **flat)

        assert isinstance(ours, ModelCallEndEvent)
        assert ours.usage == usage

    def test_data_is_read_under_both_of_its_names(self) -> None:
        assert read("DATA_BLOCK_DELTA", delta="YQ==") == read("DATA_BLOCK_DELTA", data="YQ==")
        both = read("DATA_BLOCK_DELTA", data="YQ==", delta="Yg==")
        assert isinstance(both, DataBlockDeltaEvent)
        assert both.data == "YQ=="

    def test_a_tool_result_carries_base64_an_address_or_a_block(self) -> None:
        block = {"type": "image", "source": {"type": "url", "url": "u"}, "min_pixels": 3}
        frame: Any = {"id": "", "created_at": ""}

        assert read(
            "TOOL_RESULT_DATA_DELTA", data="YQ==", mediaType="a/b", blockId="i"
        ) == ToolResultDataDeltaEvent("", "", "", "YQ==", media_type="a/b", block_id="i", **frame)
        assert read("TOOL_RESULT_DATA_DELTA", url="u") == ToolResultDataDeltaEvent(
            "", "", "", url="u", **frame
        )
        assert read("TOOL_RESULT_DATA_DELTA", data=block) == ToolResultDataDeltaEvent(
            "", "", "", block=ImageBlock(URLSource("u"), 3), **frame
        )

    @pytest.mark.parametrize(
        ("type", "members"),
        [
            ("TOOL_RESULT_DATA_DELTA", {"data": "YQ==", "url": "u"}),
            ("TOOL_RESULT_DATA_DELTA", {"data": {"type": "text"}, "url": "u"}),
            ("DATA_BLOCK_DELTA", {"data": "YQ==", "url": "u"}),
        ],
    )
    def test_two_of_them_at_once_are_refused(self, type: str, members: Any) -> None:
        with pytest.raises(WireError, match=r"^\$: give "):
            read(type, **members)

    def test_a_base64_source_takes_media_type_in_both_spellings(self) -> None:
        source = Base64Source("image/png", "AA==")

        assert wire.from_dict(Base64Source, {"mediaType": "image/png", "data": "AA=="}) == source
        assert (
            wire.from_dict(Base64Source, {"media_type": "image/png", "mediaType": "x", "data": "AA=="})
            == source
        )

    def test_pixels_are_read_in_both_spellings(self) -> None:
        source = {"type": "url", "url": "u"}
        read = wire.from_dict(
            VideoBlock, {"source": source, "max_frames": 1, "minPixels": 2, "min_pixels": 9}
        )

        assert read == VideoBlock(URLSource("u"), max_frames=1, min_pixels=2)

    def test_tool_blocks_need_no_type_where_only_they_can_stand(self) -> None:
        call = {"id": "c", "name": "n"}
        texts: list[Any] = [
            {"type": "REQUIRE_USER_CONFIRM", "toolCalls": [call]},
            {"type": "REQUIRE_EXTERNAL_EXECUTION", "toolCalls": [call]},
            {"type": "ALL_TOOLS_DENIED", "deniedToolCalls": [call]},
            {"type": "USER_CONFIRM_RESULT", "confirmResults": [{"toolCall": call}]},
            {"type": "EXTERNAL_EXECUTION_RESULT", "toolResults": [call]},
        ]

        for text in texts:
            assert wire.from_dict(AgentEvent, text, strict=True)
        with pytest.raises(WireError, match=r"^\$\.type: expected str, got null$"):
            wire.from_dict(ContentBlock, call)

    @pytest.mark.parametrize("number", [2**31, 2**63, 2**64, 10**30, -(10**400)])
    def test_integers_have_any_size(self, number: int) -> None:
        ours = read("EXCEED_MAX_ITERS", maxIters=number)

        assert isinstance(ours, ExceedMaxItersEvent)
        assert ours.max_iters == number
        assert wire.loads_event(wire.dumps_event(ours)) == ours

    @pytest.mark.parametrize(
        ("text", "number"), [("1e2", 100), ("2.0", 2), ("-0.0", 0), ("1E23", 10**23), ("1.5e1", 15)]
    )
    def test_a_whole_number_in_another_spelling_is_an_int(self, text: str, number: int) -> None:
        ours = wire.loads_event(f'{{"type":"EXCEED_MAX_ITERS","maxIters":{text}}}')

        assert isinstance(ours, ExceedMaxItersEvent)
        assert (ours.max_iters, type(ours.max_iters)) == (number, int)


class Test_missing_and_null:
    @pytest.mark.parametrize("cls", [cls for cls in get_args(AnyAgentEvent) if cls is not UnknownEvent])
    def test_an_event_of_nothing_but_its_type_has_blank_fields(self, cls: Any) -> None:
        ours = wire.loads_event(json.dumps({"type": cls.type}))
        nulls = dict.fromkeys(wire.to_dict(ours), None) | {"replyId": None, "id": None, "metadata": None}

        assert type(ours) is cls
        assert (ours.id, ours.created_at, ours.source, ours.metadata) == ("", "", None, {})
        assert wire.loads_event(json.dumps(nulls | {"type": cls.type})) == ours

    def test_ids_deltas_and_names_are_the_empty_string(self) -> None:
        delta = read("TOOL_CALL_DELTA", toolCallId=None)

        assert isinstance(delta, ToolCallDeltaEvent)
        assert delta == ToolCallDeltaEvent("", "", "", "", id="", created_at="")
        assert delta.delta.upper() == ""

    def test_other_fields_have_their_defaults(self) -> None:
        assert read("AGENT_START", role=None) == AgentStartEvent(None, "", id="", created_at="")
        assert read("TOOL_RESULT_END", state=None) == ToolResultEndEvent("", "", "", id="", created_at="")
        assert read("REQUEST_STOP") == RequestStopEvent(id="", created_at="")
        assert read("CUSTOM", value=None) == CustomEvent(id="", created_at="")
        assert read("USER_CONFIRM_RESULT", confirmResults=[{}]) == UserConfirmResultEvent(
            "", (ConfirmResult(False, None),), id="", created_at=""
        )
        assert read("AGENT_END", error={}) == AgentEndEvent("", error=ErrorInfo(""), id="", created_at="")

    def test_null_elements_of_content_are_dropped(self) -> None:
        msg = wire.from_dict(Msg, {"content": [None, {"type": "text", "text": "a"}, None]})

        assert msg.content == (TextBlock("a"),)

    def test_a_message_of_nothing_has_neither_id_nor_role(self) -> None:
        assert wire.from_dict(Msg, {}) == Msg(role=None, id="", timestamp="")
        assert wire.from_dict(Msg, {"role": "USER"}) == UserMessage(id="", timestamp="")
        assert wire.from_dict(UserMessage, {}) == UserMessage(id="", timestamp="")

    def test_blocks_have_blank_fields(self) -> None:
        assert wire.from_dict(ToolUseBlock, {}) == ToolUseBlock("", "")
        assert wire.from_dict(ToolResultBlock, {}) == ToolResultBlock("", "")
        assert wire.from_dict(HintBlock, {}) == HintBlock("")
        assert wire.from_dict(VideoBlock, {}) == VideoBlock(None)

    def test_a_data_block_without_an_id_gets_one(self) -> None:
        source = {"type": "url", "url": "u"}
        ids = [wire.from_dict(DataBlock, {"source": source, "id": id}).id for id in (None, "")]

        assert all(ids)
        assert ids[0] != ids[1]

    def test_state_has_its_defaults(self) -> None:
        task = wire.from_dict(Task, {"subject": "s", "description": "d"})

        assert task.id
        assert task.created_at.endswith("Z")
        assert (
            wire.from_dict(PermissionContextState, {"allow_rules": {"n": None, "m": []}})
            == PermissionContextState()
        )
        assert wire.from_dict(TaskContextState, {"tasks": None}) == TaskContextState()
        assert wire.from_dict(ToolContextState, {"max_cache_bytes": 30000}).max_cache_bytes == 30000.0
        assert wire.from_dict(ToolkitState, {"activeGroups": ["web"]}) == ToolkitState(("web",))


class Test_unknown_events:
    @pytest.mark.parametrize(
        "raw",
        [
            {
                "type": "NEWER",
                "id": "e",
                "createdAt": "t",
                "replyId": "r",
                "source": "main/x",
                "n": [None, 1.5],
            },
            {"type": "agent_end"},
            {"type": " AGENT_END"},
            {"type": ""},
            {"type": None},
            {"type": 5},
            {"type": True},
            {"type": ["AGENT_END"]},
            {"type": {"a": 1}},
            {"type": "UNKNOWN"},
            {"id": 5, "createdAt": [], "replyId": {}, "source": 7},
            {},
        ],
    )
    def test_they_keep_the_object_and_are_written_as_they_came(self, raw: dict[str, Any]) -> None:
        ours = wire.loads_event(json.dumps(raw))

        assert isinstance(ours, UnknownEvent)
        assert ours.raw == raw
        for attribute, key in (("id", "id"), ("created_at", "createdAt"), ("reply_id", "replyId")):
            assert getattr(ours, attribute) == (raw[key] if isinstance(raw.get(key), str) else "")
        assert ours.source == (raw["source"] if isinstance(raw.get("source"), str) else None)
        assert json.loads(wire.dumps_event(ours)) == raw
        assert json.loads(wire.dumps_event(ours, java=True)) == raw
        assert list(json.loads(wire.dumps_event(ours))) == list(raw)

    @pytest.mark.parametrize("given", [{}, {"source": None}, {"source": "main"}, {"source": 7}])
    def test_a_new_source_is_all_that_changes(self, given: dict[str, Any]) -> None:
        raw = {"type": "NEWER", "x": 1} | given
        ours = wire.from_dict(AgentEvent, raw)

        assert wire.to_dict(evolve(ours, source="main/sub")) == raw | {"source": "main/sub"}

    def test_a_source_that_is_taken_off_is_gone(self) -> None:
        ours = wire.from_dict(AgentEvent, {"type": "NEWER", "source": "main", "x": 1})

        assert wire.to_dict(evolve(ours, source=None)) == {"type": "NEWER", "x": 1}

    @pytest.mark.parametrize("raw", [{"type": "NEWER"}, {"type": None}, {"type": 5}, {}])
    def test_strict_refuses_them(self, raw: dict[str, Any]) -> None:
        with pytest.raises(WireError, match=r"^\$\.type: unknown event type (.*)$"):
            wire.loads_event(json.dumps(raw), strict=True)
        with pytest.raises(WireError, match="unknown event type"):
            wire.from_dict(AgentEvent, raw, strict=True)

    def test_strict_takes_what_is_known(self) -> None:
        assert wire.loads_event('{"type":"REPLY_END"}', strict=True) == read("AGENT_END")

    def test_a_class_of_its_own_does_not_take_another_type(self) -> None:
        with pytest.raises(WireError, match=r"^\$\.type: expected 'AGENT_END', got 'AGENT_START'$"):
            wire.from_dict(AgentEndEvent, {"type": "AGENT_START"})
        assert wire.from_dict(AgentEndEvent, {"type": "RUN_FINISHED"}) == read("AGENT_END")


TOOL_CALLS = {"type": "REQUIRE_USER_CONFIRM"}
ANSWER = {"type": "USER_CONFIRM_RESULT"}


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (TOOL_CALLS | {"toolCalls": [CALL, CALL | {"id": 5}]}, "$.toolCalls[1].id: expected str, got int"),
        (TOOL_CALLS | {"toolCalls": [CALL | {"name": True}]}, "$.toolCalls[0].name: expected str, got bool"),
        (
            TOOL_CALLS | {"toolCalls": [CALL | {"input": []}]},
            "$.toolCalls[0].input: expected object, got array",
        ),
        (
            TOOL_CALLS | {"toolCalls": [CALL | {"input": "{}"}]},
            "$.toolCalls[0].input: expected object, got str",
        ),
        (TOOL_CALLS | {"toolCalls": [None]}, "$.toolCalls[0]: expected object, got null"),
        (TOOL_CALLS | {"toolCalls": ["x"]}, "$.toolCalls[0]: expected object, got str"),
        (TOOL_CALLS | {"toolCalls": {}}, "$.toolCalls: expected array, got object"),
        (TOOL_CALLS | {"toolCalls": ""}, "$.toolCalls: expected array, got str"),
        (
            TOOL_CALLS | {"toolCalls": [{"type": "text"}]},
            "$.toolCalls[0].type: expected 'tool_use', got 'text'",
        ),
        (
            TOOL_CALLS | {"toolCalls": [CALL | {"state": "done"}]},
            "$.toolCalls[0].state: unknown ToolCallState 'done'; known: "
            "pending, asking, allowed, submitted, finished",
        ),
        (
            TOOL_CALLS | {"suggestedRules": {"c 1": [RULE | {"behavior": "maybe"}]}},
            "$.suggestedRules[\"c 1\"][0].behavior: unknown PermissionBehavior 'maybe'; "
            "known: allow, deny, ask, passthrough",
        ),
        (
            ANSWER | {"confirmResults": [{"confirmed": 1}]},
            "$.confirmResults[0].confirmed: expected bool, got int",
        ),
        (
            ANSWER | {"confirmResults": [{"confirmed": "true"}]},
            "$.confirmResults[0].confirmed: expected bool, got str",
        ),
        (
            ANSWER | {"confirmResults": [{"rules": [RULE, None]}]},
            "$.confirmResults[0].rules[1]: expected object, got null",
        ),
        (
            ANSWER | {"confirmResults": [{"rules": [{"toolName": "n"}]}]},
            "$.confirmResults[0].rules[0].tool_name: missing; a PermissionRule needs it",
        ),
        ({"type": "EXCEED_MAX_ITERS", "maxIters": "12"}, "$.maxIters: expected int, got str"),
        ({"type": "EXCEED_MAX_ITERS", "maxIters": ""}, "$.maxIters: expected int, got str"),
        ({"type": "EXCEED_MAX_ITERS", "maxIters": 1.9}, "$.maxIters: expected int, got float"),
        ({"type": "EXCEED_MAX_ITERS", "maxIters": True}, "$.maxIters: expected int, got bool"),
        ({"type": "MODEL_CALL_END", "usage": 5}, "$.usage: expected object, got int"),
        ({"type": "MODEL_CALL_END", "usage": {"time": "NaN"}}, "$.usage.time: expected float, got str"),
        ({"type": "MODEL_CALL_END", "usage": {"time": False}}, "$.usage.time: expected float, got bool"),
        ({"type": "MODEL_CALL_END", "usage": {"time": 10**400}}, "$.usage.time: a number is out of range"),
        ({"type": "MODEL_CALL_END", "inputTokens": "5"}, "$.inputTokens: expected int, got str"),
        (
            {"type": "MODEL_CALL_END", "usage": {}, "outputTokens": 0.5},
            "$.outputTokens: expected int, got float",
        ),
        ({"type": "AGENT_END", "id": 5}, "$.id: expected str, got int"),
        ({"type": "AGENT_END", "source": {}}, "$.source: expected str, got object"),
        ({"type": "AGENT_END", "metadata": [1]}, "$.metadata: expected object, got array"),
        ({"type": "AGENT_END", "metadata": ""}, "$.metadata: expected object, got str"),
        (
            {"type": "AGENT_END", "generateReason": "NOPE"},
            "$.generateReason: unknown GenerateReason 'NOPE'; known: " + ", ".join(GenerateReason),
        ),
        ({"type": "AGENT_END", "error": {"type": 1}}, "$.error.type: expected str, got int"),
        ({"type": "TEXT_BLOCK_DELTA", "delta": 5}, "$.delta: expected str, got int"),
        ({"type": "TEXT_BLOCK_DELTA", "metadata": 5}, "$.metadata: expected object, got int"),
        ({"type": "TOOL_RESULT_END", "state": 0}, "$.state: expected str, got int"),
        ({"type": "CUSTOM", "value": [1]}, "$.value: expected object, got array"),
        ({"type": "TOOL_RESULT_DATA_DELTA", "data": 5}, "$.data: expected object, got int"),
        (
            {"type": "TOOL_RESULT_DATA_DELTA", "data": {"type": "binary"}},
            "$.data.type: unknown block type 'binary'; known: "
            "text, thinking, data, image, audio, video, tool_use, tool_result, hint",
        ),
        ({"type": "TOOL_RESULT_DATA_DELTA", "data": {"type": 1}}, "$.data.type: expected str, got int"),
        (
            {
                "type": "AGENT_RESULT",
                "result": {"content": [{"type": "text"}, {"type": "data", "source": {}}]},
            },
            "$.result.content[1].source.type: expected str, got null",
        ),
        (
            {"type": "AGENT_RESULT", "result": {"content": [None, {"type": "markdown"}]}},
            "$.result.content[1].type: unknown block type 'markdown'; known: "
            "text, thinking, data, image, audio, video, tool_use, tool_result, hint",
        ),
        (
            {"type": "AGENT_RESULT", "result": {"content": [{"type": "data", "source": {"type": "file"}}]}},
            "$.result.content[0].source.type: unknown source type 'file'; known: base64, url",
        ),
        (
            {"type": "AGENT_RESULT", "result": {"metadata": {"agentscope_generate_reason": "x"}}},
            "$.result.metadata.agentscope_generate_reason: unknown GenerateReason 'x'; known: "
            + ", ".join(GenerateReason),
        ),
        (
            {"type": "AGENT_RESULT", "result": {"role": "USER", "content": [CALL]}},
            "$.result: a USER message cannot hold a ToolUseBlock; "
            "allowed: TextBlock, DataBlock, ImageBlock, AudioBlock, VideoBlock",
        ),
        ({"type": "AGENT_RESULT", "result": {"role": 1}}, "$.result.role: expected str, got int"),
        ({"type": "AGENT_RESULT", "result": "x"}, "$.result: expected object, got str"),
        (
            {"type": "EXTERNAL_EXECUTION_RESULT", "toolResults": [{"output": [{"type": "text"}, None]}]},
            "$.toolResults[0].output[1]: expected object, got null",
        ),
        (
            {
                "type": "EXTERNAL_EXECUTION_RESULT",
                "toolResults": [{"metadata": {"a": {"b": None}, "c d": None}}],
            },
            '$.toolResults[0].metadata["c d"]: expected a value, got null',
        ),
    ],
)
def test_the_error_says_what_is_wrong_and_where(value: dict[str, Any], error: str) -> None:
    with pytest.raises(WireError) as caught:
        wire.loads_event(json.dumps(value))

    assert str(caught.value) == error
    with pytest.raises(WireError) as caught:
        wire.from_dict(AgentEvent, value)
    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("cls", "value", "error"),
    [
        (DataBlock, {"id": "d"}, "$.source: missing; a DataBlock needs it"),
        (DataBlock, {"source": None}, "$.source: missing; a DataBlock needs it"),
        (URLSource, {}, "$.url: missing; a URLSource needs it"),
        (Base64Source, {"data": ""}, "$.media_type: missing; a Base64Source needs it"),
        (
            PermissionRule,
            {"tool_name": "n", "behavior": "ask"},
            "$.source: missing; a PermissionRule needs it",
        ),
        (PermissionDecision, {}, "$.behavior: missing; a PermissionDecision needs it"),
        (
            AdditionalWorkingDirectory,
            {"path": "p"},
            "$.source: missing; a AdditionalWorkingDirectory needs it",
        ),
        (
            PermissionContextState,
            {"working_directories": {"/w": None}},
            '$.working_directories["/w"]: expected object, got null',
        ),
        (PermissionContextState, {"ask_rules": {"n": [None]}}, "$.ask_rules.n[0]: expected object, got null"),
        (PermissionContextState, {"deny_rules": []}, "$.deny_rules: expected object, got array"),
        (Task, {"subject": "s"}, "$.description: missing; a Task needs it"),
        (
            Task,
            {"subject": "s", "description": "d", "metadata": {"a": None}},
            "$.metadata.a: expected a value, got null",
        ),
        (Task, {"subject": "s", "description": "d", "blocks": [1]}, "$.blocks[0]: expected str, got int"),
        (UserMessage, {"role": "ASSISTANT"}, "$.role: 'ASSISTANT' is not the role of a UserMessage"),
        (ChatUsage, {"time": float("nan")}, "$.time: nan is no JSON number"),
        (AssistantMessage, {"name": True}, "$.name: expected str, got bool"),
        (VideoBlock, {"max_frames": "1"}, "$.max_frames: expected int, got str"),
        (HintBlock, {"source": {"type": "url"}}, "$.source: expected str, got object"),
        (list[Msg], [{}, {"id": 1}], "$[1].id: expected str, got int"),
        (dict[str, Msg], {"a": {}, "b": None}, "$.b: expected object, got null"),
        (tuple[ContentBlock, ...], {}, "$: expected array, got object"),
    ],
)
def test_other_classes_say_it_as_well(cls: Any, value: Any, error: str) -> None:
    with pytest.raises(WireError) as caught:
        wire.from_dict(cls, value)

    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("null", "$: expected AgentEvent, got null"),
        ("[]", "$: expected object, got array"),
        ('"AGENT_END"', "$: expected object, got str"),
        ("3", "$: expected object, got int"),
        ("true", "$: expected object, got bool"),
        ('{"type":"AGENT_END"} x', "$: not JSON: Extra data"),
        ('{"type":"AGENT_END"}{"type":"AGENT_END"}', "$: not JSON: Extra data"),
        ('{"type":"TEXT_BLOCK_END"}\n{"type":"TEXT_BLOCK_END"}', "$: not JSON: Extra data"),
        ("", "$: not JSON: "),
        ('{"type":"AGENT_END"', "$: not JSON: "),
        ('{"type":"CUSTOM","value":{"a":[NaN]}}', "$.value.a[0]: NaN is no JSON number"),
        ('{"type":"TEXT_BLOCK_END","metadata":{"a":1E400}}', "$.metadata.a: 1E400 is no JSON number"),
        ('{"type":"EXCEED_MAX_ITERS","maxIters":-Infinity}', "$.maxIters: -Infinity is no JSON number"),
        ('{"type":"AGENT_END","ignored":1E400}', "$.ignored: 1E400 is no JSON number"),
    ],
)
@pytest.mark.parametrize("kind", [str, str.encode])
def test_what_is_no_json_object_is_refused(text: str, error: str, kind: Any) -> None:
    with pytest.raises(WireError) as caught:
        wire.loads_event(kind(text))

    assert str(caught.value).startswith(error)


@pytest.mark.parametrize("cls", [Msg, ContentBlock, AgentEvent, MsgRole, ChatUsage, list[Msg]])
def test_null_at_the_top_is_refused(cls: Any) -> None:
    with pytest.raises(WireError, match=r"^\$: expected .*, got null$"):
        wire.from_dict(cls, None)


def test_none_never_becomes_text_and_a_bool_never_a_number() -> None:
    hint = read("HINT_BLOCK", hintSource=None, hint=None)
    exposed = read("SUBAGENT_EXPOSED", label=None)
    start = read("DATA_BLOCK_START", mediaType=None)

    assert isinstance(hint, HintBlockEvent)
    assert (hint.hint_source, hint.hint) == (None, "")
    assert isinstance(exposed, SubagentExposedEvent)
    assert exposed.label is None
    assert isinstance(start, DataBlockStartEvent)
    assert start.media_type is None
    for number in ("inputTokens", "time"):
        with pytest.raises(WireError, match="got bool"):
            wire.from_dict(ChatUsage, {number: True})


def test_a_collection_is_read_item_by_item() -> None:
    texts = [{"type": "TEXT_BLOCK_DELTA", "delta": "a"}, {"type": "NEWER"}]

    assert [type(item) for item in wire.from_dict(list[AgentEvent], texts)] == [
        TextBlockDeltaEvent,
        UnknownEvent,
    ]
    assert wire.from_dict(dict[str, TextBlock], {"a": {"text": "x"}}) == {"a": TextBlock("x")}
    assert wire.from_dict(tuple[int, ...], [1, 2.0]) == (1, 2)
