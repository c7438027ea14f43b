"""A tool call has one run, however often and however late its events are asked for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import reactivex as rx
from attrs import evolve
from reactivex import Observable, operators as ops
from reactivex.subject import Subject

from agentscope_rx import event as ev
from agentscope_rx.agent import ReActAgent
from agentscope_rx.agent._flight import Flight
from agentscope_rx.event import AgentEvent
from agentscope_rx.message import ToolResultBlock, ToolResultState
from agentscope_rx.middleware import MiddlewareBase, on_acting
from agentscope_rx.testing import ScriptedModel, check_call, tool_call
from agentscope_rx.tool import tool

START = ev.ToolResultStartEvent("r", "c", "count")
DELTA = ev.ToolResultTextDeltaEvent("r", "c", "count", "one")
END = ev.ToolResultEndEvent("r", "c", "count")
OF_A_CHILD = ev.CustomEvent("x", source="main/child")


class Runs:
    """A run that a test drives; it counts how often it was begun and left."""

    def __init__(self) -> None:
        self.events: Subject[AgentEvent] = Subject()
        self.begun = self.left = 0
        self.flight = Flight(rx.defer(self._begin), lambda event: event is END)

    def _begin(self, _: object) -> Observable[AgentEvent]:
        self.begun += 1
        return self.events.pipe(ops.finally_action(self._leave))

    def _leave(self) -> None:
        self.left += 1

    def heard(self) -> tuple[list[Any], rx.abc.DisposableBase]:
        said: list[Any] = []
        return said, self.flight.stream.subscribe(said.append, said.append, lambda: said.append("|"))

    def say(self, *events: AgentEvent) -> None:
        for event in events:
            self.events.on_next(event)


def test_who_comes_while_it_runs_gets_what_has_come_and_then_what_comes() -> None:
    runs = Runs()
    first, _ = runs.heard()
    runs.say(START, OF_A_CHILD)
    second, _ = runs.heard()
    runs.say(DELTA, END)
    runs.events.on_completed()

    assert first == [START, OF_A_CHILD, DELTA, END, "|"]
    assert second == [START, DELTA, END, "|"]
    assert runs.begun == 1


def test_who_comes_after_its_end_gets_all_and_it_does_not_run_again() -> None:
    runs = Runs()
    runs.heard()
    runs.say(START, END)
    runs.events.on_completed()

    assert runs.heard()[0] == [START, END, "|"]
    assert runs.begun == 1


def test_it_goes_on_while_one_is_left_and_is_begun_anew_when_all_had_gone() -> None:
    runs = Runs()
    _, one = runs.heard()
    said, other = runs.heard()
    runs.say(START)
    one.dispose()
    assert runs.left == 0

    other.dispose()
    assert (runs.left, said) == (1, [START])

    again, _ = runs.heard()
    runs.say(START, DELTA)
    assert (runs.begun, again) == (2, [START, DELTA])


def test_who_leaves_at_its_end_has_not_left_before_it() -> None:
    runs = Runs()
    _, one = runs.heard()
    runs.say(START, END)
    one.dispose()

    assert runs.heard()[0] == [START, END, "|"]
    assert runs.begun == 1


def test_a_failure_goes_to_all_and_the_next_one_begins_anew() -> None:
    runs = Runs()
    boom = MemoryError()
    first, _ = runs.heard()
    second, _ = runs.heard()
    runs.say(START)
    runs.events.on_error(boom)
    assert first == second == [START, boom]

    runs.events = Subject()
    third, _ = runs.heard()
    runs.say(START)
    assert (runs.begun, third) == (2, [START])


class Halves(MiddlewareBase):
    """Runs the calls of a step side by side, each through `next` for itself."""

    def on_acting(self, agent: Any, ctx: Any, input: Any, next: Any) -> Observable[AgentEvent]:
        return rx.merge(*[next(evolve(input, tool_calls=[call])) for call in input.tool_calls])


@pytest.mark.parametrize(
    "hook", [on_acting(lambda events: events.pipe(ops.merge(events))), Halves()], ids=["twice", "halves"]
)
def test_a_hook_may_subscribe_to_next_while_it_runs(hook: MiddlewareBase) -> None:
    runs: list[int] = []

    @tool
    async def count(to: int) -> Any:
        """Count."""
        runs.append(to)
        for number in range(to):
            yield f"{number} "
            await asyncio.sleep(0.001)

    script = ScriptedModel([tool_call("count", to=2), tool_call("count", to=3)], "fin")
    record = check_call(ReActAgent("Friday", model=script, toolkit=[count], middlewares=[hook]), "go")

    assert sorted(runs) == [2, 3]
    assert record.message is not None
    results = record.message.get_content_blocks(ToolResultBlock)
    assert [result.text_content for result in results] == ["0 1 ", "0 1 2 "]
    assert {result.state for result in results} == {ToolResultState.SUCCESS}


def failing_once(events: Observable[AgentEvent]) -> Observable[AgentEvent]:
    """Fail when the tool has begun, the first time."""
    failed: list[int] = []

    def fail(event: AgentEvent) -> AgentEvent:
        if isinstance(event, ev.ToolResultTextDeltaEvent) and not failed:
            failed.append(1)
            raise RuntimeError("the hook")
        return event

    return events.pipe(ops.map(fail), ops.retry(2))


@pytest.mark.filterwarnings("ignore::agentscope_rx.errors.MiddlewareProtocolWarning")
@pytest.mark.parametrize(
    "hook",
    [on_acting(failing_once), on_acting(ops.timeout(0.2, rx.throw(TimeoutError())), ops.retry(2))],
    ids=["from inside", "from a timer"],
)
def test_what_runs_again_begins_when_what_was_left_has_cleaned_up(hook: MiddlewareBase) -> None:
    doing: list[str] = []

    @tool
    async def careful() -> Any:
        """Work, and clean up slowly."""
        again = bool(doing)
        doing.append("begin")
        try:
            yield "one "
            await asyncio.sleep(0 if again else 1)
        finally:
            await asyncio.sleep(0.01)
            doing.append("end")

    script = ScriptedModel([tool_call("careful")], "fin")
    record = check_call(ReActAgent("Friday", model=script, toolkit=[careful], middlewares=[hook]), "go")

    assert record.error is None
    assert doing == ["begin", "end"] * 2


class Knowing(MiddlewareBase):
    """Has an outcome itself, and calls `next` with all calls the same."""

    def on_acting(self, agent: Any, ctx: Any, input: Any, next: Any) -> Observable[AgentEvent]:
        known = ToolResultBlock.text("known", id=input.tool_calls[0].id)
        return rx.concat(rx.of(ev.ExternalExecutionResultEvent("", [known])), next(input))


@pytest.mark.parametrize("external", [False, True])
def test_a_call_that_has_a_result_of_a_hook_does_not_run_and_is_not_handed_out(external: bool) -> None:
    runs: list[int] = []

    @tool(external=external)
    async def count(to: int) -> str:
        """Count."""
        runs.append(to)
        return f"counted to {to}"

    script = ScriptedModel([tool_call("count", to=2), tool_call("count", to=3)], "fin")
    record = check_call(ReActAgent("Friday", model=script, toolkit=[count], middlewares=[Knowing()]), "go")

    assert record.message is not None
    results = record.message.get_content_blocks(ToolResultBlock)
    asked = [
        call.input["to"]
        for e in record.events
        if isinstance(e, ev.RequireExternalExecutionEvent)
        for call in e.tool_calls
    ]
    assert [result.text_content for result in results] == (
        ["known"] if external else ["known", "counted to 3"]
    )
    assert (runs, asked) == (([], [3]) if external else ([3], []))
