"""One agent, many sessions at once: each holds its own, in order, and none can lock another or itself."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import pytest
import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx import event as ev
from agentscope_rx.agent import ConfirmResults, ReActAgent, RuntimeContext
from agentscope_rx.errors import ModelConnectionError, StateLoadError, StateSaveError
from agentscope_rx.event import ConfirmResult
from agentscope_rx.message import (
    AssistantMessage,
    ChatUsage,
    GenerateReason,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from agentscope_rx.middleware import (
    MiddlewareBase,
    on_acting,
    on_agent,
    on_model_call,
    on_reasoning,
)
from agentscope_rx.permission import PermissionBehavior, PermissionDecision
from agentscope_rx.state import SessionState
from agentscope_rx.store import InMemoryAgentStateStore
from agentscope_rx.testing import ScriptedModel, pause, thinking, tool_call
from agentscope_rx.tool import ToolEmitter, tool
from tests.agent.friend import friend, is_free
from tests.agent.stores import Watched

RANDOM: Final = Random(20260101)
HOOKS: Final = (on_agent, on_reasoning, on_acting, on_model_call)


def ask(input: Any, context: Any) -> PermissionDecision:
    return PermissionDecision(PermissionBehavior.ASK, "may I?")


@tool
async def tell(word: str, ctx: RuntimeContext, session: SessionState) -> str:
    """Tell whose call this is."""
    await asyncio.sleep(RANDOM.random() * 0.002)
    return f"{word} {ctx.session_id} {session.value.session_id}"


@tool
async def count(word: str, out: ToolEmitter) -> None:
    """Say the word, bit by bit."""
    for part in (word[:3], word[3:]):
        out.emit(part)
        await asyncio.sleep(RANDOM.random() * 0.001)


@tool(check_permission=ask)
def guarded(word: str) -> str:
    """Say the word, if the human lets it."""
    return word


@pytest.fixture
def rare_collections() -> Iterator[None]:
    """Two thirds of the time would be spent looking through all that a thousand calls hold."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, *before[1:])
    yield
    gc.set_threshold(*before)


def has_tools(number: int) -> bool:
    return number % 5 in (1, 3)


def answer(asked: Any) -> Any:
    """Say the word that was asked for, in every way that there is, one round or two."""
    word = asked.text
    number = int(word.split("-")[1])
    silence = pause(RANDOM.random() * 0.002)
    usage = ChatUsage(number, 1)
    if not asked.results:
        calls = [
            tool_call("tell", word=word),
            *([tool_call("count", word=word)] if number % 3 == 0 else []),
            *([tool_call("guarded", word=word)] if number % 4 == 1 else []),
        ]
        return [thinking(word), silence, f"{word} ", *(calls if has_tools(number) else ()), usage]
    return [silence, f"{word} ", usage]


def words(message: AssistantMessage) -> set[str]:
    """All that the message says, wherever."""
    said: list[str] = []
    for block in message.content:
        match block:
            case TextBlock(text=text):
                said += text.split()
            case ThinkingBlock(thinking=text):
                said += text.split()
            case ToolUseBlock():
                said += [block.input["word"], block.content or ""]
            case ToolResultBlock():
                said += block.text_content.split()
            case _:
                raise AssertionError(block)
    return set(said)


