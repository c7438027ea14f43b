"""The structured output of a reply: what comes next, how the state moves, and what a message says of it."""

from __future__ import annotations

from typing import Any, TypedDict

import attrs
import pytest

from agentscope_rx import event as ev
from agentscope_rx.agent._decide import SKIPPED, TOO_LATE, decide
from agentscope_rx.agent._loop_state import (
    Act,
    Closing,
    Decision,
    Fail,
    Finish,
    LoopState,
    Output,
    Pause,
    Reason,
    Repair,
    Step,
    Summarize,
)
from agentscope_rx.agent._output import REPAIR, Wanted, output_so_far, wanted
from agentscope_rx.agent._transition import apply, enter, resume
from agentscope_rx.errors import ConfigurationError, StructuredOutputError
from agentscope_rx.message import (
    AssistantMessage,
    ContentBlock,
    GenerateReason,
    HintBlock,
    TextBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.model import GenerateOptions
from agentscope_rx.output import GENERATE_RESPONSE, OutputSpec
from agentscope_rx.testing import ScriptedModel
from agentscope_rx.tool import Toolkit, tool


class Point(TypedDict):
    x: int


SPEC = OutputSpec.of(Point)
STOP = GenerateReason.MODEL_STOP
LIMIT = GenerateReason.MAX_ITERATIONS
GIVEN = Output(given=True)
FAILED = Output(failed=True)
FAILED_BEFORE = Output(failures=1)
FAILED_TWICE = Output(failures=1, failed=True)


def state(**changes: Any) -> LoopState:
    return LoopState(max_iters=3, **changes)


@pytest.mark.parametrize(
    ("stands", "next"),
    [
        (state(output=Output()), Reason()),
        (state(output=GIVEN), Finish(STOP)),
        (state(output=GIVEN, calls=("a",)), Act(("a",))),
        (state(output=FAILED_BEFORE), Reason()),
        (state(output=Output(), last=Step.REASONED), Repair()),
        (state(output=GIVEN, last=Step.REASONED), Finish(STOP)),
        (state(output=FAILED, last=Step.REASONED), Fail()),
        (state(output=FAILED_BEFORE, last=Step.REASONED), Fail()),
        (state(output=Output(), last=Step.REASONED, calls=("a",)), Act(("a",))),
        (state(output=Output(), last=Step.ACTED), Reason()),
        (state(output=Output(), last=Step.ACTED, iteration=3), Summarize()),
        (state(output=GIVEN, last=Step.ACTED), Finish(STOP)),
        (state(output=GIVEN, last=Step.ACTED, iteration=3), Finish(STOP)),
        (state(output=FAILED, last=Step.ACTED), Reason()),
        (state(output=FAILED_BEFORE, last=Step.ACTED), Reason()),
        (state(output=FAILED_TWICE, last=Step.ACTED), Fail()),
        (state(output=Output(given=True, failures=1, failed=True), last=Step.ACTED), Finish(STOP)),
        (
            state(output=GIVEN, last=Step.ACTED, calls=("a",), asking=frozenset("a")),
            Pause(GenerateReason.PERMISSION_ASKING),
        ),
        (
            state(output=GIVEN, last=Step.ACTED, calls=("a",), outside=frozenset("a")),
            Pause(GenerateReason.TOOL_SUSPENDED),
        ),
        (
            state(output=GIVEN, last=Step.ACTED, stop=GenerateReason.ACTING_STOP_REQUESTED),
            Finish(GenerateReason.ACTING_STOP_REQUESTED),
        ),
        (state(output=GIVEN, last=Step.SUMMARIZED), Finish(LIMIT)),
        (state(output=Output(), last=Step.SUMMARIZED), Fail()),
        (state(output=Output(frozenset("a")), last=Step.SUMMARIZED, calls=("a",)), Act(("a",))),
        (
            state(output=Output(frozenset("a")), last=Step.SUMMARIZED, calls=("a", "b")),
            Act(("a",), close=(Closing("b", TOO_LATE),)),
        ),
        (
            state(output=Output(frozenset("a")), last=Step.SUMMARIZED, superseded=("a",)),
            Act(close=(Closing("a", TOO_LATE),)),
        ),
        (state(output=GIVEN, last=Step.CONCLUDED), Finish(LIMIT)),
        (state(output=FAILED, last=Step.CONCLUDED), Fail()),
        (state(output=Output(), last=Step.CONCLUDED, calls=("a",)), Act(close=(Closing("a", SKIPPED),))),
        (
            state(output=Output(), last=Step.CONCLUDED, calls=("a",), asking=frozenset("a")),
            Pause(GenerateReason.PERMISSION_ASKING),
        ),
    ],
    ids=str,
)
def test_decide_says_what_comes_next(stands: LoopState, next: Decision) -> None:
    assert next == decide(stands)


def started(call: str, name: str = GENERATE_RESPONSE, **more: Any) -> ev.AgentEvent:
    return ev.ToolCallStartEvent("r", call, name, **more)


def ended(call: str, result: ToolResultState, name: str = GENERATE_RESPONSE) -> ev.AgentEvent:
    return ev.ToolResultEndEvent("r", call, name, result)


SUCCESS, ERROR, DENIED = ToolResultState.SUCCESS, ToolResultState.ERROR, ToolResultState.DENIED
OPEN = Output(frozenset("a"))


@pytest.mark.parametrize(
    ("before", "event", "after"),
    [
        (state(output=Output()), started("a"), state(output=OPEN, calls=("a",))),
        (state(output=Output()), started("a", "tool"), state(output=Output(), calls=("a",))),
        (state(), started("a"), state(calls=("a",))),
        (state(output=Output()), started("a", source="main/sub"), state(output=Output())),
        (state(output=OPEN, calls=("a",)), ended("a", SUCCESS), state(output=GIVEN)),
        (state(output=OPEN, calls=("a",)), ended("a", ERROR), state(output=FAILED)),
        (state(output=OPEN, calls=("a",)), ended("a", DENIED), state(output=FAILED)),
        (state(output=OPEN, superseded=("a",)), ended("a", ERROR), state(output=Output())),
        (state(output=OPEN, calls=("a", "b")), ended("b", ERROR, "tool"), state(output=OPEN, calls=("a",))),
        (
            state(output=Output(frozenset("ab")), calls=("a", "b")),
            ended("b", ERROR),
            state(output=Output(frozenset("a"), failed=True), calls=("a",)),
        ),
        (
            state(output=Output(frozenset("a"), failed=True), calls=("a",)),
            ended("a", SUCCESS),
            state(output=Output(given=True, failed=True)),
        ),
        (state(calls=("a",)), ended("a", SUCCESS), state()),
        (
            state(output=OPEN, calls=("a",)),
            ev.ModelCallStartEvent("r"),
            state(output=OPEN, superseded=("a",)),
        ),
    ],
    ids=str,
)
def test_apply_moves_the_state(before: LoopState, event: ev.AgentEvent, after: LoopState) -> None:
    assert after == apply(before, event)


@pytest.mark.parametrize(
    ("before", "decision", "after"),
    [
        (
            state(output=FAILED, last=Step.ACTED),
            Reason(),
            state(output=FAILED_BEFORE, last=Step.REASONED, iteration=1),
        ),
        (state(output=Output()), Reason(), state(output=Output(), last=Step.REASONED, iteration=1)),
        (state(output=FAILED), Summarize(), state(output=FAILED_BEFORE, last=Step.SUMMARIZED)),
        (state(output=Output(), last=Step.REASONED), Repair(), state(output=FAILED_BEFORE)),
        (
            state(output=OPEN, last=Step.SUMMARIZED, calls=("a",)),
            Act(("a",)),
            state(output=OPEN, last=Step.CONCLUDED, calls=("a",)),
        ),
        (
            state(output=Output(), last=Step.SUMMARIZED, calls=("a",)),
            Act(close=(Closing("a", "why"),)),
            state(output=Output(), last=Step.SUMMARIZED, calls=("a",)),
        ),
        (state(output=FAILED_BEFORE), Fail(), state(output=FAILED_BEFORE)),
    ],
    ids=str,
)
def test_enter_begins_a_phase(before: LoopState, decision: Decision, after: LoopState) -> None:
    assert after == enter(before, decision)


@pytest.mark.parametrize(
    ("stands", "answered"),
    [
        (state(last=Step.REASONED), True),
        (state(last=Step.SUMMARIZED), True),
        (state(last=Step.REASONED, superseded=("a",)), False),
        (state(last=Step.ACTED), False),
        (state(), False),
    ],
    ids=str,
)
def test_an_answer_has_ended_when_nothing_in_it_is_open(stands: LoopState, answered: bool) -> None:
    assert stands.is_answered is answered


def call(id: str, name: str = GENERATE_RESPONSE, **input: Any) -> ToolUseBlock:
    return ToolUseBlock(id, name, input)


def took(id: str, value: Any) -> ToolResultBlock:
    metadata = {"_structured_output": value}
    return ToolResultBlock(id, GENERATE_RESPONSE, "done", metadata, ToolResultState.SUCCESS)


def refused(id: str, name: str = GENERATE_RESPONSE) -> ToolResultBlock:
    return ToolResultBlock(id, name, "Error", state=ToolResultState.ERROR)


HINT = HintBlock("h", "again", REPAIR)
ONE = {"x": 1}


@pytest.mark.parametrize(
    ("content", "output", "value"),
    [
        ([], Output(), None),
        ([TextBlock("x")], Output(), None),
        ([call("a")], OPEN, None),
        ([call("a"), call("b", "tool"), took("a", ONE)], GIVEN, ONE),
        ([call("a"), took("a", {"x": "one"})], Output(), None),
        ([call("a"), refused("a")], FAILED, None),
        ([call("a"), refused("a"), call("b")], Output(frozenset("b"), failures=1), None),
        ([call("a"), call("b"), refused("a"), refused("b")], FAILED, None),
        ([call("a"), refused("a"), TextBlock("x"), call("b"), refused("b")], FAILED_TWICE, None),
        ([TextBlock("x"), HINT], FAILED_BEFORE, None),
        ([HintBlock("h", "x", "ann")], Output(), None),
        (
            [call("a"), refused("a"), call("b"), took("b", ONE)],
            Output(given=True, failures=1),
            ONE,
        ),
        ([call("a"), took("a", ONE), call("b"), took("b", {"x": 2})], GIVEN, {"x": 2}),
        ([call("a", "tool"), took("a", ONE)], Output(), None),
        ([took("a", ONE)], Output(), None),
    ],
    ids=str,
)
def test_a_message_says_how_it_stands(content: list[ContentBlock], output: Output, value: Any) -> None:
    assert output_so_far(AssistantMessage(content), SPEC) == (output, value)


def test_what_was_accepted_counts_also_for_a_call_that_asks_for_nothing() -> None:
    message = AssistantMessage([call("a"), took("a", ONE)])

    assert output_so_far(message, None) == (GIVEN, ONE)
    assert output_so_far(AssistantMessage([call("a"), refused("a")]), None) == (None, None)
    assert output_so_far(message, OutputSpec.of(list[int])) == (Output(), None)


def test_a_resumed_reply_knows_its_output() -> None:
    message = AssistantMessage([call("a")])

    assert resume(message, (), 3, 1, OPEN) == state(output=OPEN, calls=("a",), iteration=1)


NATIVE, BY_TOOL = (
    wanted(Point, ScriptedModel("x", native_structured_output=native), Toolkit()) for native in (True, False)
)


def asked(each: Wanted | None) -> Wanted:
    assert each is not None
    return each


def test_a_model_is_asked_by_its_options_or_by_a_tool() -> None:
    options, toolkit = GenerateOptions(temperature=0.5), Toolkit()

    assert asked(NATIVE).options(options) == attrs.evolve(options, response_format=SPEC.response_format)
    assert asked(NATIVE).toolkit(toolkit) is toolkit
    assert asked(BY_TOOL).options(options) is options
    assert asked(BY_TOOL).toolkit(toolkit).names == (GENERATE_RESPONSE,)
    assert toolkit.names == ()
    assert wanted(None, ScriptedModel("x"), toolkit) is None


def test_the_name_of_the_tool_must_be_free() -> None:
    @tool
    def generate_response() -> None: ...

    with pytest.raises(ConfigurationError, match=r"has a tool 'generate_response'.* rename it, or use"):
        wanted(Point, ScriptedModel("x"), Toolkit(generate_response))
    assert wanted(Point, ScriptedModel("x", native_structured_output=True), Toolkit(generate_response))


@pytest.mark.parametrize(
    ("each", "content", "answer", "problem"),
    [
        (NATIVE, [], "hello", "$: expected JSON, got 'hello'"),
        (NATIVE, [], '{"x": "one"}', "$.x: 'one' is not of type 'integer'"),
        (BY_TOOL, [], "hello", "$: the model did not call generate_response"),
        (BY_TOOL, [call("a", response={"x": "1st"}), call("b", response={})], "", "$.x: is missing"),
        (BY_TOOL, [ToolUseBlock("a", GENERATE_RESPONSE, content='{"x": 1')], "", "$: the arguments of"),
        (BY_TOOL, [ToolUseBlock("a", GENERATE_RESPONSE, content='{"response": {}}')], "", "$.x: is missing"),
        (BY_TOOL, [call("a", response=ONE)], "", "$: fits, but was not taken"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_of_the_newest_output(
    each: Wanted, content: list[ContentBlock], answer: str, problem: str
) -> None:
    error = each.problem(AssistantMessage(content), answer)

    assert str(error).startswith(problem)
    assert error.path == problem.partition(": ")[0]


def test_a_hint_says_what_to_do() -> None:
    problem = StructuredOutputError("$.x: is missing", path="$.x")

    assert asked(NATIVE).hint(problem) == (
        "The answer is not what was asked for: $.x: is missing. Answer again, with nothing but JSON that "
        'fits this schema: {"title":"Point","type":"object","properties":{"x":{"type":"integer"}},'
        '"required":["x"]}'
    )
    assert asked(BY_TOOL).hint(problem) == (
        "The response is still to be given: call generate_response with it."
    )
