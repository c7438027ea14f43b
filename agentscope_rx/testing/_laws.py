"""The laws of a call, checked on a call: for tests of agents, tools and middlewares."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, final

import reactivex as rx
from attrs import field, frozen
from reactivex import Observable, operators as ops
from reactivex.disposable import SerialDisposable

from agentscope_rx.event import AgentEndEvent, AgentEvent, AgentResultEvent, AgentStartEvent, ReplyEvent
from agentscope_rx.message import AssistantMessage, ContentBlock, Msg, ToolResultBlock, ToolUseBlock
from agentscope_rx.operators import by_source, to_msg, to_msgs, well_formed

if TYPE_CHECKING:
    from agentscope_rx.agent import CallInput, ReActAgent, RuntimeContext
    from agentscope_rx.state import AgentState

__all__ = [
    "CallRecord",
    "acheck_call",
    "acheck_disposal",
    "check_call",
    "check_disposal",
    "check_subagents",
]

PATIENCE: Final = 30.0
"""Seconds after which a call that has not ended counts as hanging."""


@final
@frozen
class CallRecord:
    """What a call did.

    Attributes:
        events: what it streamed.
        error: what it failed with, or None.
        message: the fold of the events; None if the call was refused.
    """

    events: tuple[AgentEvent, ...] = field(repr=lambda events: f"<{len(events)} events>")
    error: Exception | None
    message: AssistantMessage | None

    @property
    def names(self) -> list[str]:
        """The classes of the events, without `Event`."""
        return [type(event).__name__.removesuffix("Event") for event in self.events]


def check_call(
    agent: ReActAgent,
    input: CallInput = None,
    ctx: RuntimeContext | None = None,
    output: Any = None,
    *,
    outer: bool = False,
) -> CallRecord:
    """Run a call to its end and check the laws on it; raise `AssertionError` where one is broken.

    1. Cold: making the call changes nothing.
    2. Well-formed: AgentStart first, AgentEnd last and once, each Start has its End; a refused call is empty.
    3. One reply: every event of the top level carries one reply id.
    4. Fold: the stream folds to what is stored and to what `AgentResultEvent` carries; with `outer` (an
       `on_agent` hook changes the stream) only to a message of that id.
    5. Released: no task stays behind, and the session is free.

    For a thread without an event loop; in asyncio `await acheck_call(…)`.
    """
    return asyncio.run(acheck_call(agent, input, ctx, output, outer=outer))


async def acheck_call(
    agent: ReActAgent,
    input: CallInput = None,
    ctx: RuntimeContext | None = None,
    output: Any = None,
    *,
    outer: bool = False,
) -> CallRecord:
    """Do as `check_call`, in asyncio."""
    before = agent.get_agent_state(ctx)
    tasks = asyncio.all_tasks()
    call = agent.call(input, ctx, output)
    assert agent.get_agent_state(ctx) is before, "L1: making a call must change nothing"

    events, error = await _record(call)
    assert asyncio.all_tasks() <= tasks, f"L5: tasks stay behind: {asyncio.all_tasks() - tasks}"
    if not events:
        assert error is not None, "L2: a call without events must be an error"
        assert agent.get_agent_state(ctx) == before, "a refused call must change nothing"
        return CallRecord((), error, None)

    _check_frame(events, error)
    after = agent.get_agent_state(ctx)
    message = await _fold(events, before)
    if not outer:
        _check_stored(events, message, after)
    return CallRecord(tuple(events), error, message)


def check_disposal(
    agent: ReActAgent,
    input: CallInput = None,
    ctx: RuntimeContext | None = None,
    output: Any = None,
    *,
    after: int,
) -> CallRecord:
    """Run a call, dispose it after `after` events, and check that all is released and stored.

    What was emitted is stored, no task stays behind, and the session is free. Where the agent has a store,
    tool calls may be further along than what was emitted: what ended while a write ran is kept.
    """
    return asyncio.run(acheck_disposal(agent, input, ctx, output, after=after))


async def acheck_disposal(
    agent: ReActAgent,
    input: CallInput = None,
    ctx: RuntimeContext | None = None,
    output: Any = None,
    *,
    after: int,
) -> CallRecord:
    """Do as `check_disposal`, in asyncio."""
    before = agent.get_agent_state(ctx)
    tasks = asyncio.all_tasks()
    events, error = await _record(agent.call(input, ctx, output), after)
    await _quiet(tasks)
    message = await _fold(events, before) if events else None
    if message is not None and agent.state_store is None:
        _check_stored(events, message, agent.get_agent_state(ctx))
    elif message is not None:
        _check_kept(message, agent.get_agent_state(ctx))
    return CallRecord(tuple(events), error, message)


def check_subagents(
    agent: ReActAgent, events: Iterable[AgentEvent], ctx: RuntimeContext | None = None
) -> dict[str, list[AssistantMessage]]:
    """Check what subagents have streamed in calls of an agent; return their messages by `source`.

    What a subagent streams folds, reply by reply, to what it has stored in its own session, all calls of the
    agent taken together: give the events of all of them.
    """
    given = list(events)
    found: dict[str, list[AssistantMessage]] = {}
    for path in dict.fromkeys(event.source for event in given if event.source):
        own = rx.from_iterable(given).pipe(by_source(path), ops.to_list()).run()
        starts = {event.reply_id: event for event in own if isinstance(event, AgentStartEvent)}
        folded = rx.from_iterable(own).pipe(to_msgs(), ops.to_list()).run()
        messages = {message.id: message for message in folded}
        subagent = agent
        for name in path.split("/")[1:]:
            subagent = subagent.subagent(name)
        for message in messages.values():
            state = subagent.get_agent_state(_in_session(ctx, starts[message.id].session_id))
            stored = next((msg for msg in state.context if msg.id == message.id), None)
            assert message == stored, f"L4: {path} streamed {message!r}\nbut stored {stored!r}"
        found[path] = list(messages.values())
    return found


def _in_session(ctx: RuntimeContext | None, session_id: str | None) -> RuntimeContext:
    from agentscope_rx.context import RuntimeContext

    return RuntimeContext(session_id, None if ctx is None else ctx.user_id)


async def _record(
    call: Observable[AgentEvent], count: int | None = None
) -> tuple[list[AgentEvent], Exception | None]:
    """Collect a call's events and its error; with `count`, dispose it after so many."""
    events: list[AgentEvent] = []
    ended: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    def end(error: Exception | None) -> None:
        if not ended.done():
            ended.set_result(error)

    def take(event: AgentEvent) -> None:
        events.append(event)
        if len(events) == count:
            subscription.dispose()
            end(None)

    subscription = SerialDisposable()
    subscription.disposable = call.subscribe(take, end, lambda: end(None))
    if count == 0:
        end(None)
    try:
        return events, await asyncio.wait_for(ended, PATIENCE)
    except TimeoutError:
        raise AssertionError(f"the call hangs after {len(events)} events: {events[-3:]}") from None
    finally:
        subscription.dispose()


