"""The laws of a call, with every operator that may do harm in every hook, alone and in random stacks."""

import asyncio
import random
from collections.abc import Callable
from typing import Any, Final

import pytest
import reactivex as rx
from attrs import evolve
from reactivex import Observable, operators as ops

from agentscope_rx import event as ev, operators as agent_ops
from agentscope_rx.agent import ReActAgent, RuntimeContext
from agentscope_rx.errors import RateLimitedError
from agentscope_rx.interop import from_async_iterable, to_async_iterable
from agentscope_rx.message import Base64Source, ChatUsage, DataBlock, ToolCallState, ToolUseBlock
from agentscope_rx.middleware import MiddlewareBase, on_acting, on_agent, on_model_call, on_reasoning
from agentscope_rx.testing import (
    ScriptedModel,
    acheck_call,
    acheck_disposal,
    check_call,
    check_disposal,
    pause,
    thinking,
    tool_call,
)
from agentscope_rx.tool import ToolEmitter, tool

pytestmark = pytest.mark.filterwarnings("ignore::agentscope_rx.errors.MiddlewareProtocolWarning")

Events = Observable[ev.AgentEvent]
Function = Callable[[Events], Any]

HOOKS: Final = {f.__name__: f for f in (on_agent, on_reasoning, on_acting, on_model_call)}


def failing_at(count: int) -> Function:
    def operator(source: Events) -> Events:
        return source.pipe(ops.map_indexed(lambda event, index: event if index < count else 1 / 0))  # type: ignore[arg-type, return-value]

    return operator


def failing_once_at(count: int) -> Function:
    seen: list[int] = []

    def count_up(event: ev.AgentEvent) -> ev.AgentEvent:
        seen.append(1)
        return 1 / 0 if len(seen) == count else event  # type: ignore[return-value]

    return ops.map(count_up)


def letting_escape_at(count: int, error: BaseException) -> Function:
    def operator(source: Events) -> Events:
        def subscribe(observer: Any, scheduler: Any = None) -> Any:
            left = [count]

            def on_next(event: ev.AgentEvent) -> None:
                left[0] -= 1
                if left[0] == 0:
                    raise error
                observer.on_next(event)

            return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

        return Observable(subscribe)

    return operator


def renamed(event: ev.AgentEvent) -> ev.AgentEvent:
    return evolve(event, block_id="other") if isinstance(event, ev.BlockEvent) else event


def of_another_reply(event: ev.AgentEvent) -> ev.AgentEvent:
    return evolve(event, reply_id="other") if isinstance(event, ev.ReplyEvent) else event


def backwards(source: Events) -> Events:
    return source.pipe(ops.to_list(), ops.flat_map(lambda events: rx.from_iterable(events[::-1])))


def read_in_asyncio(source: Events) -> Events:
    async def read() -> Any:
        async with to_async_iterable(source) as events:
            async for event in events:
                yield event

    return from_async_iterable(read)


def without(*classes: type[ev.AgentEvent]) -> Function:
    return ops.filter(lambda event: not isinstance(event, classes))


