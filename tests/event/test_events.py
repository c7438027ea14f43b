"""What holds of every event: frozen, copied by evolve, compared by value, made with checked arguments."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import attrs
import pytest

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
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
    TextBlockDeltaEvent,
    ToolCallDeltaEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    UnknownEvent,
)
from agentscope_rx.identity import deterministic
from agentscope_rx.message import ChatUsage, GenerateReason, TextBlock, ToolResultState
from tests.samples import CALL, EVENTS, RULE

every_event = pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)


@every_event
def test_fields_cannot_be_set_or_deleted(event: AgentEvent) -> None:
    for field in attrs.fields(type(event)):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(event, field.name, getattr(event, field.name))
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            delattr(event, field.name)
    with pytest.raises(AttributeError):
        event.surprise = 1  # type: ignore[attr-defined]


@every_event
def test_evolve_changes_one_field_and_keeps_the_rest(event: AgentEvent) -> None:
    moved = attrs.evolve(event, source="main/writer")

    assert type(moved) is type(event)
    assert moved.source == "main/writer"
    assert moved != event
    assert attrs.evolve(moved, source=event.source) == event


@every_event
def test_pickling_and_copying_keep_the_value_and_its_hash(event: AgentEvent) -> None:
    for twin in (pickle.loads(pickle.dumps(event)), copy.copy(event), copy.deepcopy(event)):
        assert type(twin) is type(event)
        assert twin == event
        assert hash(twin) == hash(event)
        assert attrs.asdict(twin, recurse=False) == attrs.asdict(event, recurse=False)


@every_event
def test_a_pickled_mapping_is_still_frozen(event: AgentEvent) -> None:
    twin: AgentEvent = pickle.loads(pickle.dumps(event))

    with pytest.raises(TypeError, match="frozen"):
        twin.metadata["taskId"] = "other"  # type: ignore[index]


def test_equality_is_by_value_and_the_id_is_part_of_it() -> None:
    with deterministic():
        one = TextBlockDeltaEvent("r", "text-1", "a")
    with deterministic():
        same = TextBlockDeltaEvent("r", "text-1", "a")
        next_token = TextBlockDeltaEvent("r", "text-1", "a")

    assert one == same
    assert one != next_token, "distinct_until_changed must not drop the second of two equal tokens"
    assert len({one, same, next_token}) == 2


def test_events_of_different_classes_are_never_equal() -> None:
    frame = {"id": "e", "created_at": "t"}

    assert TextBlockDeltaEvent("r", "b", "x", **frame) != HintBlockEvent("r", "b", "x", **frame)


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        (
            AgentStartEvent("s", "r", "n"),
            {"session_id": "s", "reply_id": "r", "name": "n", "role": "assistant"},
        ),
        (TextBlockDeltaEvent("r", "b", "d"), {"reply_id": "r", "block_id": "b", "delta": "d"}),
        (
            ToolCallDeltaEvent("r", "c", "search", "{"),
            {"reply_id": "r", "tool_call_id": "c", "tool_call_name": "search", "delta": "{"},
        ),
        (ToolResultEndEvent("r", "c", "search", ToolResultState.DENIED), {"state": ToolResultState.DENIED}),
        (HintBlockEvent("r", "b", "system", "be brief"), {"hint_source": "system", "hint": "be brief"}),
        (ExceedMaxItersEvent("r", 10, 9), {"max_iters": 10, "current_iter": 9}),
        (RequestStopEvent("why"), {"reason": "why", "reply_id": ""}),
        (CustomEvent("n", {"a": 1}), {"name": "n", "value": {"a": 1}}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, AgentEvent) else "",
)
def test_payload_is_positional_in_javas_order(event: AgentEvent, payload: dict[str, Any]) -> None:
    assert {name: getattr(event, name) for name in payload} == payload


def test_id_time_source_and_metadata_are_keyword_only() -> None:
    with pytest.raises(TypeError):
        TextBlockDeltaEvent("r", "b", "d", "e-1")  # type: ignore[misc]


def test_each_event_gets_an_id_and_a_time_of_its_own() -> None:
    with deterministic("x"):
        events = [TextBlockDeltaEvent("r", "b", "d") for _ in range(3)]

    assert [event.id for event in events] == ["x1", "x2", "x3"]
    assert [event.created_at for event in events] == [
        "2026-01-01T00:00:00.000Z",
        "2026-01-01T00:00:00.001Z",
        "2026-01-01T00:00:00.002Z",
    ]


def test_mappings_are_copied_from_the_caller() -> None:
    metadata, value = {"a": 1}, {"percent": 1}
    event = CustomEvent("progress", value, metadata=metadata)
    metadata["a"] = value["percent"] = 2

    assert event.metadata == {"a": 1}
    assert event.value == {"percent": 1}


def test_sequences_become_tuples() -> None:
    calls = [CALL]
    event = RequireUserConfirmEvent("r", calls, {"call-1": [RULE]})  # type: ignore[arg-type]
    calls.clear()

    assert event.tool_calls == (CALL,)
    assert event.suggested_rules == {"call-1": (RULE,)}


def test_metadata_does_not_show_in_the_repr() -> None:
    assert "secret" not in repr(TextBlockDeltaEvent("r", "b", "d", metadata={"key": "secret"}))


def test_usage_of_a_model_call_shows_flat_too() -> None:
    known, unknown = ModelCallEndEvent("r", ChatUsage(3, 4)), ModelCallEndEvent("r")

    assert (known.input_tokens, known.output_tokens) == (3, 4)
    assert (unknown.usage, unknown.input_tokens, unknown.output_tokens) == (None, 0, 0)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: TextBlockDeltaEvent("r", "b", None), "TextBlockDeltaEvent.delta is None; give a str"),
        (lambda: TextBlockDeltaEvent(1, "b", "d"), "TextBlockDeltaEvent.reply_id is 1; give a str"),
        (lambda: TextBlockDeltaEvent("r", b"b", "d"), "TextBlockDeltaEvent.block_id is b'b'; give a str"),
        (lambda: ToolCallStartEvent("r", None, "n"), "ToolCallStartEvent.tool_call_id is None; give a str"),
        (lambda: ToolCallStartEvent("r", "c", 5), "ToolCallStartEvent.tool_call_name is 5; give a str"),
        (lambda: AgentStartEvent(1, "r"), "AgentStartEvent.session_id is 1; give a str or None"),
        (
            lambda: AgentEndEvent("r", "DONE"),
            "AgentEndEvent.generate_reason is 'DONE'; give GenerateReason",
        ),
        (lambda: AgentEndEvent("r", None, "boom"), "AgentEndEvent.error is 'boom'; give ErrorInfo or None"),
        (lambda: AgentResultEvent("hi"), "AgentResultEvent.result is 'hi'; give Msg or None"),
        (lambda: ErrorInfo(None), "ErrorInfo.type is None; give a str"),
        (lambda: ExceedMaxItersEvent("r", True), "ExceedMaxItersEvent.max_iters is True; give an int"),
        (lambda: ModelCallEndEvent("r", 5), "ModelCallEndEvent.usage is 5; give ChatUsage or None"),
        (lambda: DataBlockStartEvent("r", "b", 1), "DataBlockStartEvent.media_type is 1; give a str or None"),
        (lambda: DataBlockDeltaEvent("r", "b", "aGk=", "http://x"), "give data or url, not both"),
        (
            lambda: ToolResultDataDeltaEvent("r", "c", "n", "aGk=", "http://x"),
            "give one of data, url and block",
        ),
        (
            lambda: ToolResultDataDeltaEvent("r", "c", "n", "aGk=", block=TextBlock("x")),
            "give one of data, url and block",
        ),
        (
            lambda: ToolResultDataDeltaEvent("r", "c", "n", block="x"),
            "block is 'x'; give ContentBlock or None",
        ),
        (lambda: ToolResultEndEvent("r", "c", "n", "success"), "state is 'success'; give ToolResultState"),
        (lambda: RequireUserConfirmEvent("r", 5), "5 is no sequence; give a list of ToolUseBlock"),
        (lambda: RequireUserConfirmEvent("r", [CALL, "x"]), "'x' is no ToolUseBlock"),
        (lambda: RequireUserConfirmEvent("r", [], {"c": ["x"]}), "'x' is no PermissionRule"),
        (lambda: ConfirmResult("yes", CALL), "ConfirmResult.confirmed is 'yes'; give True or False"),
        (
            lambda: ConfirmResult(True, "call-1"),
            "ConfirmResult.tool_call is 'call-1'; give ToolUseBlock or None",
        ),
        (lambda: RequestStopEvent(generate_reason=None), "generate_reason is None; give GenerateReason"),
        (lambda: CustomEvent("n", 5), "5 is no mapping; give a dict"),
        (lambda: UnknownEvent([1]), "is no mapping; give a dict"),
        (lambda: TextBlockDeltaEvent("r", "b", "d", metadata=[1]), "is no mapping; give a dict"),
    ],
)
def test_a_wrong_argument_raises_with_its_value_and_the_remedy(make: Any, complaint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()

    assert complaint in str(caught.value)


def test_a_long_wrong_argument_is_cut_in_the_message() -> None:
    with pytest.raises(ConfigurationError) as caught:
        TextBlockDeltaEvent("r", "b", b"x" * 10_000)  # type: ignore[arg-type]

    assert len(str(caught.value)) < 200


def test_evolve_checks_its_arguments_too() -> None:
    with pytest.raises(ConfigurationError, match="delta is 5"):
        attrs.evolve(TextBlockDeltaEvent("r", "b", "d"), delta=5)


def test_defaults_are_javas() -> None:
    assert AgentStartEvent(None, "r").role == "assistant"
    assert RequestStopEvent().generate_reason is GenerateReason.MIDDLEWARE_STOP_REQUESTED
    assert CustomEvent().value == {}
    assert AgentEvent.METADATA_TASK_ID == "taskId"
    assert AgentEvent.METADATA_PARENT_SESSION_ID == "parentSessionId"
