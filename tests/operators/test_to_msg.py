"""The fold on all handed cases, whole, cut, and as the reports tell them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from time import perf_counter
from typing import Any

import pytest
import reactivex
from attrs import evolve, frozen
from reactivex import Observable

from agentscope_rx import _json, wire
from agentscope_rx.errors import ConfigurationError, ModelError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    ConfirmResult,
    ExternalExecutionResultEvent,
    ModelCallStartEvent,
    RequestStopEvent,
    RequireUserConfirmEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.message import (
    AssistantMessage,
    GenerateReason,
    Msg,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.operators import ReplyFold, by_source, snapshots, to_msg, to_msgs
from tests.case_streams import RECONSTRUCT, REPORTED, SSE, Case, difference, read_sse

EVERY = RECONSTRUCT + REPORTED


@frozen
class Book:
    pages: list[int]


def named(cases: Iterable[Case]) -> Any:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in cases])


def fold(events: Iterable[AgentEvent], **arguments: Any) -> Msg:
    return reactivex.from_iterable(events).pipe(to_msg(**arguments)).run()


def saved(checkpoint: Any) -> Any:
    return _json.loads(_json.dumps(checkpoint))


def go_on(parts: Sequence[Sequence[AgentEvent]], **arguments: Any) -> Msg:
    """Fold the parts of a stream one after the other, with the state saved and restored between them."""
    first, *rest = parts
    state = ReplyFold(**arguments)
    for event in first:
        state.apply(event)
    for part in rest:
        state = ReplyFold(seed=saved(state.checkpoint()))
        for event in part:
            state.apply(event)
    return state.message()


def parts_of(case: Case) -> list[Sequence[AgentEvent]]:
    cuts = [0, *case.raw["cuts"], len(case.events)]
    return [case.events[start:end] for start, end in pairwise(cuts)]


def pauses(case: Case) -> bool:
    """Whether every part but the last ends with an AgentEnd of the reply."""
    ends = [part[-1] for part in parts_of(case)[:-1]]
    return all(isinstance(end, AgentEndEvent) and end.reply_id == case.reply_id for end in ends)


@named(EVERY)
def test_the_events_make_the_message(case: Case) -> None:
    message = fold(case.events, reply_id=case.reply_id, scope=case.scope)

    assert difference(case.message, message) is None


@named(case for case in EVERY if "cuts" in case.raw)
def test_the_parts_make_what_the_whole_does(case: Case) -> None:
    message = go_on(parts_of(case), reply_id=case.reply_id, scope=case.scope)

    assert difference(case.message, message) is None
    assert message == fold(case.events, reply_id=case.reply_id, scope=case.scope)


@named(case for case in EVERY if len(case.events) <= 40)
def test_every_cut_and_overlap_makes_what_the_whole_does(case: Case) -> None:
    whole = fold(case.events, reply_id=case.reply_id, scope=case.scope)
    overlaps = (0, 2, len(case.events)) if all(event.id for event in case.events) else (0,)

    for cut in range(len(case.events) + 1):
        for overlap in overlaps:
            parts = case.events[:cut], case.events[max(0, cut - overlap) :]
            assert go_on(parts, reply_id=case.reply_id, scope=case.scope) == whole, (cut, overlap)


@named(case for case in EVERY if "cuts" in case.raw and pauses(case))
def test_a_resumed_reply_folds_on_from_the_paused_message(case: Case) -> None:
    paused: Msg | None = None
    for part in parts_of(case):
        paused = fold(part, reply_id=case.reply_id, seed=paused)

    assert paused is not None
    assert difference(case.message, paused) is None


@named(case for case in REPORTED if "messages" in case.expected)
def test_each_reply_of_a_stream_makes_its_own_message(case: Case) -> None:
    for reply_id, expected in case.expected["messages"].items():
        source = expected.get("source")
        select = [by_source(source)] if source else []
        message = reactivex.from_iterable(case.events).pipe(*select, to_msg(reply_id)).run()

        assert message.id == reply_id
        assert difference({"content": expected["content"]}, message) is None


@named(case for case in REPORTED if "complete" in case.expected)
def test_a_reply_is_complete_when_it_has_ended_and_nothing_has_started_it_again(case: Case) -> None:
    last = reactivex.from_iterable(case.events).pipe(snapshots(case.reply_id)).run()

    assert last.complete is case.expected["complete"]


@named(case for case in REPORTED if "ignored" in case.expected)
def test_ignored_events_change_nothing(case: Case) -> None:
    kept = [event for event in case.events if event.id not in case.expected["ignored"]]

    assert len(kept) == len(case.events) - len(case.expected["ignored"])
    assert fold(kept, reply_id=case.reply_id) == fold(case.events, reply_id=case.reply_id)


@named(case for case in REPORTED if {"pending", "dangling"} & case.expected.keys())
def test_calls_that_wait_or_hang_are_told_by_their_states(case: Case) -> None:
    message = fold(case.events, reply_id=case.reply_id)
    waiting = {ToolCallState.ASKING, ToolCallState.SUBMITTED}
    calls = message.get_content_blocks(ToolUseBlock)
    results = message.get_content_blocks(ToolResultBlock)
    final = {result.id for result in results if result.state is not ToolResultState.RUNNING}

    pending = [call.id for call in calls if call.state in waiting]
    assert case.expected.get("pending", pending) == pending
    dangling = [call.id for call in calls if call.id not in final and call.id not in pending]
    assert case.expected.get("dangling", dangling) == dangling


@named(case for case in REPORTED if "checkpoints" in case.raw)
def test_every_checkpoint_makes_the_message(case: Case) -> None:
    for cut in case.raw["checkpoints"]:
        for start in range(cut + 1):
            message = go_on((case.events[:cut], case.events[start:]), reply_id=case.reply_id)
            assert difference(case.message, message) is None


@named(case for case in REPORTED if "terminate" in case.raw)
def test_a_failing_source_leaves_to_msg_with_the_error_and_to_msgs_with_the_message_before_it(
    case: Case,
) -> None:
    error = ModelError("the connection broke")
    source = reactivex.from_iterable(case.events).pipe(reactivex.operators.concat(reactivex.throw(error)))

    assert case.raw["terminate"] == "error"
    assert seen(source.pipe(to_msg(case.reply_id))) == [error]
    message, last = seen(source.pipe(to_msgs()))
    assert last is error
    assert difference(case.message, message) is None
    assert error.partial == message


@named(case for case in REPORTED if "startedAtUtc" in case.expected)
def test_the_message_has_the_time_of_its_start_in_utc(case: Case) -> None:
    message = fold(case.events, reply_id=case.reply_id)

    assert message.timestamp == case.expected["startedAtUtc"].replace("T", " ").replace("Z", ".000")


@named(SSE)
def test_a_stream_of_bytes_makes_the_message(case: Case) -> None:
    connections = [case.raw["chunks"], *(again.get("chunks", []) for again in case.raw.get("reconnects", []))]
    events = [event for chunks in connections for event in read_sse(case.raw, chunks)]

    ids = [event.id for event in events]
    assert case.expected.get("eventIds", list(dict.fromkeys(ids))) == list(dict.fromkeys(ids))
    assert difference(case.message, fold(events, reply_id=case.reply_id)) is None
    for cut in range(len(events) + 1):
        assert difference(case.message, go_on((events[:cut], events[cut:]), reply_id=case.reply_id)) is None


def seen(source: Observable[Any]) -> list[Any]:
    items: list[Any] = []
    source.subscribe(items.append, items.append)
    return items


START = AgentStartEvent("s", "r", "Ann", id="1", created_at="2026-01-01T00:00:00.000Z")
TEXT = (
    TextBlockStartEvent("r", "t", id="2"),
    TextBlockDeltaEvent("r", "t", "hi", id="3"),
    TextBlockEndEvent("r", "t", id="4"),
)
END = AgentEndEvent("r", id="5")


def test_nothing_is_made_of_nothing() -> None:
    assert seen(reactivex.empty().pipe(to_msg())) == []
    assert seen(reactivex.of(START).pipe(to_msg("another"))) == []


def test_the_first_reply_is_the_one_that_speaks_first() -> None:
    other = TextBlockStartEvent("r2", "t", id="9")

    assert fold([START, other, *TEXT]).id == "r"
    assert fold([other, START, *TEXT]).id == "r2"


def test_events_that_name_no_reply_and_follow_none_are_a_reply_only_where_no_other_speaks() -> None:
    nameless = TextBlockStartEvent("", "t", id="a"), TextBlockDeltaEvent("", "t", "hm", id="b")

    assert fold(nameless).text_content == "hm"
    assert fold([*nameless, START, *TEXT]).text_content == "hi"
    assert fold([*nameless, START, *TEXT], reply_id="r").text_content == "hi"


def test_a_copy_of_an_event_that_names_no_reply_is_not_taken_for_the_reply_that_speaks_now() -> None:
    stop = RequestStopEvent("policy", id="9")
    other = TextBlockStartEvent("r2", "t", id="8")

    for before in ([stop], [other, stop]):
        assert fold([*before, START, stop], reply_id="r").generate_reason is None
        assert go_on(([*before, START], [stop, *TEXT]), reply_id="r").generate_reason is None
    assert go_on(([stop, START], [stop, *TEXT])).generate_reason is None


def test_a_call_is_what_lies_between_its_start_and_its_end() -> None:
    tail = TextBlockStartEvent("r", "t", id="a"), TextBlockDeltaEvent("r", "t", "tail", id="b")
    model_call = [evolve(event, reply_id="r-1") for event in TEXT]

    message = fold([*tail, START, *model_call, END], scope="call")

    assert (message.id, message.text_content) == ("r", "hi")
    assert go_on(([*tail], [*tail, START, *model_call, END]), scope="call") == message


def test_a_fragment_behind_the_end_of_a_call_of_an_earlier_model_call_goes_nowhere() -> None:
    events = [
        ToolCallStartEvent("r", "c", "tool"),
        ModelCallStartEvent("r"),
        ToolCallDeltaEvent("r", "c", "tool", "{}"),
        ToolCallEndEvent("r", "c", "tool"),
        ToolCallDeltaEvent("r", "c", "tool", "late"),
    ]

    (block,) = fold(events).content
    assert isinstance(block, ToolUseBlock)
    assert block.content == "{}"


def test_a_message_that_goes_on_keeps_its_time() -> None:
    paused = fold([START, *TEXT, END])
    again = AgentStartEvent("s", "r", "Ann", id="6", created_at="2026-01-02T00:00:00.000Z")

    assert fold([again], seed=paused).timestamp == paused.timestamp == "2026-01-01 00:00:00.000"


def test_the_text_of_a_suspended_result_goes_on_from_a_message() -> None:
    suspended = ToolResultBlock("c", "tool", "one, ", state=ToolResultState.RUNNING)
    more = ToolResultTextDeltaEvent("r", "c", "tool", "two")

    (block,) = fold([more], seed=AssistantMessage(suspended, id="r")).content
    assert isinstance(block, ToolResultBlock)
    assert block.output == (TextBlock("one, two"),)


def test_many_questions_and_answers_cost_what_as_many_other_events_do() -> None:
    call = ToolUseBlock("c", "tool")
    questions = [
        RequireUserConfirmEvent("r", [call]),
        UserConfirmResultEvent("r", [ConfirmResult(True, call)]),
    ]
    calls = [ToolCallStartEvent("r", f"c{number}", "tool") for number in range(5_000)]

    started = perf_counter()
    message = fold([ToolCallStartEvent("r", "c", "tool"), *calls, *questions * 10_000])

    assert message.generate_reason is None
    assert perf_counter() - started < 5  # it takes 0.1 seconds; when each looked at all calls, 20


def test_what_a_message_holds_is_its_own() -> None:
    events = [
        ThinkingBlockStartEvent("r", "t"),
        ThinkingBlockEndEvent("r", "t", metadata={"block": {"signatures": ["s"]}}),
        ToolCallStartEvent("r", "c", "tool"),
        ToolCallEndEvent("r", "c", "tool", metadata={"block": {"signatures": ["s"]}}),
        ToolResultStartEvent("r", "c", "tool"),
        ToolResultEndEvent("r", "c", "tool", metadata={"pages": [1]}),
        ExternalExecutionResultEvent("r", [ToolResultBlock("d", "tool", metadata={"pages": [1]})]),
        AgentEndEvent("r", metadata={"_structured_output": {"pages": [1]}}),
    ]
    before = wire.dumps(events)

    message = fold(events)
    for block in message.content:
        for value in block.metadata.values():  # type: ignore[attr-defined]
            value.append("changed")
    message.structured_output["pages"].append("changed")

    assert wire.dumps(message).count(b"changed") == 5
    assert wire.dumps(events) == before


def test_structured_output_is_read_as_the_type_of_the_result() -> None:
    output = {"_structured_output": {"pages": [1]}}
    result = AgentResultEvent(AssistantMessage("x", output_type=Book, metadata=output), reply_id="r")
    events = [START, result, AgentEndEvent("r", metadata=output)]
    state = ReplyFold()
    for event in events:
        state.apply(event)

    message = state.message()
    assert message.structured_output == state.copy().message().structured_output == Book([1])
    assert ReplyFold(seed=message).message().structured_output == Book([1])
    from_elsewhere = fold(wire.loads_event(wire.dumps_event(event)) for event in events)
    assert from_elsewhere == message
    assert from_elsewhere.structured_output == {"pages": [1]}
    assert ReplyFold(seed=saved(state.checkpoint())).message().structured_output == {"pages": [1]}


def test_an_error_of_ours_carries_what_had_come() -> None:
    error = ModelError("broken")
    source = reactivex.concat(reactivex.of(START, *TEXT), reactivex.throw(error))

    assert seen(source.pipe(to_msg())) == [error]
    assert isinstance(error.partial, AssistantMessage)
    assert error.partial.text_content == "hi"


def test_an_error_of_others_is_left_alone() -> None:
    error = KeyError("theirs")
    source = reactivex.concat(reactivex.of(START), reactivex.throw(error))

    assert seen(source.pipe(to_msg())) == [error]
    assert not hasattr(error, "partial")


def test_a_seed_is_the_message_where_nothing_follows() -> None:
    paused = fold([START, *TEXT, END])

    assert fold([], seed=paused) == paused


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"scope": "session"}, "neither 'reply' nor 'call'"),
        ({"reply_id": 7}, "is no id"),
        ({"seed": {"version": 0}}, "no checkpoint of version 1"),
        ({"seed": {"version": 1}}, "damaged checkpoint"),
        ({"seed": "text"}, "no checkpoint"),
        ({"seed": AssistantMessage("x", id="r"), "reply_id": "other"}, "the seed is of 'r'"),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        to_msg(**arguments)


def test_a_seed_that_is_no_agents_message_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="AssistantMessage"):
        to_msg(seed=UserMessage("hi"))


@pytest.mark.parametrize("created_at", ["", "yesterday", "0001-01-01T00:00:00+23:00", "2026-13-01T00:00:00Z"])
def test_a_time_that_is_none_is_left_as_it_is(created_at: str) -> None:
    assert fold([AgentStartEvent("s", "r", created_at=created_at)]).timestamp == created_at


def test_an_edit_that_is_no_json_is_what_the_call_gets() -> None:
    call = ToolUseBlock("c", "tool")
    edited = ToolUseBlock("c", "tool", {"when": 1j})
    events = [
        ToolCallStartEvent("r", "c", "tool"),
        ToolCallDeltaEvent("r", "c", "tool", '{"when": 1}'),
        RequireUserConfirmEvent("r", [call]),
        UserConfirmResultEvent("r", [ConfirmResult(True, edited), ConfirmResult(False, None)]),
    ]

    (block,) = fold(events).content
    assert isinstance(block, ToolUseBlock)
    assert (block.input, block.content, block.state) == ({"when": 1j}, None, ToolCallState.ALLOWED)


def test_the_reason_of_a_paused_message_goes_when_the_reply_goes_on() -> None:
    paused = AssistantMessage("hi", id="r", generate_reason=GenerateReason.PERMISSION_ASKING)

    assert fold([START], seed=paused).generate_reason is None
    assert fold([START, END], seed=paused).generate_reason is GenerateReason.MODEL_STOP


def test_arguments_that_are_too_deep_stay_text_so_that_the_message_can_be_written_and_read() -> None:
    deep = '{"x":' + "[" * 600 + "]" * 600 + "}"
    message = fold([ToolCallStartEvent("r", "c", "tool"), ToolCallDeltaEvent("r", "c", "tool", deep)])

    (block,) = message.content
    assert isinstance(block, ToolUseBlock)
    assert (block.content, block.input, block.input_error) == (deep, {}, True)
    assert wire.loads_msg(wire.dumps_msg(message)) == message
