"""Sessions: first come first served, freed only when all is clean, whichever loop a call lives on."""

import asyncio
import threading
import warnings
from typing import Any

import pytest
from attrs import evolve
from reactivex import operators as ops

from agentscope_rx import operators as agent_ops
from agentscope_rx.agent import ReActAgent, RuntimeContext
from agentscope_rx.agent._gate import Gate
from agentscope_rx.errors import ConfigurationError, MiddlewareProtocolWarning, SessionBusyError
from agentscope_rx.event import AgentEvent, TextBlockStartEvent, ToolResultTextDeltaEvent
from agentscope_rx.interop import from_async_iterable, to_async_iterable
from agentscope_rx.message import ToolResultBlock
from agentscope_rx.middleware import MiddlewareBase
from agentscope_rx.testing import ScriptedModel, acheck_call, check_call, pause, tool_call
from agentscope_rx.tool import tool


def echo(delay: float = 0.0) -> ReActAgent:
    return ReActAgent("Friday", model=ScriptedModel(lambda call: [pause(delay), call.text]))


def test_a_gate_lets_one_in_and_the_others_wait_in_order() -> None:
    async def main() -> None:
        gate, order = Gate(), []
        loop = asyncio.get_running_loop()
        for number in range(3):
            gate.enter(loop, lambda number=number: order.append(number))
        assert order == [0]

        gate.leave()
        await asyncio.sleep(0)
        gate.leave()
        await asyncio.sleep(0)
        assert order == [0, 1, 2]

        gate.leave()
        assert gate.is_idle

    asyncio.run(main())


def test_a_gate_passes_over_a_waiter_whose_loop_is_closed() -> None:
    dead = asyncio.new_event_loop()
    order: list[str] = []

    async def main() -> None:
        gate = Gate()
        loop = asyncio.get_running_loop()
        gate.enter(loop, lambda: order.append("first"))
        gate.enter(dead, lambda: order.append("dead"))
        gate.enter(loop, lambda: order.append("last"))
        dead.close()
        gate.leave()
        await asyncio.sleep(0)

    asyncio.run(main())
    assert order == ["first", "last"]


def test_a_gate_is_taken_from_one_inside_whose_loop_is_closed_for_those_who_wait_in_order() -> None:
    dead = asyncio.new_event_loop()
    order: list[str] = []

    async def main() -> None:
        gate = Gate()
        loop = asyncio.get_running_loop()
        gate.enter(dead, lambda: order.append("dead"), lambda: order.append("given up"))
        gate.enter(loop, lambda: order.append("first"))
        dead.close()
        gate.enter(loop, lambda: order.append("second"))
        await asyncio.sleep(0)
        gate.leave()
        await asyncio.sleep(0)
        gate.leave()
        assert gate.is_idle

    asyncio.run(main())
    assert order == ["dead", "given up", "first", "second"]


@tool
async def sleepy(seconds: float) -> str:
    """Sleep, the first time."""
    await asyncio.sleep(seconds if not slept.pop() else 0)
    return "slept"


slept: list[bool] = []


@pytest.mark.parametrize("first", ["half ", tool_call("sleepy", seconds=30)])
def test_a_call_whose_loop_was_closed_under_it_is_stored_and_frees_its_session(first: Any) -> None:
    slept[:] = [True, False]
    script = [[first, pause(30 if isinstance(first, str) else 0)], "done"]
    friday = ReActAgent("Friday", model=ScriptedModel(*script), toolkit=[sleepy])

    async def leave_it() -> None:
        friday.call("hi").subscribe()
        await asyncio.sleep(0.02)

    asyncio.run(leave_it())
    friday.reply().run()

    hi, reply = friday.get_agent_state().context
    assert hi.text_content == "hi"
    assert reply.text_content.endswith("done")
    assert reply.content[0].type == ("text" if isinstance(first, str) else "tool_use")


