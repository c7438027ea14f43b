"""Trying again: only what failed, only while nothing has been given, and with fresh arguments."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import attrs
import pytest
import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx.errors import AgentScopeError, ConfigurationError, ToolSuspendError
from agentscope_rx.event import (
    AgentEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.interop import to_async_iterable
from agentscope_rx.message import ToolResultState, ToolUseBlock
from agentscope_rx.tool import Retry, ToolEmitter, Toolkit, run_tool, tool

AT_ONCE = Retry(3, initial_backoff=0)


def run(function: Any, **input: Any) -> list[AgentEvent]:
    toolkit = Toolkit(function)
    block = ToolUseBlock("c", toolkit.names[0], input)
    return run_tool(block, toolkit, reply_id="r").pipe(ops.to_list()).run()


def text(events: list[AgentEvent]) -> str:
    return "".join(e.delta for e in events if isinstance(e, ToolResultTextDeltaEvent))


@pytest.fixture(params=["sync", "async", "generator", "async generator", "stream"])
def unsteady(request: pytest.FixtureRequest) -> Callable[[list[Exception | str]], Callable[[], Any]]:
    """Make a tool of a kind that does one step of a script in each attempt."""

    def of(steps: list[Exception | str]) -> Callable[[], Any]:
        script = iter(steps)

        def step() -> str:
            now = next(script)
            if isinstance(now, Exception):
                raise now
            return now

        def sync() -> str:
            return step()

        async def later() -> str:
            await asyncio.sleep(0)
            return step()

        def generator() -> Iterator[str]:
            yield step()

        async def async_generator() -> AsyncIterator[str]:
            await asyncio.sleep(0)
            yield step()

        def stream() -> Observable[str]:
            return rx.defer(lambda _: rx.of(step()))

        kinds: dict[str, Callable[[], Any]] = {
            "sync": sync,
            "async": later,
            "generator": generator,
            "async generator": async_generator,
            "stream": stream,
        }
        return kinds[request.param]

    return of


def test_a_tool_that_raises_is_tried_again_and_shows_one_run(unsteady: Any) -> None:
    function = unsteady([OSError("1"), OSError("2"), "done"])
    events = run(tool(name="f", retry=AT_ONCE)(function))

    assert [type(e) for e in events] == [ToolResultStartEvent, ToolResultTextDeltaEvent, ToolResultEndEvent]
    assert text(events) == "done"


def test_after_the_last_attempt_its_failure_is_the_result(unsteady: Any) -> None:
    function = unsteady([OSError("1"), OSError("2"), OSError("3"), "never"])

    assert text(run(tool(name="f", retry=AT_ONCE)(function))) == "Error: Tool execution failed: OSError: 3"


def test_an_exception_of_another_class_is_final(unsteady: Any) -> None:
    retry = attrs.evolve(AT_ONCE, on=(ConnectionError, TimeoutError))
    function = unsteady([ConnectionResetError("1"), KeyError("2"), "never"])

    assert text(run(tool(name="f", retry=retry)(function))) == "Error: Tool execution failed: KeyError: '2'"


def test_without_a_retry_the_first_failure_is_final(unsteady: Any) -> None:
    assert text(run(tool(name="f")(unsteady([OSError("1"), "never"])))) == (
        "Error: Tool execution failed: OSError: 1"
    )


@pytest.mark.parametrize("kind", ["emitted", "emitted nothing", "asked to stop", "yielded"])
def test_after_anything_was_given_a_failure_is_final(kind: str) -> None:
    attempts: list[int] = []

    def emits(out: ToolEmitter) -> None:
        attempts.append(1)
        if kind == "asked to stop":
            out.request_stop()
        else:
            out.emit("half" if kind == "emitted" else "")
        raise OSError("gone")

    def yields() -> Iterator[str]:
        attempts.append(1)
        yield "half"
        raise OSError("gone")

    events = run(tool(name="f", retry=AT_ONCE)(yields if kind == "yielded" else emits))

    assert text(events).endswith("Error: Tool execution failed: OSError: gone")
    assert len(attempts) == 1


@pytest.mark.parametrize("kind", ["returned", "yielded"])
def test_a_failure_of_the_converter_is_final_since_the_tool_has_done_its_work(kind: str) -> None:
    attempts: list[int] = []

    def returns() -> str:
        attempts.append(1)
        return "x"

    def yields() -> Iterator[str]:
        attempts.append(1)
        yield "x"

    def fail(value: Any) -> Any:
        raise OSError("converter")

    made = tool(name="f", retry=AT_ONCE, converter=fail)(yields if kind == "yielded" else returns)

    assert text(run(made)) == "Error: Tool execution failed: OSError: converter"
    assert len(attempts) == 1


def test_each_attempt_has_fresh_arguments() -> None:
    seen: list[list[int]] = []

    @tool(retry=AT_ONCE)
    def spoil(items: list[int]) -> str:
        seen.append(list(items))
        items.append(9)
        raise OSError

    run(spoil, items=[1])

    assert seen == [[1], [1], [1]]


@attrs.define
class Moody:
    """Can be made once."""

    n: int
    made = 0

    def __attrs_post_init__(self) -> None:
        Moody.made += 1
        if Moody.made > 1:
            raise KeyError("no more")


def test_arguments_that_cannot_be_made_again_end_the_attempts() -> None:
    @tool(retry=AT_ONCE)
    def work(it: Moody) -> None:
        raise OSError("gone")

    assert text(run(work, it={"n": 1})) == "Error: Tool execution failed: KeyError: 'no more'"


@pytest.mark.parametrize("error", [ToolSuspendError("wait"), SystemExit(3)])
def test_a_suspension_and_an_exit_are_no_failures_to_try_again_after(error: BaseException) -> None:
    attempts: list[int] = []

    @tool(retry=AT_ONCE)
    def work() -> None:
        attempts.append(1)
        raise error

    run(work)

    assert len(attempts) == 1


def test_a_lack_of_memory_is_not_tried_again() -> None:
    attempts: list[int] = []

    @tool(retry=AT_ONCE)
    def work() -> None:
        attempts.append(1)
        raise MemoryError

    with pytest.raises(MemoryError):
        run(work)

    assert len(attempts) == 1


def test_the_timeout_is_over_all_attempts_and_ends_the_pause_between_them() -> None:
    attempts: list[int] = []

    @tool(timeout=0.05, retry=Retry(3, initial_backoff=60))
    def work() -> None:
        attempts.append(1)
        raise OSError

    events = run(work)

    assert text(events) == "Error: Tool execution failed: it took longer than 0.05 s"
    assert len(attempts) == 1


@pytest.mark.asyncio
async def test_disposing_in_the_pause_between_attempts_ends_them() -> None:
    attempts: list[int] = []
    raised = threading.Event()

    @tool(retry=Retry(3, initial_backoff=0.05))
    def work() -> None:
        attempts.append(1)
        raised.set()
        raise OSError

    block = ToolUseBlock("c", "work")
    async with to_async_iterable(run_tool(block, Toolkit(work), reply_id="r")) as events:
        await anext(events)
        waiting = asyncio.ensure_future(anext(events))
        assert await asyncio.to_thread(raised.wait, 5)
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.wait({waiting})
    await asyncio.sleep(0.15)

    assert len(attempts) == 1


def test_a_cancellation_inside_a_tool_is_not_tried_again() -> None:
    attempts: list[int] = []

    @tool(retry=AT_ONCE)
    async def work() -> None:
        attempts.append(1)
        raise asyncio.CancelledError

    with pytest.raises(AgentScopeError, match="cancelled"):
        run(work)

    assert len(attempts) == 1


def test_each_failure_is_logged_with_what_follows(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "agentscope_rx")

    @tool(retry=Retry(2, initial_backoff=0))
    def work() -> None:
        raise OSError("gone")

    run(work)

    assert [record.getMessage() for record in caplog.records] == [
        "tool work raised in attempt 1 of 2; the next one follows in 0.0 s",
        "tool work raised",
    ]


def test_pauses_grow_up_to_a_limit_and_have_a_random_part() -> None:
    retry = Retry(9, initial_backoff=1, backoff_multiplier=3, max_backoff=10)
    pauses = [retry.pause_after(attempt, OSError()) for attempt in range(1, 9)]

    for pause, least in zip(pauses, [1, 3, 9, 10, 10, 10, 10, 10], strict=True):
        assert pause is not None
        assert least <= pause <= 1.5 * least
    assert retry.pause_after(9, OSError()) is None
    assert retry.pause_after(1, SystemExit()) is None


def test_one_class_stands_for_itself() -> None:
    assert Retry(on=OSError).on == (OSError,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_attempts": 0}, "Retry.max_attempts is 0; give a number ≥ 1"),
        ({"max_attempts": 2.5}, "Retry.max_attempts is 2.5; give an int"),
        ({"initial_backoff": -1}, "Retry.initial_backoff is -1; give a number ≥ 0"),
        ({"max_backoff": True}, "Retry.max_backoff is True"),
        ({"backoff_multiplier": 0.5}, "Retry.backoff_multiplier is 0.5; give a number ≥ 1"),
        ({"on": [SystemExit]}, "SystemExit.*is no class of exceptions"),
        ({"on": ["OSError"]}, "'OSError' is no class of exceptions"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Retry(**options)


def test_what_is_no_retry_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"Tool\.retry is 3; give Retry or None"):

        @tool(retry=3)  # type: ignore[call-overload]
        def work() -> None: ...


def test_a_result_that_says_error_is_no_failure_to_try_again_after() -> None:
    from agentscope_rx.message import ToolResultBlock

    attempts: list[int] = []

    @tool(retry=AT_ONCE)
    def work() -> ToolResultBlock:
        attempts.append(1)
        return ToolResultBlock.error("not found")

    end = run(work)[-1]

    assert isinstance(end, ToolResultEndEvent)
    assert (end.state, len(attempts)) == (ToolResultState.ERROR, 1)