OPERATORS: Final[dict[str, Function]] = {
    "retry": lambda s: s.pipe(failing_once_at(4), ops.retry(3)),
    "fail": failing_at(3),
    "catch": lambda s: s.pipe(failing_at(3), ops.catch(rx.empty())),
    "catch with itself": lambda s: s.pipe(failing_at(4), ops.catch(s)),
    "timeout": ops.timeout(0.002),
    "timeout with another": ops.timeout(0.002, rx.empty()),
    "timeout with itself": lambda s: s.pipe(ops.timeout(0.002, s)),
    "take": ops.take(3),
    "take one": ops.take(1),
    "skip": ops.skip(2),
    "take the last": ops.take_last(3),
    "take while, with it": ops.take_while(
        lambda e: not isinstance(e, (ev.TextBlockDeltaEvent, ev.ToolResultTextDeltaEvent)), inclusive=True
    ),
    "no Starts": without(ev.TextBlockStartEvent, ev.ToolCallStartEvent, ev.ToolResultStartEvent),
    "no Ends": without(ev.TextBlockEndEvent, ev.ToolCallEndEvent, ev.ToolResultEndEvent),
    "no model calls": without(ev.ModelCallStartEvent, ev.ModelCallEndEvent),
    "no frame": without(ev.AgentStartEvent, ev.AgentEndEvent, ev.AgentResultEvent),
    "no deltas": without(ev.TextBlockDeltaEvent, ev.ToolCallDeltaEvent, ev.ToolResultTextDeltaEvent),
    "nothing": ops.ignore_elements(),
    "empty": lambda _: rx.empty(),
    "throw": lambda _: rx.throw(KeyError("mine")),
    "other block": ops.map(renamed),
    "other reply": ops.map(of_another_reply),
    "no event": ops.map(lambda _: None),
    "buffer": ops.buffer_with_count(2),
    "buffer and flatten": lambda s: s.pipe(ops.buffer_with_count(3), ops.flat_map(rx.from_iterable)),
    "debounce": ops.debounce(0.0005),
    "delay": ops.delay(0.001),
    "sample": ops.sample(0.001),
    "switch": lambda s: s.pipe(
        ops.map(lambda e: rx.of(e).pipe(ops.delay(0.0003))),
        ops.switch_latest(),
    ),
    "backwards": backwards,
    "twice": ops.flat_map(lambda event: rx.of(event, event)),
    "orphan first": ops.start_with(ev.TextBlockDeltaEvent("", "q", "x")),
    "foreign first": ops.start_with(ev.CustomEvent("c", {}), ev.UnknownEvent({"type": "NEW"})),
    "merge with itself": lambda s: s.pipe(ops.merge(s)),
    "concat with itself": lambda s: s.pipe(ops.concat(s)),
    "repeat": ops.repeat(2),
    "share": ops.share(),
    "publish": ops.publish(lambda shared: shared.pipe(ops.merge(shared))),
    "distinct": ops.distinct_until_changed(),
    "coalesce": agent_ops.coalesce(),
    "retry before the first": agent_ops.retry_before_first_event(2),
    "stop": lambda s: s.pipe(ops.concat(rx.of(ev.RequestStopEvent("enough")))),
    "asyncio": read_in_asyncio,
    "escape": letting_escape_at(3, ValueError("mine")),
    "escape, cancelled": letting_escape_at(3, asyncio.CancelledError()),
    "escape on a timer": lambda s: s.pipe(ops.delay(0.0005), letting_escape_at(3, ValueError("mine"))),
}


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@tool
async def wait(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return f"waited {seconds}"


@tool
async def count(to: int) -> Any:
    """Count."""
    for number in range(to):
        yield f"{number} "
        await asyncio.sleep(0)


@tool(concurrency_safe=False)
def alone() -> str:
    """Run alone, and fail."""
    raise RuntimeError("kaputt")


@tool
async def stop(out: ToolEmitter) -> str:
    """Stop the call."""
    out.request_stop("enough")
    return "stopped"


TOOLS: Final = [add, wait, count, alone, stop]

ANSWER: Final = [
    thinking("let me see"),
    "Here we go ",
    tool_call("add", a=1, b=2),
    tool_call("wait", seconds=0.001),
    tool_call("count", to=2),
    tool_call("alone"),
]


def friday(*middlewares: MiddlewareBase, script: Any = (ANSWER, "fin"), **options: Any) -> ReActAgent:
    return ReActAgent(
        "Friday",
        model=ScriptedModel(*script, *["later"] * 30),
        toolkit=TOOLS,
        middlewares=middlewares,
        max_iters=3,
        **options,
    )


def assert_clean(agent: ReActAgent) -> None:
    state = agent.get_agent_state()
    assert agent._sessions.get(RuntimeContext("Friday")).gate.is_idle
    if state.context and state.checkpoint is None:
        calls = state.context[-1].get_content_blocks(ToolUseBlock)
        assert all(call.state is ToolCallState.FINISHED for call in calls)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("hook", HOOKS)
def test_an_operator_in_a_hook_leaves_the_laws_whole(hook: str, name: str) -> None:
    agent = friday(HOOKS[hook](OPERATORS[name]))
    check_call(agent, "hi", outer=hook == "on_agent")
    check_call(agent, outer=hook == "on_agent")
    check_call(agent, "more", outer=hook == "on_agent")

    assert_clean(agent)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("hook", ["on_reasoning", "on_acting", "on_model_call"])
def test_a_call_through_an_operator_may_be_disposed_and_gone_on_with(hook: str, name: str) -> None:
    for events in (1, 7, 14, 20):
        agent = friday(HOOKS[hook](OPERATORS[name]))
        check_disposal(agent, "hi", after=events)
        check_call(agent)

        assert_clean(agent)


def pieces(random: random.Random) -> list[Any]:
    choices: list[Callable[[], Any]] = [
        lambda: "some words",
        lambda: thinking("let me see"),
        lambda: tool_call("add", a=1, b=random.randrange(10)),
        lambda: tool_call("add", {"a": 1}, "same", b=2),
        lambda: tool_call("add", '{"a":'),
        lambda: tool_call("wait", seconds=0.001),
        lambda: tool_call("count", to=2),
        lambda: tool_call("alone"),
        lambda: tool_call("nope"),
        lambda: tool_call("stop"),
        lambda: pause(0.001),
        lambda: ChatUsage(1, 2),
        lambda: DataBlock(Base64Source("image/png", "AAAA")),
        lambda: RateLimitedError("slow down", retry_after=0.001),
    ]
    return [random.choice(choices)() for _ in range(random.randrange(5))]


def random_agent(seed: int) -> tuple[ReActAgent, bool]:
    """An agent with a random stack and script; whether a hook changes what is seen outside."""
    r = random.Random(seed)
    stack = [(r.choice(list(HOOKS)), r.choice(list(OPERATORS))) for _ in range(r.randrange(4))]
    agent = friday(
        *[HOOKS[hook](OPERATORS[name]) for hook, name in stack],
        script=[pieces(r) for _ in range(1 + r.randrange(4))],
        max_concurrent_tools=r.choice([None, 1, 2]),
        max_retries=r.choice([0, 2]),
    )
    return agent, any(hook == "on_agent" for hook, _ in stack)


@pytest.mark.parametrize("seed", range(120))
def test_random_conversations_through_random_stacks_keep_the_laws(seed: int) -> None:
    async def main() -> None:
        agent, outer = random_agent(seed)
        r = random.Random(-seed)
        for message in ("hi", r.choice(["more", None]), None):
            if outer or r.random() < 0.6:
                await acheck_call(agent, message, outer=outer)
            else:
                await acheck_disposal(agent, message, after=r.randrange(25))
        assert_clean(agent)

    asyncio.run(main())