class Conversation:
    """The calls of one session, each begun when the one before has ended."""

    def __init__(self, agent: ReActAgent, number: int) -> None:
        self.agent = agent
        self.ctx = RuntimeContext(f"session{number}", f"user{number % 7}")
        self.events: list[ev.AgentEvent] = []

    async def call(self, input: Any) -> list[ev.AgentEvent]:
        events: list[ev.AgentEvent] = await self.agent.call(input, self.ctx).pipe(ops.to_list())
        self.events += events
        return events

    async def hold(self, calls: int) -> None:
        for number in range(calls):
            word = f"{self.ctx.session_id}-{number}"
            events = await self.call(word)
            asked = [event for event in events if isinstance(event, ev.RequireUserConfirmEvent)]
            if asked:
                events += await self.call(
                    ConfirmResults([ConfirmResult(True, c) for c in asked[0].tool_calls])
                )
            self.check(word, events)

    def check(self, word: str, events: list[ev.AgentEvent]) -> None:
        message = self.agent.get_agent_state(self.ctx).context[-1]
        assert isinstance(message, AssistantMessage)
        number = int(word.split("-")[1])
        own = {word, f'{{"word":"{word}"}}', self.ctx.session_id}
        assert words(message) <= own
        assert message.generate_reason is GenerateReason.MODEL_STOP
        rounds = 2 if has_tools(number) else 1
        assert message.usage == ChatUsage(number * rounds, rounds)
        assert {e.reply_id for e in events if isinstance(e, ev.ReplyEvent)} == {message.id}
        sessions = {e.session_id for e in events if isinstance(e, ev.AgentStartEvent)}
        assert sessions == {self.ctx.session_id}
        results = [result.id for result in message.get_content_blocks(ToolResultBlock)]
        assert results == [call.id for call in message.get_content_blocks(ToolUseBlock)]
        assert len(results) == (1 + (number % 3 == 0) + (number % 4 == 1)) * (rounds - 1)


@pytest.mark.asyncio
@pytest.mark.usefixtures("rare_collections")
@pytest.mark.parametrize(("sessions", "calls", "more"), [(100, 20, False), (20, 6, True)])
async def test_a_hundred_sessions_of_twenty_calls_hold_only_their_own(
    sessions: int, calls: int, more: bool
) -> None:
    store = Watched()
    store.delay = lambda: RANDOM.random() * 0.002
    agent = ReActAgent(
        "friend",
        model=ScriptedModel(answer),
        toolkit=[tell, count, guarded],
        middlewares=[hook(ops.map(lambda e: e)) for hook in HOOKS] if more else [],
        state_store=store if more else None,
    )
    tasks = asyncio.all_tasks()
    conversations = [Conversation(agent, number) for number in range(sessions)]
    await asyncio.gather(*(each.hold(calls) for each in conversations))

    ids = [event.id for each in conversations for event in each.events]
    assert len(ids) == len(set(ids))
    replies = Counter(e.reply_id for c in conversations for e in c.events if isinstance(e, ev.AgentEndEvent))
    assert len(replies) == sessions * calls
    for each in conversations:
        context = agent.get_agent_state(each.ctx).context
        assert [msg.text_content.strip() for msg in context[::2]] == [
            f"{each.ctx.session_id}-{number}" for number in range(calls)
        ]
        assert is_free(agent, each.ctx)
    assert asyncio.all_tasks() == tasks


@pytest.mark.asyncio
@pytest.mark.usefixtures("rare_collections")
async def test_a_thousand_calls_at_once_on_one_loop() -> None:
    agent = friend(lambda asked: [pause(0.01), f"answer to {asked.text}"])
    running = 0
    most = 0

    def see(event: ev.AgentEvent) -> None:
        nonlocal running, most
        if isinstance(event, ev.AgentStartEvent):
            running += 1
            most = max(most, running)
        elif isinstance(event, ev.AgentEndEvent):
            running -= 1

    async def one(number: int) -> str:
        ctx = RuntimeContext(f"s{number}")
        await agent.call(str(number), ctx).pipe(ops.do_action(see))
        return agent.get_agent_state(ctx).context[-1].text_content

    tasks = asyncio.all_tasks()
    texts = await asyncio.gather(*(one(number) for number in range(1000)))
    assert texts == [f"answer to {number}" for number in range(1000)]
    assert most > 500
    assert asyncio.all_tasks() == tasks


@pytest.mark.asyncio
async def test_hundreds_of_calls_of_one_session_run_in_their_order() -> None:
    agent = friend(lambda asked: asked.text)
    order: list[str] = []

    async def one(number: int) -> None:
        message = await agent.reply(str(number))
        order.append(message.text_content)

    await asyncio.gather(*(one(number) for number in range(300)))
    assert order == [str(number) for number in range(300)]
    assert is_free(agent)