async def _quiet(tasks: set[asyncio.Task[object]]) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while left := asyncio.all_tasks() - tasks:
        assert asyncio.get_running_loop().time() < deadline, f"L5: tasks stay behind: {left}"
        await asyncio.sleep(0.001)


def _check_frame(events: list[AgentEvent], error: Exception | None) -> None:
    own = [event for event in events if not event.source]
    assert isinstance(events[0], AgentStartEvent), f"L2: the first event is {events[0]!r}"
    assert isinstance(events[-1], AgentEndEvent), f"L2: the last event is {events[-1]!r}"
    assert [events[-1]] == [event for event in own if isinstance(event, AgentEndEvent)], "L2: two AgentEnds"
    assert (events[-1].error is None) == (error is None), f"L2: {events[-1]!r}, and the stream: {error!r}"
    violations: list[Exception] = []
    rx.from_iterable(events).pipe(well_formed()).subscribe(on_error=violations.append)
    assert violations == [], f"L2: {violations[0]}"
    ids = {event.reply_id for event in own if isinstance(event, ReplyEvent)}
    assert ids == {events[0].reply_id}, f"L3: more than one reply id: {ids}"


async def _fold(events: list[AgentEvent], before: AgentState) -> AssistantMessage:
    assert isinstance(events[0], AgentStartEvent)
    resumed = before.checkpoint if before.reply_id == events[0].reply_id else None
    return await rx.from_iterable(events).pipe(to_msg(seed=resumed))


def _stored(message: AssistantMessage, state: AgentState) -> Msg | None:
    return next((msg for msg in reversed(state.context) if msg.id == message.id), None)


def _check_kept(message: AssistantMessage, after: AgentState) -> None:
    stored = _stored(message, after)
    kept = () if stored is None else stored.content
    for index, block in enumerate(message.content):
        found = kept[index] if index < len(kept) else None
        kept_on = found == block or (_call_id(block) is not None and _call_id(block) == _call_id(found))
        assert kept_on, f"L4: streamed {block!r}, but stored {found!r}"


def _call_id(block: ContentBlock | None) -> tuple[str, str] | None:
    return (block.type, block.id) if isinstance(block, ToolUseBlock | ToolResultBlock) else None


def _check_stored(events: list[AgentEvent], message: AssistantMessage, after: AgentState) -> None:
    stored = _stored(message, after)
    assert message == stored, f"L4: streamed {message!r}\nbut stored {stored!r}"
    ended = any(isinstance(event, AgentEndEvent) and not event.source for event in events)
    for event in events if ended else ():  # a structured output comes with the end
        if isinstance(event, AgentResultEvent) and not event.source:
            assert message == event.result, f"L4: streamed {message!r}\nbut the result is {event.result!r}"
