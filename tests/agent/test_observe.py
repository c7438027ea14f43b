"""Messages that a session takes in without a call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import reactivex as rx
from reactivex import operators as ops

from agentscope_rx import event as ev
from agentscope_rx.agent import ConfirmResults, ReActAgent, RuntimeContext
from agentscope_rx.agent._observe import observing
from agentscope_rx.errors import ConfigurationError, SessionBusyError
from agentscope_rx.message import AssistantMessage, Msg, SystemMessage, ToolResultMessage, UserMessage
from agentscope_rx.middleware import on_reasoning
from agentscope_rx.state import AgentState
from agentscope_rx.store import InMemoryAgentStateStore
from agentscope_rx.testing import ScriptedModel, check_call, pause, tool_call
from agentscope_rx.tool import tool


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def agent(*script: Any, **options: Any) -> ReActAgent:
    return ReActAgent("Friday", model=ScriptedModel(*script), toolkit=[add], **options)


def texts(friday: ReActAgent, ctx: RuntimeContext | None = None) -> list[str]:
    return [msg.text_content for msg in friday.get_agent_state(ctx).context]


def test_what_was_observed_is_seen_by_the_next_call() -> None:
    friday = agent(lambda asked: " ".join(msg.text_content for msg in asked.messages))
    state = friday.observe([UserMessage("ann", "I am late"), AssistantMessage("Monday", "So am I")]).run()

    assert [msg.text_content for msg in state.context] == ["I am late", "So am I"]
    assert state is friday.get_agent_state()
    record = check_call(friday, "who?")
    assert record.message is not None
    assert record.message.text_content == "I am late So am I who?"


@pytest.mark.parametrize("said", ["hi", UserMessage("hi"), [UserMessage("hi")], ("hi",)][:3])
def test_it_takes_what_a_call_takes(said: Any) -> None:
    friday = agent("x")
    friday.observe(said).run()

    assert texts(friday) == ["hi"]


def test_it_is_cold_and_of_one_session() -> None:
    friday = agent("x")
    ann = RuntimeContext("s", "ann")
    observing = friday.observe("hi", ann)

    assert texts(friday, ann) == []
    observing.run()
    assert texts(friday, ann) == ["hi"]
    assert texts(friday) == texts(friday, RuntimeContext("s", "bob")) == []


def test_a_message_that_the_session_has_is_not_taken_twice() -> None:
    hello, bye = UserMessage("hello"), UserMessage("bye")
    friday = agent("x")
    for msgs in ([hello], [hello, bye, bye], [bye]):
        friday.observe(msgs).run()

    assert friday.get_agent_state().context == (hello, bye)


def test_nothing_new_leaves_the_state_alone() -> None:
    hello = UserMessage("hello")
    state = AgentState(context=[hello])

    assert observing([hello])(state) is state
    assert observing([])(state) is state


def test_it_waits_for_its_turn() -> None:
    async def main() -> None:
        friday = agent([pause(0.01), "one"], "two")
        first = asyncio.ensure_future(_of(friday.reply("a")))
        await asyncio.sleep(0)
        seen = asyncio.ensure_future(_of(friday.observe("b")))
        second = asyncio.ensure_future(_of(friday.reply("c")))
        await asyncio.gather(first, seen, second)

        assert texts(friday) == ["a", "one", "b", "c", "two"]

    asyncio.run(main())


async def _of(source: rx.Observable[Any]) -> Any:
    return await source


def test_it_is_stored() -> None:
    store = InMemoryAgentStateStore()
    agent("x", state_store=store).observe("hi").run()

    another = agent(lambda asked: " ".join(msg.text_content for msg in asked.messages), state_store=store)
    record = check_call(another, "again")
    assert record.message is not None
    assert record.message.text_content == "hi again"


def test_a_paused_reply_goes_on_under_its_id_and_sees_what_came() -> None:
    stopping = True

    def stop(events: rx.Observable[ev.AgentEvent]) -> rx.Observable[ev.AgentEvent]:
        return events.pipe(ops.concat(rx.of(ev.RequestStopEvent()))) if stopping else events

    friday = agent(
        tool_call("add", a=1, b=2), lambda asked: f"3, and {asked.text}", middlewares=[on_reasoning(stop)]
    )
    paused = check_call(friday, "go").message
    friday.observe("hurry").run()
    assert paused is not None
    assert friday.get_agent_state().context[1] == paused

    stopping = False
    record = check_call(friday)
    assert record.message is not None
    assert record.message.id == paused.id
    assert record.message.text_content == "3, and hurry"
    assert texts(friday) == ["go", "3, and hurry", "hurry"]
    assert len(record.message.content) > len(paused.content)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (ConfirmResults([]), ["observe", "call("]),
        (ToolResultMessage.of("c1", "add", "3"), ["observe", "call("]),
        (SystemMessage("be kind"), ["SYSTEM"]),
        (3, ["3", "Msg"]),
    ],
)
def test_what_cannot_be_observed_is_refused_at_once(wrong: Any, words: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        agent("x").observe(wrong)

    assert all(word in str(caught.value) for word in words)


def test_a_tool_that_observes_in_its_own_session_gets_an_error_and_no_deadlock() -> None:
    errors: list[Exception] = []

    @tool
    async def tell(ctx: RuntimeContext) -> str:
        """Tell the session something, from inside."""
        try:
            await friday.observe("psst", ctx)
        except SessionBusyError as error:
            errors.append(error)
        return "tried"

    friday = ReActAgent("Friday", model=ScriptedModel(tool_call("tell"), "done"), toolkit=[tell])
    check_call(friday, "go")

    assert len(errors) == 1
    context: tuple[Msg, ...] = friday.get_agent_state().context
    assert [msg.text_content for msg in context] == ["go", "done"]
