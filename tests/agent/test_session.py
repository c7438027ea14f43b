"""Sessions: first come first served, freed only when all is clean, whichever loop a call lives on."""

import asyncio
import threading
from typing import Any

from attrs import evolve
from reactivex import operators as ops

from agentscope_rx import operators as agent_ops
from agentscope_rx.agent import ReActAgent, RuntimeContext
from agentscope_rx.agent._session import Gate
from agentscope_rx.testing import ScriptedModel, acheck_call, pause


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
        assert friday._sessions[None, "Friday"].gate.is_idle

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
        subscription = friday.call("hi").subscribe()
        await asyncio.sleep(0.002)
        subscription.dispose()
        await asyncio.sleep(0.002)

        assert reported == [boom]
        assert friday._sessions[None, "Friday"].gate.is_idle

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


def test_a_context_derived_from_a_calls_context_keeps_its_place() -> None:
    ctx = RuntimeContext("s", inside=frozenset({(1, None, "s")}))

    assert evolve(ctx, session_id="t").inside == ctx.inside


async def _message(agent: ReActAgent, text: str) -> Any:
    return await agent.call(text).pipe(agent_ops.to_msg())