def test_a_program_that_fails_beside_a_call_leaves_the_session_free() -> None:
    """`asyncio.run` cancels all tasks at its end, those that clean up, too."""
    slept[:] = [True, False]
    friday = ReActAgent(
        "Friday", model=ScriptedModel([tool_call("sleepy", seconds=30)], "done"), toolkit=[sleepy]
    )

    async def main() -> None:
        async def fail() -> None:
            await asyncio.sleep(0.02)
            raise ValueError("mine")

        await asyncio.gather(_message(friday, "hi"), fail())

    with pytest.raises(ValueError, match="mine"):
        asyncio.run(main())

    assert friday._sessions.get(RuntimeContext("Friday")).gate.is_idle
    assert friday.reply().run().text_content == "done"


def test_calls_of_one_session_on_two_loops_take_turns() -> None:
    friday = echo(0.002)
    answers: list[str] = []

    def ask(name: str) -> None:
        async def main() -> None:
            for number in range(5):
                answers.append((await friday.reply(f"{name}{number}")).text_content)

        asyncio.run(main())

    threads = [threading.Thread(target=ask, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    texts = [msg.text_content for msg in friday.get_agent_state().context]
    assert sorted(answers) == sorted(f"{name}{number}" for name in "ab" for number in range(5))
    assert texts[::2] == texts[1::2]


def test_a_call_that_is_disposed_while_it_waits_never_begins() -> None:
    async def main() -> None:
        friday = echo(0.01)
        first = asyncio.ensure_future(_message(friday, "first"))
        await asyncio.sleep(0.001)
        friday.call("second").subscribe().dispose()
        third = await acheck_call(friday, "third")
        await first

        assert third.error is None
        texts = [msg.text_content for msg in friday.get_agent_state().context]
        assert texts == ["first", "first", "third", "third"]

    asyncio.run(main())


def test_ten_calls_of_one_session_that_are_disposed_at_once_leave_it_free() -> None:
    async def main() -> None:
        friday = echo(0.005)
        subscriptions = [friday.call(str(number)).subscribe() for number in range(10)]
        await asyncio.sleep(0.001)
        for subscription in reversed(subscriptions):
            subscription.dispose()

        assert (await _message(friday, "free")).text_content == "free"
        assert friday._sessions.get(RuntimeContext("Friday")).gate.is_idle

    asyncio.run(main())


def test_a_save_that_fails_after_dispose_is_reported_and_frees_the_session(monkeypatch: Any) -> None:
    async def main() -> None:
        reported: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: reported.append(context["exception"])
        )
        friday = echo(0.01)
        boom = OSError("disk full")

        def fail(_: object) -> Any:
            raise boom

        monkeypatch.setattr("agentscope_rx.agent._run.Run.saved", fail)
        begun = asyncio.Event()
        subscription = friday.call("hi").subscribe(lambda _: begun.set())
        await begun.wait()
        subscription.dispose()
        async with asyncio.timeout(5):
            while not (reported and friday._sessions.get(RuntimeContext("Friday")).gate.is_idle):
                await asyncio.sleep(0.001)

        assert reported == [boom]

    asyncio.run(main())


def test_a_save_that_fails_at_the_end_is_the_calls_error(monkeypatch: Any) -> None:
    boom = OSError("disk full")

    def fail(_: object) -> Any:
        raise boom

    monkeypatch.setattr("agentscope_rx.agent._run.Run.saved", fail)
    errors: list[Exception] = []
    done = threading.Event()
    echo().call("hi").pipe(ops.finally_action(done.set)).subscribe(on_error=errors.append)

    assert done.wait(10)
    assert errors == [boom]


def test_session_names_may_hold_any_characters() -> None:
    friday = echo()
    names = ["", "a/b", "../..", "ä ö", "a\0b", "None", "x" * 10_000]
    for number, name in enumerate(names):
        friday.reply(str(number), RuntimeContext(name, name)).run()

    for number, name in enumerate(names):
        context = friday.get_agent_state(RuntimeContext(name, name)).context
        assert [msg.text_content for msg in context] == [str(number)] * 2


def calls_itself(agent: list[ReActAgent]) -> Any:
    @tool
    async def myself() -> str:
        """Call the agent that calls this."""
        return (await agent[0].reply("again")).text_content

    return myself


def calls_itself_in_a_thread(agent: list[ReActAgent]) -> Any:
    @tool
    def myself() -> str:
        """Call the agent that calls this."""
        return agent[0].reply("again").run().text_content

    return myself


def calls_itself_through_another(agent: list[ReActAgent]) -> Any:
    @tool
    async def myself() -> str:
        """Call another agent, which calls this one."""
        other = ReActAgent(
            "Other", model=ScriptedModel([tool_call("myself")], "x"), toolkit=[calls_itself(agent)]
        )
        message = await other.reply("go")
        [result] = message.get_content_blocks(ToolResultBlock)
        return result.text_content

    return myself


def streams_itself(agent: list[ReActAgent]) -> Any:
    @tool
    def myself() -> Any:
        """Stream what the agent says."""
        return agent[0].call("again").pipe(agent_ops.text())

    return myself


@pytest.mark.parametrize(
    "make", [calls_itself, calls_itself_in_a_thread, calls_itself_through_another, streams_itself]
)
def test_a_tool_that_waits_for_its_own_session_gets_an_error_without_any_context_passed(make: Any) -> None:
    agent: list[ReActAgent] = []
    agent.append(
        ReActAgent("Friday", model=ScriptedModel([tool_call("myself")], "done"), toolkit=[make(agent)])
    )
    record = check_call(agent[0], "go")

    assert record.message is not None
    [result] = record.message.get_content_blocks(ToolResultBlock)
    assert "own session" in result.text_content


@pytest.mark.parametrize("hook", ["on_agent", "on_reasoning"])
def test_a_hook_that_waits_for_its_own_session_gets_an_error(hook: str) -> None:
    def ask_first(self: object, agent: Any, ctx: Any, input: Any, next: Any) -> Any:
        return agent.reply("what do you think?").pipe(ops.flat_map(lambda _: next(input)))

    asking = type("Asking", (MiddlewareBase,), {hook: ask_first})
    friday = ReActAgent("Friday", model=ScriptedModel("x"), middlewares=[asking()])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MiddlewareProtocolWarning)
        assert isinstance(check_call(friday, "go", outer=True).error, SessionBusyError)


