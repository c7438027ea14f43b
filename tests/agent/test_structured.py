"""Calls that ask for a structured output, each held to the laws."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from random import Random
from typing import Any, TypedDict

import attrs
import pydantic
import pytest
import reactivex as rx
from reactivex import operators as ops

from agentscope_rx import event as ev, wire
from agentscope_rx.agent import ConfirmResults, ReActAgent, RuntimeContext
from agentscope_rx.errors import (
    ConfigurationError,
    ModelConnectionError,
    ModelError,
    StructuredOutputError,
)
from agentscope_rx.message import (
    GenerateReason,
    HintBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.middleware import on_acting, on_agent, on_model_call, on_reasoning
from agentscope_rx.model import GenerateOptions, OpenAIChatModel
from agentscope_rx.operators import map_type, of_type, retry_before_first_event, to_msg
from agentscope_rx.permission import PermissionMode
from agentscope_rx.store import InMemoryAgentStateStore, StateKey
from agentscope_rx.testing import (
    CallRecord,
    ScriptedModel,
    check_call,
    check_disposal,
    pause,
    thinking,
    tool_call,
)
from agentscope_rx.tool import ToolEmitter, tool
from tests.model.loopback import serving


@attrs.frozen
class City:
    city: str
    t: int = 0


@dataclasses.dataclass
class Place:
    city: str
    t: int


class Spot(TypedDict):
    city: str
    t: int


class Town(pydantic.BaseModel):
    city: str
    t: int


SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "t": {"type": "integer"}},
    "required": ["city", "t"],
}
SF = {"city": "SF", "t": 3}
JSON = '{"city": "SF", "t": 3}'
RIGHT, WRONG = tool_call("generate_response", response=SF), tool_call("generate_response", response={"t": 1})


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


SUM = tool_call("add", a=1, b=2)


def agent(*script: Any, native: bool = False, **options: Any) -> ReActAgent:
    options = {"toolkit": [add], **options}
    return ReActAgent("a", model=ScriptedModel(*script, native_structured_output=native), **options)


def model_of(each: ReActAgent) -> ScriptedModel:
    assert isinstance(each.model, ScriptedModel)
    return each.model


def short(record: CallRecord) -> str:
    """The events in the letters of the transcripts: MS TS TE CS CE ME RS RE HB AR AE."""
    letters = {
        "AgentStart": "AS", "ModelCallStart": "MS", "ModelCallEnd": "ME", "TextBlockStart": "TS",
        "TextBlockEnd": "TE", "ThinkingBlockStart": "HS", "ThinkingBlockEnd": "HE", "ToolCallStart": "CS",
        "ToolCallEnd": "CE", "ToolResultStart": "RS", "ToolResultEnd": "RE", "HintBlock": "HB",
        "AgentResult": "AR", "AgentEnd": "AE", "ExceedMaxIters": "EX", "RequireUserConfirm": "UC",
        "UserConfirmResult": "UX", "RequestStop": "ST",
    }  # fmt: skip
    return " ".join(letters[name] for name in record.names if name in letters)


def end_of(record: CallRecord) -> ev.AgentEndEvent:
    end = record.events[-1]
    assert isinstance(end, ev.AgentEndEvent)
    return end


def output_of(record: CallRecord) -> Any:
    assert (record.error, record.message is None) == (None, False)
    assert record.message is not None
    return record.message.structured_output


def hints(record: CallRecord) -> list[str]:
    return [event.hint for event in record.events if isinstance(event, ev.HintBlockEvent)]


def test_a_tool_takes_the_output_after_other_tools() -> None:
    """Transcript A33, but that the message stays as it was streamed: no text is put into it at the end."""
    each = agent([thinking("T1"), SUM], [thinking("T2"), RIGHT])
    record = check_call(each, "hi", output=City)

    assert short(record) == "AS MS HS HE CS CE ME RS RE MS HS HE CS CE ME RS RE AR AE"
    assert output_of(record) == City("SF", 3)
    assert end_of(record).metadata == {"_structured_output": SF}
    assert end_of(record).generate_reason is GenerateReason.MODEL_STOP
    assert record.message is not None
    assert record.message.text_content == ""
    assert record.message.get_content_blocks(ToolResultBlock)[-1].text_content == (
        "Successfully generated response."
    )


def test_the_tool_may_be_called_before_others_of_its_batch() -> None:
    """Transcript A34, but that the reply ends when all have run: Java asks the model once more."""
    record = check_call(agent([RIGHT, SUM]), "hi", output=City)

    assert short(record) == "AS MS CS CS CE CE ME RS RS RE RE AR AE"
    assert output_of(record) == City("SF", 3)


def test_a_model_that_can_be_held_to_a_schema_gives_it_as_text() -> None:
    """Transcript A35."""
    each = agent(JSON, native=True)
    record = check_call(each, "hi", output=City)

    assert short(record) == "AS MS TS TE ME AR AE"
    assert output_of(record) == City("SF", 3)
    assert record.message is not None
    assert record.message.text_content == JSON
    deltas = [event.delta for event in record.events if isinstance(event, ev.TextBlockDeltaEvent)]
    assert len(deltas) > 1
    assert "".join(deltas) == JSON


def test_a_model_that_fails_is_a_failure_here_too() -> None:
    """Transcript A36, but that nothing begins anew behind what was streamed: that is for a middleware."""
    record = check_call(agent(["par", ModelConnectionError("gone")], [RIGHT], native=True), "hi", output=City)

    assert short(record) == "AS MS TS TE ME AE"
    assert isinstance(record.error, ModelConnectionError)


@pytest.mark.parametrize("native", [False, True], ids=["by tool", "native"])
@pytest.mark.parametrize(
    ("output", "value"),
    [
        (City, City("SF", 3)),
        (Place, Place("SF", 3)),
        (Spot, SF),
        (Town, Town(city="SF", t=3)),
        (SCHEMA, SF),
    ],
    ids=["attrs", "dataclass", "TypedDict", "pydantic", "schema"],
)
def test_whatever_describes_it_can_be_asked_for(output: Any, value: Any, native: bool) -> None:
    step = JSON if native else [RIGHT]
    message = agent(step, native=native).reply("hi", output=output).run()

    assert message.structured_output == value
    assert type(message.structured_output) is type(value)


@pytest.mark.parametrize("native", [False, True], ids=["by tool", "native"])
def test_what_is_no_object_can_be_asked_for_too(native: bool) -> None:
    step = '{"response": [1, 2]}' if native else [tool_call("generate_response", response=[1, 2])]

    assert agent(step, native=native).reply("hi", output=list[int]).run().structured_output == [1, 2]


def test_null_is_an_output() -> None:
    record = check_call(agent([tool_call("generate_response", response=None)]), "hi", output=City | None)

    assert short(record) == "AS MS CS CE ME RS RE AR AE"
    assert output_of(record) is None


def test_the_tool_is_there_for_this_call_only() -> None:
    each = agent([RIGHT], "hello", toolkit=[add])
    check_call(each, "hi", output=City)
    check_call(each, "hi")

    first, second = model_of(each).calls
    assert [schema.name for schema in first.tools] == ["add", "generate_response"]
    assert first.options.response_format is None
    assert [schema.name for schema in second.tools] == ["add"]
    assert each.toolkit.names == ("add",)


def test_a_schema_goes_with_the_options_of_the_agent() -> None:
    each = agent([SUM], JSON, native=True, options=GenerateOptions(temperature=0.5))
    check_call(each, "hi", output=City)

    for call in model_of(each).calls:
        assert [schema.name for schema in call.tools] == ["add"]
        assert call.options.temperature == 0.5
        assert call.options.response_format is not None
        assert call.options.response_format["title"] == "City"


def test_what_does_not_fit_can_be_put_right_once() -> None:
    each = agent([WRONG], [RIGHT])
    record = check_call(each, "hi", output=City)

    assert short(record) == "AS MS CS CE ME RS RE MS CS CE ME RS RE AR AE"
    assert output_of(record) == City("SF", 3)
    (told,) = model_of(each).calls[1].results
    assert told.state is ToolResultState.ERROR
    assert told.text_content == (
        "Error: the response does not fit: $.city: is missing. Correct it, and call generate_response again."
    )


def test_a_text_that_does_not_fit_can_be_put_right_once() -> None:
    each = agent("It is 3.", JSON, native=True)
    record = check_call(each, "hi", output=City)

    assert short(record) == "AS MS TS TE ME HB MS TS TE ME AR AE"
    assert output_of(record) == City("SF", 3)
    (hint,) = hints(record)
    assert hint.startswith("The answer is not what was asked for: $: expected JSON, got 'It is 3.'. Answer")
    assert record.message is not None
    assert record.message.get_content_blocks(HintBlock)[0].hint == hint


def test_a_text_instead_of_the_tool_gets_a_hint() -> None:
    each = agent("It is 3.", [RIGHT])
    record = check_call(each, "hi", output=City)

    assert short(record) == "AS MS TS TE ME HB MS CS CE ME RS RE AR AE"
    assert hints(record) == ["The response is still to be given: call generate_response with it."]
    assert output_of(record) == City("SF", 3)


@pytest.mark.parametrize(
    ("script", "native", "path", "problem"),
    [
        (([WRONG], [WRONG]), False, "$.city", "$.city: is missing"),
        (([WRONG], "It is 3."), False, "$.city", "$.city: is missing"),
        (("It is 3.", [WRONG]), False, "$.city", "$.city: is missing"),
        (("It is 3.", "Really."), False, "$", "$: the model did not call generate_response"),
        (("It is 3.", "Really."), True, "$", "$: expected JSON, got 'Really.'"),
        (("It is 3.", '{"city": 1}'), True, "$.city", "$.city: 1 is not of type 'string'"),
    ],
    ids=str,
)
def test_what_was_not_put_right_is_an_error_that_names_the_path(
    script: tuple[Any, ...], native: bool, path: str, problem: str
) -> None:
    each = agent(*script, "hello", native=native)
    record = check_call(each, "hi", output=City)

    assert isinstance(record.error, StructuredOutputError)
    assert str(record.error) == f"the model gave no 'City' that fits: {problem}"
    assert record.error.path == path
    assert record.error.partial == record.message
    assert end_of(record).error == ev.ErrorInfo("StructuredOutputError", str(record.error))
    assert end_of(record).metadata == {}
    assert check_call(each, "another question").error is None


def test_two_wrong_calls_of_one_round_are_one_attempt() -> None:
    assert output_of(check_call(agent([WRONG, WRONG], [RIGHT]), "hi", output=City)) == City("SF", 3)


def test_of_two_right_calls_the_last_counts() -> None:
    other = tool_call("generate_response", response={"city": "LA"})

    assert output_of(check_call(agent([RIGHT, other]), "hi", output=City)) == City("LA", 0)


def test_a_right_call_beside_a_wrong_one_is_enough() -> None:
    assert output_of(check_call(agent([RIGHT, WRONG]), "hi", output=City)) == City("SF", 3)


def test_arguments_that_are_no_json_are_told_to_the_model_too() -> None:
    broken = tool_call("generate_response", '{"response": {"city": "SF"')

    assert output_of(check_call(agent([broken], [RIGHT]), "hi", output=City)) == City("SF", 3)
    record = check_call(agent([broken], [broken]), "hi", output=City)
    assert "$: the arguments of generate_response were no JSON object" in str(record.error)


def test_tools_between_the_attempts_are_no_attempts() -> None:
    record = check_call(agent([WRONG], [SUM], [SUM], [RIGHT]), "hi", output=City)

    assert output_of(record) == City("SF", 3)


def test_text_that_thinking_has_cut_is_one_text() -> None:
    record = check_call(agent(['{"city": "SF",', thinking("hm"), '"t": 3}'], native=True), "x", output=City)

    assert output_of(record) == City("SF", 3)


def test_only_the_text_of_the_last_round_is_the_output() -> None:
    record = check_call(agent(["Let me see.", SUM], JSON, native=True), "x", output=City)

    assert output_of(record) == City("SF", 3)


def test_only_the_text_of_the_last_attempt_is_the_output() -> None:
    retry = on_model_call(ops.retry(2))
    each = agent([JSON, ModelConnectionError("gone")], '{"city": "LA"}', native=True, middlewares=[retry])
    with pytest.warns(match="so its text comes twice"):
        record = check_call(each, "x", output=City)

    assert output_of(record) == City("LA", 0)


def test_a_call_of_a_retried_attempt_is_neither_output_nor_failure() -> None:
    retry = on_model_call(ops.retry(2))
    each = agent([RIGHT, ModelConnectionError("gone")], "It is 3.", [RIGHT], middlewares=[retry])
    with pytest.warns(match="so its text comes twice"):
        record = check_call(each, "x", output=City)

    assert short(record) == "AS MS CS CE ME MS TS TE ME RS RE HB MS CS CE ME RS RE AR AE"
    assert output_of(record) == City("SF", 3)


@pytest.mark.parametrize(("native", "step"), [(False, [RIGHT]), (True, JSON)], ids=["by tool", "native"])
def test_at_the_limit_of_rounds_it_comes_with_the_summary(native: bool, step: Any) -> None:
    each = agent([SUM], step, native=native, max_iters=1)
    record = check_call(each, "hi", output=City)

    assert output_of(record) == City("SF", 3)
    assert end_of(record).generate_reason is GenerateReason.MAX_ITERATIONS
    assert "EX MS" in short(record)
    last = model_of(each).calls[-1]
    assert [schema.name for schema in last.tools] == ([] if native else ["generate_response"])
    assert last.text.endswith("Give the final response now, from what you have found out.")


def test_other_calls_in_the_summary_are_no_events() -> None:
    record = check_call(agent([SUM], [SUM, RIGHT], max_iters=1), "hi", output=City)

    assert short(record) == "AS MS CS CE ME RS RE EX MS CS CE ME RS RE AR AE"
    assert output_of(record) == City("SF", 3)


@pytest.mark.parametrize(
    ("native", "step", "problem"),
    [
        (False, [WRONG], "$.city: is missing"),
        (False, "Sorry.", "$: the model did not call generate_response"),
        (False, [SUM], "$: the model did not call generate_response"),
        (True, "Sorry.", "$: expected JSON, got 'Sorry.'"),
    ],
    ids=str,
)
def test_without_it_in_the_summary_the_call_fails(native: bool, step: Any, problem: str) -> None:
    record = check_call(agent([SUM], step, native=native, max_iters=1), "hi", output=City)

    assert str(record.error) == f"the model gave no 'City' that fits before the limit of rounds: {problem}"


def test_the_repair_round_is_a_round() -> None:
    each = agent([WRONG], [RIGHT], max_iters=1)
    record = check_call(each, "hi", output=City)

    assert short(record) == "AS MS CS CE ME RS RE EX MS CS CE ME RS RE AR AE"
    assert output_of(record) == City("SF", 3)


def test_asking_for_permission_does_not_concern_the_tool() -> None:
    each = agent([RIGHT], permission=PermissionMode.EXPLORE)

    assert output_of(check_call(each, "hi", output=City)) == City("SF", 3)


def paused(*script: Any, **options: Any) -> tuple[ReActAgent, ConfirmResults]:
    """An agent whose first step has called `add` and waits for a human."""
    each = agent(*script, permission=PermissionMode.DEFAULT, **options)
    record = check_call(each, "hi", output=City)
    assert end_of(record).generate_reason is GenerateReason.PERMISSION_ASKING
    assert end_of(record).metadata == {}
    assert record.message is not None
    assert record.message.structured_output is None
    (question,) = (event for event in record.events if isinstance(event, ev.RequireUserConfirmEvent))
    return each, ConfirmResults([ev.ConfirmResult(True, call) for call in question.tool_calls])


def test_it_can_come_after_a_pause() -> None:
    each, answers = paused([SUM], [RIGHT])
    record = check_call(each, answers, output=City)

    assert short(record) == "AS UX RS RE MS CS CE ME RS RE AR AE"
    assert output_of(record) == City("SF", 3)


def test_it_can_come_before_a_pause() -> None:
    each, answers = paused([RIGHT, SUM], "never asked")
    record = check_call(each, answers, output=City)

    assert short(record) == "AS UX RS RE AR AE"
    assert output_of(record) == City("SF", 3)


def test_what_came_before_a_pause_is_json_for_a_call_that_asks_for_nothing() -> None:
    each, answers = paused([RIGHT, SUM], "never asked")
    record = check_call(each, answers)

    assert short(record) == "AS UX RS RE AR AE"
    assert output_of(record) == SF


def test_what_came_before_a_pause_does_not_fit_another_question() -> None:
    each, answers = paused([RIGHT, SUM], [tool_call("generate_response", response=[1])])

    assert output_of(check_call(each, answers, output=list[int])) == [1]


def test_a_call_that_asks_for_nothing_goes_on_without_the_tool() -> None:
    each, answers = paused([SUM], "It is 3.")
    record = check_call(each, answers)

    assert output_of(record) is None
    assert [schema.name for schema in model_of(each).calls[-1].tools] == ["add"]


def test_attempts_count_over_pauses() -> None:
    each, answers = paused([WRONG, SUM], [WRONG])
    record = check_call(each, answers, output=City)

    assert isinstance(record.error, StructuredOutputError)


@pytest.mark.asyncio
async def test_another_process_can_go_on() -> None:
    store = InMemoryAgentStateStore()
    first = agent([RIGHT, SUM], permission=PermissionMode.DEFAULT, state_store=store)
    await first.call("hi", output=City)
    (asking,) = (
        call
        for call in first.get_agent_state().context[-1].get_content_blocks(ToolUseBlock)
        if call.name == "add"
    )
    second = agent("never asked", permission=PermissionMode.DEFAULT, state_store=store)
    message = await second.reply(ConfirmResults([ev.ConfirmResult(True, asking)]), output=City)

    assert message.structured_output == City("SF", 3)
    stored = await store.load(StateKey(None, "a", "a"))
    assert stored is not None
    assert stored.state.context[-1].get_structured_data(City) == City("SF", 3)


def test_a_stop_ends_the_reply_with_what_it_has() -> None:
    @tool
    def stop(out: ToolEmitter) -> str:
        out.request_stop("enough")
        return "stopped"

    each = agent([tool_call("stop"), RIGHT], "never asked", toolkit=[stop])
    record = check_call(each, "hi", output=City)

    assert end_of(record).generate_reason is GenerateReason.ACTING_STOP_REQUESTED
    assert output_of(record) == City("SF", 3)
    again = check_call(each, None, output=City)
    assert short(again) == "AS AR AE"
    assert output_of(again) == City("SF", 3)


def test_a_stop_before_it_came_is_no_failure() -> None:
    @tool
    def stop(out: ToolEmitter) -> str:
        out.request_stop("enough")
        return "stopped"

    each = agent([tool_call("stop")], [RIGHT], toolkit=[stop])

    assert output_of(check_call(each, "hi", output=City)) is None
    assert output_of(check_call(each, None, output=City)) == City("SF", 3)


@pytest.mark.asyncio
async def test_an_interrupt_is_no_failure() -> None:
    each = agent([pause(30)], [RIGHT])
    call = asyncio.ensure_future(each.reply("hi", output=City))
    await asyncio.sleep(0.01)
    await each.interrupt()

    message = await call
    assert message.generate_reason is GenerateReason.INTERRUPTED
    assert message.structured_output is None


@pytest.mark.parametrize("native", [False, True], ids=["by tool", "native"])
def test_a_call_can_be_left_at_any_event_and_gone_on_with(native: bool) -> None:
    def fresh() -> ReActAgent:
        if native:
            return agent([SUM], "It is 3.", JSON, JSON, native=True)
        return agent([SUM], [RIGHT], [RIGHT])  # the arguments of a call that is cut do not fit

    count = len(check_call(fresh(), "hi", output=City).events)
    for cut in range(1, count):
        each = fresh()
        check_disposal(each, "hi", output=City, after=cut)
        assert output_of(check_call(each, None, output=City)) == City("SF", 3)


def test_after_a_failure_the_reply_can_go_on() -> None:
    each = agent([WRONG], [WRONG], [RIGHT])
    assert check_call(each, "hi", output=City).error is not None

    record = check_call(each, None, output=City)
    assert output_of(record) == City("SF", 3)


def test_on_agent_may_ask_again_after_a_failure() -> None:
    each = agent([WRONG], [WRONG], [RIGHT], middlewares=[on_agent(ops.retry(2))])
    record = check_call(each, "hi", output=City)

    assert output_of(record) == City("SF", 3)


def test_an_outer_hook_that_shows_little_does_not_take_the_value_away() -> None:
    each = agent([RIGHT], middlewares=[on_agent(of_type(ev.ToolCallStartEvent))])
    with pytest.warns(match="AgentStartEvent was missing"):
        record = check_call(each, "hi", output=City, outer=True)

    assert output_of(record) == SF


def test_a_hook_that_keeps_the_call_back_cannot_go_on_for_ever() -> None:
    def without_results(events: rx.Observable[ev.AgentEvent]) -> rx.Observable[ev.AgentEvent]:
        return events.pipe(ops.filter(lambda event: not type(event).__name__.startswith("ToolResult")))

    each = agent([RIGHT], [RIGHT], "never asked", middlewares=[on_acting(without_results)])
    record = check_call(each, "hi", output=City)

    assert "$: fits, but was not taken: a middleware or a rule kept it back" in str(record.error)


def test_a_hook_that_changes_the_text_changes_the_output() -> None:
    def renamed(event: ev.TextBlockDeltaEvent) -> ev.TextBlockDeltaEvent:
        return attrs.evolve(event, delta=event.delta.replace("SF", "LA"))

    each = agent(JSON, native=True, middlewares=[on_reasoning(map_type(ev.TextBlockDeltaEvent, renamed))])

    assert output_of(check_call(each, "hi", output=City)) == City("LA", 3)


def test_a_hook_that_leaves_out_where_a_model_call_begins_changes_nothing() -> None:
    def without_frame(events: rx.Observable[ev.AgentEvent]) -> rx.Observable[ev.AgentEvent]:
        frame = (ev.ModelCallStartEvent, ev.ModelCallEndEvent)
        return events.pipe(ops.filter(lambda event: not isinstance(event, frame)))

    each = agent(["Let me see.", SUM], JSON, native=True, middlewares=[on_reasoning(without_frame)])
    record = check_call(each, "hi", output=City)

    assert short(record) == "AS TS TE CS CE RS RE TS TE AR AE"
    assert output_of(record) == City("SF", 3)


def test_a_retry_before_the_first_event_stays_unseen() -> None:
    each = agent(
        [ModelConnectionError("gone")], [RIGHT], middlewares=[on_model_call(retry_before_first_event(2))]
    )

    assert output_of(check_call(each, "hi", output=City)) == City("SF", 3)


@pytest.mark.asyncio
async def test_sessions_ask_for_different_things_at_once() -> None:
    def answer(asked: Any) -> Any:
        (schema,) = asked.tools
        wanted = schema.parameters["properties"]["response"]
        value = {"city": asked.text, "t": 1} if wanted["type"] == "object" else [asked.text]
        return [pause(0.001), tool_call("generate_response", response=value)]

    each = ReActAgent("a", model=ScriptedModel(answer))

    async def ask(number: int) -> Any:
        output: Any = City if number % 2 else list[str]
        ctx = RuntimeContext(session_id=str(number))
        message = await each.reply(f"city {number}", ctx, output=output)
        return message.structured_output

    values = await asyncio.gather(*map(ask, range(40)))

    assert values == [City(f"city {n}", 1) if n % 2 else [f"city {n}"] for n in range(40)]


STEPS: list[Any] = [
    "It is 3.", "", JSON, [SUM], [SUM, SUM], [RIGHT], [WRONG], [RIGHT, SUM], [SUM, WRONG], [JSON, SUM],
    ["so", WRONG, RIGHT], [thinking("hm"), JSON], [ModelError("no")],
]  # fmt: skip


@pytest.mark.parametrize("seed", range(100))
def test_whatever_a_model_does_it_gives_the_output_or_the_call_fails(seed: int) -> None:
    random = Random(seed)
    native = random.random() < 0.5
    each = agent(*random.choices(STEPS, k=12), native=native, max_iters=random.randint(1, 4))
    record = check_call(each, "hi", output=City)

    assert (record.error is None) == ("_structured_output" in end_of(record).metadata)
    assert record.error is None or isinstance(record.error, StructuredOutputError | ModelError)
    if record.error is None:
        assert output_of(record) == City("SF", 3)
        check_call(each, "and now?")
    else:
        check_call(each, None, output=City)


def test_the_next_reply_of_a_session_starts_afresh() -> None:
    each = agent([RIGHT], "It is 3.", [tool_call("generate_response", response={"city": "LA"})], "hello")
    check_call(each, "hi", output=City)

    assert output_of(check_call(each, "and now?", output=City)) == City("LA", 0)
    assert output_of(check_call(each, "thanks")) is None


def test_over_the_wire_it_is_json_until_somebody_says_what_it_is() -> None:
    record = check_call(agent([RIGHT]), "hi", output=City)
    received = [wire.loads_event(wire.dumps_event(event)) for event in record.events]
    message = rx.from_iterable(received).pipe(to_msg()).run()

    assert message == record.message
    assert message.structured_output == SF
    assert message.get_structured_data(City) == City("SF", 3)
    stored = wire.loads_msg(wire.dumps_msg(message))
    assert stored.get_structured_data(Town) == Town(city="SF", t=3)


def test_every_view_of_the_reply_has_the_typed_value() -> None:
    each = agent([RIGHT])
    record = check_call(each, "hi", output=City)

    (result,) = (event.result for event in record.events if isinstance(event, ev.AgentResultEvent))
    assert result is not None
    assert result.structured_output == City("SF", 3)
    assert each.get_agent_state().context[-1].structured_output == City("SF", 3)


def test_what_cannot_be_asked_for_is_refused_where_it_is_asked() -> None:
    @tool
    def generate_response() -> None: ...

    with pytest.raises(ConfigurationError, match="output is 'City', which is no type"):
        agent("x").call("hi", output="City")
    with pytest.raises(ConfigurationError, match="the toolkit has a tool 'generate_response'"):
        agent("x", toolkit=[generate_response]).reply("hi", output=City)
    assert agent("x", toolkit=[generate_response]).reply("hi").run().text_content == "x"


@pytest.mark.asyncio
async def test_openai_is_held_to_the_schema() -> None:
    from aiohttp import web

    async def answer(request: web.Request) -> web.StreamResponse:
        choice = {"index": 0, "delta": {"content": '{"city": "SF"}'}, "finish_reason": "stop"}
        text = f"data: {json.dumps({'choices': [choice]})}\n\ndata: [DONE]\n\n"
        return web.Response(text=text, content_type="text/event-stream")

    async with serving(answer) as server:
        model = OpenAIChatModel("m", base_url=server.url, native_structured_output=True)
        message = await ReActAgent("a", model=model).reply("hi", output=City)

    assert message.structured_output == City("SF", 0)
    assert server.bodies[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": "City",
            "strict": True,
            "schema": {
                "title": "City",
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "t": {"type": "integer", "description": "(default: 0)"},
                },
                "required": ["city", "t"],
                "additionalProperties": False,
            },
        },
    }
    assert "tools" not in server.bodies[0]