# Failures.


class Boom(Exception):  # noqa: N818
    """What is raised on purpose."""


def raising(_: Any) -> Any:
    raise Boom


def fails(hook: Any) -> MiddlewareBase:
    return hook(ops.do_action(raising))


class Prompting(MiddlewareBase):
    def on_system_prompt(self, agent: Any, ctx: Any, prompt: str) -> str:
        raise Boom


class Refusing(MiddlewareBase):
    def on_agent(self, agent: Any, ctx: Any, input: Any, next: Any) -> Observable[ev.AgentEvent]:
        raise Boom


class Broken(MiddlewareBase):
    def on_agent(self, agent: Any, ctx: Any, input: Any, next: Any) -> Observable[ev.AgentEvent]:
        return rx.concat(next(input), rx.throw(Boom()))


def made(*middlewares: MiddlewareBase, script: Any = None, store: Any = None) -> ReActAgent:
    script = script or [["Let me ", tool_call("add", a=1, b=2)], "3"]
    return friend(*script, middlewares=middlewares, state_store=store, max_retries=0)


def failing_store(**what: Any) -> Watched:
    store = Watched()
    for name, value in what.items():
        setattr(store, name, value)
    return store


def raising_tool() -> ReActAgent:
    @tool
    async def broken() -> str:
        """Break."""
        raise MemoryError

    return friend(tool_call("broken"), "later", toolkit=[broken])


FAILURES: Final[dict[str, Callable[[], ReActAgent]]] = {
    "on_agent": lambda: made(fails(on_agent)),
    "on_agent, at once": lambda: made(Refusing()),
    "on_agent, at last": lambda: made(Broken()),
    "on_reasoning": lambda: made(fails(on_reasoning)),
    "on_acting": lambda: made(fails(on_acting)),
    "on_model_call": lambda: made(fails(on_model_call)),
    "on_system_prompt": lambda: made(Prompting()),
    "the model, at once": lambda: made(script=[ModelConnectionError("no")] * 9),
    "the model, half-way": lambda: made(script=[["half ", ModelConnectionError("no")]]),
    "a tool": raising_tool,
    "a load": lambda: made(store=failing_store(fail_load=StateLoadError("gone"))),
    "the first save": lambda: made(store=failing_store(fail_save=lambda n: StateSaveError("full"))),
    "the last save": lambda: made(
        store=failing_store(fail_save=lambda n: StateSaveError("full") if n > 2 else None)
    ),
    "ordinary input while calls are open": lambda: made(script=[tool_call("lookup", what="x")]),
    "answers that nobody has asked for": lambda: made(),
}


@pytest.mark.asyncio
@pytest.mark.filterwarnings("ignore::agentscope_rx.errors.MiddlewareProtocolWarning")
@pytest.mark.parametrize("name", FAILURES)
async def test_a_failure_anywhere_frees_the_session_for_those_that_wait(name: str) -> None:
    agent = FAILURES[name]()
    input = ConfirmResults([]) if "answers" in name else "go"
    tasks = asyncio.all_tasks()
    calls = [agent.call(input).pipe(ops.to_list()) for _ in range(5)]
    outcomes = await asyncio.gather(
        *[asyncio.ensure_future(awaited(call)) for call in calls], return_exceptions=True
    )

    assert any(isinstance(outcome, Exception) for outcome in outcomes)
    assert is_free(agent)
    assert asyncio.all_tasks() == tasks


async def awaited(stream: Observable[Any]) -> Any:
    return await stream


