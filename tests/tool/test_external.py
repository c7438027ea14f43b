"""Tools that run elsewhere, and calls that wait: an End that says `running`, and no output."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError, ToolSuspendError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    ExternalExecutionResultEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.message import TextBlock, ToolResultBlock, ToolResultState, ToolUseBlock
from agentscope_rx.model import ToolSchema
from agentscope_rx.operators import to_msg
from agentscope_rx.tool import ToolEmitter, ToolGroup, Toolkit, external_tool, run_tool, tool
from agentscope_rx.wire import dumps_event, loads_event

PAY = {
    "type": "object",
    "properties": {
        "amount": {"type": "integer"},
        "to": {"type": "string"},
        "kind": {"type": "string", "enum": ["now", "later"]},
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        },
    },
    "required": ["amount"],
    "additionalProperties": False,
}
pay = external_tool("pay", "Pay a bill.", PAY)


@tool(external=True)
def ask_the_user(question: str, ctx: RuntimeContext) -> str:
    """Ask the user."""
    raise AssertionError("runs elsewhere")


def run(given: Any, **input: Any) -> list[AgentEvent]:
    toolkit = Toolkit(given)
    block = ToolUseBlock("call-1", toolkit.names[0], input)
    return run_tool(block, toolkit, reply_id="r").pipe(ops.to_list()).run()


def text(events: list[AgentEvent]) -> str:
    return "".join(e.delta for e in events if isinstance(e, ToolResultTextDeltaEvent))


def end(events: list[AgentEvent]) -> ToolResultEndEvent:
    last = events[-1]
    assert isinstance(last, ToolResultEndEvent)
    return last


def test_an_external_tool_is_a_schema_that_says_so() -> None:
    assert pay.external
    assert pay.schema == ToolSchema("pay", "Pay a bill.", PAY)
    assert not tool(lambda_free).external
    assert ask_the_user.external
    assert list(ask_the_user.parameters["properties"]) == ["question"]


def lambda_free() -> None: ...


def test_a_schema_in_a_toolkit_or_a_group_is_an_external_tool() -> None:
    schema = ToolSchema("pay", "Pay a bill.", PAY, strict=True)

    for kit in (Toolkit(schema), Toolkit(ToolGroup("g", tools=[schema]))):
        found = kit.get("pay")
        assert found is not None
        assert (found.external, found.schema) == (True, schema)


def test_nothing_runs_either_where_it_is_called_as_a_function() -> None:
    with pytest.raises(ToolSuspendError):
        pay(amount=3)


def test_without_a_schema_it_has_no_parameters() -> None:
    confirm = external_tool("confirm", read_only=True)

    assert confirm.read_only
    assert confirm.parameters["properties"] == {}
    assert confirm.arguments(ToolUseBlock("c", "confirm")) == {}
    assert confirm.arguments(ToolUseBlock("c", "confirm", {"a": 1})) is None


@pytest.mark.parametrize(
    ("given", "input"),
    [(pay, {"amount": 3}), (ask_the_user, {"question": "Sure?"})],
    ids=["schema", "function"],
)
def test_a_call_of_an_external_tool_does_not_run_and_waits(given: Any, input: dict[str, Any]) -> None:
    events = run(given, **input)

    assert [type(e) for e in events] == [ToolResultStartEvent, ToolResultEndEvent]
    assert end(events).state is ToolResultState.RUNNING
    assert end(events).metadata == {"agentscope_suspended": True}


@pytest.mark.parametrize(
    ("input", "problem"),
    [
        ({}, "$.amount: is missing"),
        ({"amount": "three"}, "$.amount: 'three' is not of type 'integer'"),
        ({"amount": 3, "amuont": 4}, "$.amuont: is unknown; the parameters are: amount, to, kind"),
        ({"amount": 3, "kind": "never"}, "$.kind: 'never' is not one of ['now', 'later']"),
        ({"amount": 3, "lines": [{"text": "a"}, {}]}, "$.lines[1].text: is missing"),
    ],
)
def test_arguments_that_do_not_fit_are_an_error_and_nobody_is_asked(
    input: dict[str, Any], problem: str
) -> None:
    events = run(pay, **input)

    assert problem in text(events)
    assert end(events).state is ToolResultState.ERROR
    assert pay.arguments(ToolUseBlock("c", "pay", input)) is None


def test_arguments_that_fit_are_judged_as_they_are() -> None:
    input = {"amount": 3, "kind": "now", "lines": [{"text": "a", "more": 1}]}

    assert pay.arguments(ToolUseBlock("c", "pay", input)) == input


def test_what_a_schema_does_not_say_fits() -> None:
    made = external_tool("t", "", {"type": "object"})

    for input in ({}, {"a": [1], "b": None, "c": {}}):
        assert made.arguments(ToolUseBlock("c", "t", input)) == input


def test_what_is_fixed_is_checked_with_the_rest() -> None:
    cautious = pay.preset(kind="later")

    assert cautious.arguments(ToolUseBlock("c", "pay", {"amount": 3})) == {"amount": 3, "kind": "later"}
    assert pay.preset(kind="never").arguments(ToolUseBlock("c", "pay", {"amount": 3})) is None


# A tool that suspends itself.


def sync(reason: str) -> None:
    raise ToolSuspendError(reason)


async def later(reason: str) -> None:
    await asyncio.sleep(0)
    raise ToolSuspendError(reason)


def generator(reason: str) -> Iterator[str]:
    yield ""
    raise ToolSuspendError(reason)


async def async_generator(reason: str) -> AsyncIterator[str]:
    yield ""
    raise ToolSuspendError(reason)


def stream(reason: str) -> Observable[str]:
    return rx.throw(ToolSuspendError(reason))


def block(reason: str) -> ToolResultBlock:
    return ToolResultBlock.suspended(ToolUseBlock("c", "x"), reason)


@pytest.mark.parametrize("function", [sync, later, generator, async_generator, stream, block])
def test_a_tool_of_any_kind_suspends_its_call_with_a_reason(function: Any) -> None:
    events = run(function, reason="waits for the bank")

    assert [type(e) for e in events] == [ToolResultStartEvent, ToolResultEndEvent]
    assert end(events).state is ToolResultState.RUNNING
    assert end(events).metadata == {
        "agentscope_suspended": True,
        "agentscope_suspend_reason": "waits for the bank",
    }


@pytest.mark.parametrize("error", [ToolSuspendError, ToolSuspendError()])
def test_a_suspension_needs_no_reason(error: Any) -> None:
    def waits() -> None:
        raise error

    assert end(run(waits)).metadata == {"agentscope_suspended": True}


def test_the_block_of_a_suspension_without_a_reason_has_none_either() -> None:
    def waits() -> ToolResultBlock:
        return ToolResultBlock.suspended(ToolUseBlock("c", "x"))

    assert end(run(waits)).metadata == {"agentscope_suspended": True}


def test_what_was_emitted_before_stays() -> None:
    def waits(out: ToolEmitter) -> None:
        out.emit("asked the bank")
        raise ToolSuspendError

    events = run(waits)

    assert (text(events), end(events).state) == ("asked the bank", ToolResultState.RUNNING)


def test_a_suspension_is_legal_on_the_wire_and_the_outcome_takes_its_place_in_the_message() -> None:
    outcome = ToolResultBlock("call-1", "sync", (TextBlock("paid"),), state=ToolResultState.SUCCESS)
    events = [
        AgentStartEvent("s", "r", "n"),
        *run(sync, reason="waits"),
        ExternalExecutionResultEvent("r", [outcome]),
        AgentEndEvent("r"),
    ]

    assert [loads_event(dumps_event(event)) for event in events] == events
    waiting = to_msg()(rx.from_iterable(events[:3])).run().content[0]
    assert isinstance(waiting, ToolResultBlock)
    assert (waiting.is_suspended, waiting.output) == (True, ())
    assert to_msg()(rx.from_iterable(events)).run().content == (outcome,)


def test_a_tool_error_that_a_tool_raises_itself_is_a_failure_like_any_other() -> None:
    from agentscope_rx.errors import ToolError

    def fails() -> None:
        raise ToolError("mine")

    assert text(run(fails)) == "Error: Tool execution failed: ToolError: mine"


@pytest.mark.parametrize(
    ("name", "schema", "message"),
    [
        ("two words", {}, "'two words' is no name for a tool"),
        (
            "t",
            {"properties": {"a": {"type": "unheard of"}}},
            r"JSON schema is wrong at \$\.properties\.a\.type",
        ),
        ("t", "object", "'object' is no mapping"),
    ],
)
def test_what_is_no_tool_is_refused(name: str, schema: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        external_tool(name, "", schema)