def test_a_hook_that_awaits_its_own_session_gets_an_error() -> None:
    class Asking(MiddlewareBase):
        def on_reasoning(self, agent: Any, ctx: Any, input: Any, next: Any) -> Any:
            async def ask_first() -> Any:
                await agent.reply("what do you think?")
                async for event in to_async_iterable(next(input)):
                    yield event

            return from_async_iterable(ask_first)

    friday = ReActAgent("Friday", model=ScriptedModel("x"), middlewares=[Asking()])

    assert isinstance(check_call(friday, "go").error, SessionBusyError)


@pytest.mark.parametrize("at", [TextBlockStartEvent, ToolResultTextDeltaEvent])
def test_a_subscriber_may_begin_the_next_call_of_its_session(at: type[AgentEvent]) -> None:
    async def main() -> None:
        slept[:] = [False]
        script = [["hm", tool_call("sleepy", seconds=0)], "first", "second"]
        friday = ReActAgent("Friday", model=ScriptedModel(*script), toolkit=[sleepy])
        done = asyncio.Event()

        def see(event: AgentEvent) -> None:
            if isinstance(event, at) and not begun:
                begun.append(friday.call("again").subscribe(on_completed=done.set))

        begun: list[Any] = []
        friday.call("hi").subscribe(see)
        await asyncio.wait_for(done.wait(), 5)
        assert [msg.text_content for msg in friday.get_agent_state().context[::2]] == ["hi", "again"]

    asyncio.run(main())


def test_a_context_derived_from_a_calls_context_keeps_its_place() -> None:
    ctx = RuntimeContext("s", inside=frozenset({(1, None, "s")}))

    assert evolve(ctx, session_id="t").inside == ctx.inside


async def _message(agent: ReActAgent, text: str) -> Any:
    return await agent.call(text).pipe(agent_ops.to_msg())


def test_a_change_that_gives_no_state_fails_and_leaves_the_session_as_it_was() -> None:
    agent = echo()
    agent.reply("hi").run()
    before = agent.get_agent_state()
    wrong: Any = before.context.count  # a function, but of no state
    with pytest.raises(ConfigurationError, match="return an AgentState"):
        agent.update_state(wrong).run()

    assert agent.get_agent_state() is before
    assert agent.reply("and now?").run().text_content == "and now?"