@pytest.mark.asyncio
@pytest.mark.parametrize("at", ["on_next", "on_error", "on_completed"])
async def test_a_subscriber_that_raises_frees_the_session_and_disturbs_no_other(at: str) -> None:
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
    script = [lambda asked: ModelConnectionError("no") if asked.text == "fail" else asked.text]
    agent = friend(*script, max_retries=0)
    others = [asyncio.ensure_future(awaited(agent.reply(str(n), RuntimeContext(f"s{n}")))) for n in range(5)]
    boom = Boom()

    def bad(_: object = None) -> None:
        raise boom

    match at:
        case "on_next":
            agent.call("hi").subscribe(bad)
        case "on_error":
            agent.call("fail").subscribe(lambda _: None, bad)
        case _:
            agent.call("hi").subscribe(lambda _: None, on_completed=bad)
    after = await agent.reply("after")

    assert after.text_content == "after"
    assert [message.text_content for message in await asyncio.gather(*others)] == [*"01234"]
    assert reported == [boom]
    assert is_free(agent)


# What an agent over a store remembers.


@pytest.mark.asyncio
async def test_the_memory_of_an_agent_over_a_store_does_not_grow_with_its_sessions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agentscope_rx.agent._agent.REMEMBERED", 10)
    agent = friend(lambda asked: asked.text, state_store=InMemoryAgentStateStore())
    for number in range(200):
        await agent.reply(str(number), RuntimeContext(f"s{number}"))
    gc.collect()

    assert len(agent._sessions._held) <= 10
    message = await agent.reply("again", RuntimeContext("s0"))
    assert message.text_content == "again"
    texts = [msg.text_content for msg in agent.get_agent_state(RuntimeContext("s0")).context]
    assert texts == ["0", "0", "again", "again"]


@pytest.mark.asyncio
async def test_a_session_that_somebody_is_in_or_waits_for_is_never_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agentscope_rx.agent._agent.REMEMBERED", 1)
    agent = friend(lambda asked: [pause(0.01), asked.text], state_store=InMemoryAgentStateStore())
    first = asyncio.ensure_future(awaited(agent.reply("a")))
    await asyncio.sleep(0.001)
    for number in range(20):
        agent.get_agent_state(RuntimeContext(f"s{number}"))
    gc.collect()
    second = asyncio.ensure_future(awaited(agent.reply("b")))
    await asyncio.gather(first, second)

    assert [msg.text_content for msg in agent.get_agent_state().context] == [*"aabb"]


def test_no_session_has_two_gates_however_many_threads_ask_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentscope_rx.agent._agent.REMEMBERED", 1)
    inside: Counter[str] = Counter()
    crowds: list[str] = []

    @tool
    async def enter(ctx: RuntimeContext) -> str:
        """Be the only one in the session."""
        inside[ctx.session_id or ""] += 1
        await asyncio.sleep(0.0005)
        if inside[ctx.session_id or ""] > 1:
            crowds.append(ctx.session_id or "")
        inside[ctx.session_id or ""] -= 1
        return "alone"

    agent = friend(
        lambda asked: "done" if asked.results else tool_call("enter"),
        toolkit=[enter],
        state_store=InMemoryAgentStateStore(),
    )
    contexts = [RuntimeContext(f"s{number}") for number in range(3)]
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        async def main() -> None:
            random = Random(seed)
            for _ in range(8):
                await agent.reply("go", random.choice(contexts))
                gc.collect(0)

        try:
            asyncio.run(main())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert (failures, crowds) == ([], [])
    assert sum(len(agent.get_agent_state(ctx).context) for ctx in contexts) <= 6 * 8 * 2
    for ctx in contexts:
        agent.update_state(lambda state: state, ctx).run()
    states = [agent.update_state(lambda state: state, ctx).run() for ctx in contexts]
    assert sum(len(state.context) for state in states) == 6 * 8 * 2


@pytest.mark.asyncio
async def test_names_that_a_store_cannot_tell_apart_are_one_session() -> None:
    halves, whole = RuntimeContext("\ud83d\ude00"), RuntimeContext("\U0001f600")
    agent = friend(lambda asked: [pause(0.002), asked.text], state_store=InMemoryAgentStateStore())
    messages = await asyncio.gather(
        *[asyncio.ensure_future(awaited(agent.reply("x", c))) for c in (halves, whole)]
    )

    assert [message.text_content for message in messages] == ["x", "x"]
    assert len(agent.get_agent_state(whole).context) == 4
