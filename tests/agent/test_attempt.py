"""A call ends, and ends well, whatever is raised in it and wherever."""

import asyncio
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable, operators as ops
from reactivex.scheduler import NewThreadScheduler, TimeoutScheduler

from agentscope_rx import event as ev
from agentscope_rx.agent import ReActAgent, RuntimeContext
from agentscope_rx.errors import (
    AgentScopeError,
    ConfigurationError,
    MiddlewareProtocolWarning,
    ModelConnectionError,
)
from agentscope_rx.message import (
    GenerateReason,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.middleware import (
    AgentInput,
    MiddlewareBase,
    Phase,
    on_acting,
    on_agent,
    on_model_call,
    on_reasoning,
)
from agentscope_rx.model import ChatResponse
from agentscope_rx.testing import ScriptedModel, acheck_call, check_call, check_disposal, tool_call
from agentscope_rx.tool import tool

Events = Observable[ev.AgentEvent]
HOOKS = [on_agent, on_reasoning, on_acting, on_model_call]


class Odd(BaseException):
    """What no `except Exception` catches."""


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def friday(*middlewares: MiddlewareBase, script: Any = None, **options: Any) -> ReActAgent:
    options.setdefault("toolkit", [add])
    script = script or (["hm ", tool_call("add", a=1, b=2)], "3")
    return ReActAgent("Friday", model=ScriptedModel(*script), middlewares=middlewares, **options)


def is_free(agent: ReActAgent) -> bool:
    return agent._sessions.get(RuntimeContext("Friday")).gate.is_idle


def raises_at_once(error: BaseException) -> Callable[[Events], Events]:
    def operator(_: Events) -> Events:
        raise error

    return operator


def raises_later(error: BaseException) -> Callable[[Events], Events]:
    """An operator written by hand, which lets an exception escape, as those of RxPY do not."""

    def operator(source: Events) -> Events:
        def subscribe(observer: Any, scheduler: Any = None) -> Any:
            def on_next(event: ev.AgentEvent) -> None:
                if isinstance(event, (ev.ToolCallDeltaEvent, ev.ToolResultTextDeltaEvent)):
                    raise error
                observer.on_next(event)

            return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

        return Observable(subscribe)

    return operator


def raises_on_a_timer(error: BaseException) -> Callable[[Events], Events]:
    return lambda source: source.pipe(ops.delay(0.001), raises_later(error))


@pytest.mark.filterwarnings("ignore::agentscope_rx.errors.MiddlewareProtocolWarning")
@pytest.mark.parametrize("how", [raises_at_once, raises_later, raises_on_a_timer])
@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("error", [ValueError("mine"), Odd("mine"), asyncio.CancelledError("mine")])
def test_whatever_a_hook_lets_escape_is_the_error_of_the_call(
    hook: Any, how: Any, error: BaseException
) -> None:
    agent = friday(hook(how(error)))
    record = check_call(agent, "hi", outer=hook is on_agent)

    if isinstance(error, Exception):
        assert record.error is error
    else:
        assert isinstance(record.error, AgentScopeError)
        assert record.error.__cause__ is error
    assert is_free(agent)


@pytest.mark.filterwarnings("ignore::agentscope_rx.errors.MiddlewareProtocolWarning")
@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_exit_from_a_hook_ends_the_call_and_goes_on(hook: Any, error: type[BaseException]) -> None:
    agent = friday(hook(raises_later(error())))

    with pytest.raises(error):
        check_call(agent, "hi", outer=hook is on_agent)

    assert is_free(agent)


@pytest.mark.filterwarnings("ignore::agentscope_rx.errors.MiddlewareProtocolWarning")
@pytest.mark.parametrize("how", [raises_at_once, raises_later, raises_on_a_timer])
@pytest.mark.parametrize("hook", HOOKS)
def test_an_exit_from_a_hook_on_the_private_loop_reaches_the_one_who_waits(hook: Any, how: Any) -> None:
    agent = friday(hook(how(SystemExit())))

    with pytest.raises(AgentScopeError, match="SystemExit"):
        agent.reply("hi").run()


class Model:
    """A model that is a function."""

    model_name = "odd"

    def __init__(self, stream: Callable[[], Any]) -> None:
        self._stream = stream

    def stream(self, messages: Any, tools: Any, options: Any) -> Any:
        return self._stream()


def half_an_answer_then(error: BaseException) -> Observable[ChatResponse]:
    def subscribe(observer: Any, _: Any = None) -> Any:
        observer.on_next(ChatResponse([TextBlock("half")]))
        raise error

    return Observable(subscribe)


def raising(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize("error", [ValueError("x"), Odd("x"), asyncio.CancelledError("x"), MemoryError("x")])
@pytest.mark.parametrize("how", [raising, half_an_answer_then])
def test_whatever_a_model_raises_is_the_error_of_the_call(how: Any, error: BaseException) -> None:
    agent = ReActAgent("Friday", model=Model(lambda: how(error)))
    record = check_call(agent, "hi")

    assert error in (record.error, record.error and record.error.__cause__)
    assert is_free(agent)


class MuteError(Exception):
    """Cannot say what it is about."""

    def __str__(self) -> str:
        raise ValueError("no words")


def test_an_error_that_cannot_say_what_it_is_ends_the_call_all_the_same() -> None:
    record = check_call(friday(script=(["hm", tool_call("add", a=1, b=2), MuteError()], "x")), "hi")

    assert isinstance(record.error, MuteError)
    end = record.events[-1]
    assert isinstance(end, ev.AgentEndEvent)
    assert end.error is not None
    assert end.error.type == "MuteError"


def test_a_tool_that_fails_without_words_is_a_result() -> None:
    @tool
    def mute() -> str:
        """Fail."""
        raise MuteError

    record = check_call(friday(script=([tool_call("mute")], "x"), toolkit=[mute]), "hi")

    assert record.message is not None
    [result] = record.message.get_content_blocks(ToolResultBlock)
    assert "MuteError" in result.text_content


@pytest.mark.parametrize(
    ("returned", "words"), [(None, "None"), ([], "Observable"), ("text", "from_async_iterable")]
)
def test_a_model_that_returns_no_stream_is_a_clear_error(returned: Any, words: str) -> None:
    record = check_call(ReActAgent("Friday", model=Model(lambda: returned)), "hi")

    assert isinstance(record.error, ConfigurationError)
    assert words in str(record.error)


@pytest.mark.parametrize("hooks", [[], [on_acting(ops.tap(lambda _: None))]])
@pytest.mark.parametrize("error", [MemoryError, asyncio.CancelledError])
def test_what_no_tool_can_be_blamed_for_ends_its_result_and_those_beside_it(
    error: type[BaseException], hooks: list[MiddlewareBase]
) -> None:
    @tool
    async def broken() -> str:
        """Break."""
        await asyncio.sleep(0.002)
        raise error

    @tool
    async def slow() -> str:
        """Take long."""
        await asyncio.sleep(30)
        return "never"

    agent = friday(*hooks, script=([tool_call("slow"), tool_call("broken")], "x"), toolkit=[broken, slow])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record = check_call(agent, "go")

    assert record.message is not None
    states = [result.state for result in record.message.get_content_blocks(ToolResultBlock)]
    assert states == [ToolResultState.ERROR] * 2


@pytest.mark.parametrize("hook", HOOKS)
def test_where_warnings_are_errors_what_the_guard_puts_right_is_the_error_of_the_call(hook: Any) -> None:
    ends = (ev.TextBlockEndEvent, ev.ToolCallEndEvent, ev.ToolResultEndEvent)
    agent = friday(hook(ops.filter(lambda event: not isinstance(event, ends))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record = check_call(agent, "hi", outer=hook is on_agent)

    assert isinstance(record.error, MiddlewareProtocolWarning)
    assert hook.__name__ in str(record.error)


def test_where_warnings_are_errors_a_missing_frame_is_the_error_of_the_call() -> None:
    agent = friday(on_agent(lambda _: rx.empty()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record = check_call(agent, "hi", outer=True)

    assert isinstance(record.error, MiddlewareProtocolWarning)
    assert "AgentStartEvent was missing" in str(record.error)


def test_a_call_that_is_disposed_while_it_fails_stores_what_was_emitted() -> None:
    def fresh() -> ReActAgent:
        calls = [tool_call("add", a=1, b=2), tool_call("add", a=3, b=4)]
        return friday(script=(["hm", *calls, ModelConnectionError("no")], *["x"] * 3))

    length = len(check_call(fresh(), "go").events)
    for count in range(length):
        check_disposal(fresh(), "go", after=count)


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize(
    "elsewhere",
    [
        ops.observe_on(NewThreadScheduler()),
        ops.subscribe_on(NewThreadScheduler()),
        ops.delay(0.001, scheduler=TimeoutScheduler.singleton()),
    ],
)
def test_an_operator_with_a_scheduler_of_its_own_takes_nothing_of_the_call_off_its_loop(
    hook: Any, elsewhere: Any
) -> None:
    threads: list[str] = []

    @tool
    async def where() -> str:
        """Note the thread."""
        threads.append(threading.current_thread().name)
        return "here"

    def script(call: Any) -> Any:
        threads.append(threading.current_thread().name)
        return "done" if call.results else [tool_call("where")]

    record = check_call(
        friday(hook(elsewhere), script=[script], toolkit=[where]), "hi", outer=hook is on_agent
    )

    assert record.error is None
    assert record.message is not None
    assert record.message.text_content == "done"
    assert threads == [threading.current_thread().name] * 3


def test_on_agent_may_run_the_call_again_but_not_beside_itself() -> None:
    agent = friday(on_agent(lambda events: events.pipe(ops.merge(events))))
    record = check_call(agent, "hi", outer=True)

    assert isinstance(record.error, ConfigurationError)
    assert "ops.concat" in str(record.error)
    assert is_free(agent)


@pytest.mark.filterwarnings("ignore::agentscope_rx.errors.MiddlewareProtocolWarning")
def test_an_operator_that_lets_go_of_one_attempt_late_may_begin_another() -> None:
    class Again(MiddlewareBase):
        def on_agent(self, agent: Any, ctx: Any, input: AgentInput, next: Phase[AgentInput]) -> Events:
            return next(input).pipe(ops.timeout(0.2, next(input)))

    @tool
    async def slow() -> str:
        """Take long, the first time."""
        if not ran:
            ran.append(1)
            await asyncio.sleep(30)
        return "ok"

    ran: list[int] = []
    record = check_call(
        friday(Again(), script=([tool_call("slow")], "done"), toolkit=[slow]), "hi", outer=True
    )

    assert record.error is None
    assert record.message is not None
    assert record.message.text_content == "done"


@pytest.mark.parametrize("reason", GenerateReason)
def test_a_stop_for_whatever_reason_leaves_the_open_calls_to_the_next_call(reason: GenerateReason) -> None:
    runs: list[int] = []

    @tool
    def once() -> str:
        """Count the runs."""
        runs.append(1)
        return "ran"

    stop = [ev.RequestStopEvent("enough", reason)]

    def stopping(events: Events) -> Events:
        return events.pipe(ops.concat(rx.defer(lambda _: rx.of(*stop))))

    agent = friday(on_reasoning(stopping), script=([tool_call("once")], "done"), toolkit=[once])
    record = check_call(agent, "go")
    stop.clear()
    again = check_call(agent)

    assert record.message is not None
    assert again.message is not None
    assert (record.message.generate_reason, record.message.id) == (reason, again.message.id)
    assert runs == [1]
    assert again.message.text_content == "done"


def test_calls_that_a_middleware_puts_into_the_summary_are_closed_and_end_nothing_but_themselves() -> None:
    call = (
        ev.ToolCallStartEvent("", "c1", "add"),
        ev.ToolCallDeltaEvent("", "c1", "add", '{"a":1,"b":2}'),
        ev.ToolCallEndEvent("", "c1", "add"),
    )

    class Calling(MiddlewareBase):
        def on_model_call(self, agent: Any, ctx: Any, input: Any, next: Any) -> Events:
            return next(input).pipe(ops.concat(rx.from_iterable(call)))

    record = check_call(friday(Calling(), script=[lambda _: "again "], max_iters=1), "hi")

    assert record.message is not None
    assert GenerateReason.MAX_ITERATIONS is record.message.generate_reason
    assert {ToolCallState.FINISHED} == {c.state for c in record.message.get_content_blocks(ToolUseBlock)}


def test_an_event_that_comes_twice_moves_the_loop_as_it_moves_the_message_once() -> None:
    """A cache of whole events is such a middleware: it gives the same ids in every round."""
    cached = [
        ev.ToolCallStartEvent("", "c1", "add"),
        ev.ToolCallDeltaEvent("", "c1", "add", '{"a":1,"b":2}'),
        ev.ToolCallEndEvent("", "c1", "add"),
    ]
    agent = friday(on_model_call(lambda _: rx.from_iterable(cached)))
    record = check_call(agent, "hi")

    assert record.message is not None
    [result] = record.message.get_content_blocks(ToolResultBlock)
    assert (TextBlock("3"),) == result.output
    assert GenerateReason.MODEL_STOP is record.message.generate_reason


def test_ending_a_call_from_outside_while_a_tool_streams_waits_for_its_clean_up() -> None:
    """An operator that completes early does so inside the tool's own task."""
    order: list[str] = []

    @tool
    async def slow() -> Any:
        """Stream, and clean up slowly."""
        try:
            yield "a"
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.02)
            order.append("cleaned up")

    async def main() -> None:
        until = ops.take_while(lambda event: not isinstance(event, ev.ToolResultTextDeltaEvent))
        agent = friday(on_agent(until), script=([tool_call("slow")], "x"), toolkit=[slow])
        with pytest.warns(MiddlewareProtocolWarning):
            record = await acheck_call(agent, "hi", outer=True)
        order.append("ended")
        assert record.error is None

    asyncio.run(main())
    assert order == ["cleaned up", "ended"]


def test_disposing_inside_on_next_waits_for_the_clean_up_of_the_tool_that_emits() -> None:
    order: list[str] = []

    @tool
    async def slow() -> Any:
        """Stream, and clean up slowly."""
        try:
            yield "a"
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.02)
            order.append("cleaned up")

    async def main() -> None:
        agent = friday(script=([tool_call("slow")], *["x"] * 3), toolkit=[slow, add])
        done = asyncio.Event()

        def see(event: ev.AgentEvent) -> None:
            if isinstance(event, ev.ToolResultTextDeltaEvent):
                subscription.dispose()
                done.set()

        subscription = agent.call("hi").subscribe(see)
        await done.wait()
        second = agent.call().subscribe(lambda event: order.append(type(event).__name__))
        while len(order) < 2:
            await asyncio.sleep(0.001)
        second.dispose()
        while not is_free(agent):
            await asyncio.sleep(0.001)

    asyncio.run(main())
    assert order[:2] == ["cleaned up", "AgentStartEvent"]


def test_a_call_may_be_disposed_from_any_thread_at_any_event() -> None:
    def script(call: Any) -> Any:
        return "3" if call.results else ["hm ", tool_call("add", a=1, b=2)]

    def disposed_at(count: int) -> ReActAgent:
        agent = friday(script=[script])
        reached, free = threading.Event(), threading.Event()
        seen: list[ev.AgentEvent] = []

        def see(event: ev.AgentEvent) -> None:
            seen.append(event)
            if len(seen) == count:
                reached.set()
                free.wait(5)

        subscription = agent.call("hi").subscribe(see)
        assert reached.wait(5)
        subscription.dispose()
        free.set()
        assert agent.reply().run().text_content.endswith("3")
        assert len(seen) == count
        return agent

    length = len(check_call(friday(), "hi").events)
    for count in range(1, length):
        assert is_free(disposed_at(count))


def test_a_hook_that_tries_again_in_the_middle_of_a_result_leaves_one_result() -> None:
    runs: list[int] = []

    @tool
    async def count() -> Any:
        """Count."""
        runs.append(1)
        yield "one "
        yield "two"

    def stumbling(events: Events) -> Events:
        def stumble(event: ev.AgentEvent) -> ev.AgentEvent:
            return 1 / 0 if getattr(event, "delta", "") == "two" and len(runs) == 1 else event  # type: ignore[return-value]

        return events.pipe(ops.map(stumble), ops.retry(2))

    agent = friday(on_acting(stumbling), script=([tool_call("count")], "fin"), toolkit=[count])
    with pytest.warns(MiddlewareProtocolWarning, match="ToolResultStartEvent"):
        record = check_call(agent, "go")

    assert record.message is not None
    [result] = record.message.get_content_blocks(ToolResultBlock)
    assert (result.text_content, result.state) == ("one two", ToolResultState.SUCCESS)
