"""Agents that ask, and conversations with them: in one process, or each call in another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import pytest
import reactivex as rx
from attrs import evolve
from reactivex import operators as ops
from reactivex.disposable import SerialDisposable

from agentscope_rx import event as ev, operators as agent_ops, wire
from agentscope_rx.agent import CallInput, ConfirmResults, ExternalResults, ReActAgent, RuntimeContext
from agentscope_rx.errors import ToolSuspendError
from agentscope_rx.message import (
    AssistantMessage,
    GenerateReason,
    ToolCallState,
    ToolResultBlock,
    ToolUseBlock,
)
from agentscope_rx.operators import to_msg, to_msgs
from agentscope_rx.permission import PermissionBehavior, PermissionRule
from agentscope_rx.state import AgentState
from agentscope_rx.testing import CallRecord, ScriptedModel, acheck_call
from agentscope_rx.tool import tool
from tests.store.backends import Backend, make

T = TypeVar("T", bound=ev.AgentEvent)

HOMES: Final = ("one agent", "JSON", "memory", "json_file", "sqlite", "redis")
"""Where a session lives between two calls; only in the first it is the same agent's."""

CTX: Final = RuntimeContext("monday", "ann")


class Desk:
    """Tools that note what they did."""

    def __init__(self) -> None:
        self.did: list[str] = []

    @tool(path_arguments=["path"])
    def write(self, path: str, text: str = "") -> str:
        """Write a file."""
        self.did.append(f"write {path}{text and ' ' + text}")
        return f"wrote {path}"

    @tool(read_only=True)
    def read(self, path: str) -> str:
        """Read a file."""
        self.did.append(f"read {path}")
        return f"text of {path}"

    @tool(rule_arguments=["command"])
    def shell(self, command: str) -> str:
        """Run a command."""
        self.did.append(f"shell {command}")
        return f"ran {command}"

    @tool(external=True)
    def pay(self, amount: int) -> str:
        """Pay a bill, elsewhere."""
        raise AssertionError("it does not run here")

    @tool
    async def phone(self, number: str) -> str:
        """Phone somebody, who calls back."""
        self.did.append(f"phone {number}")
        raise ToolSuspendError(f"{number} calls back")


class Home:
    """Where a session lives between two calls."""

    def __init__(self, kind: str, backend: Backend | None) -> None:
        self.kind = kind
        self.backend = backend

    def moved_in(self, make_agent: Callable[..., ReActAgent], before: ReActAgent | None) -> ReActAgent:
        """Return the agent for the next call: a new one, as in another process, but for the first home."""
        if self.kind == "one agent":
            return before or make_agent()
        if self.backend is not None:
            return make_agent(state_store=self.backend.open())
        agent = make_agent()
        if before is not None:
            written = wire.dumps(before.get_agent_state(CTX))
            agent.update_state(lambda _: wire.loads(AgentState, written), CTX).run()
        return agent


def homes(kind: str, request: pytest.FixtureRequest) -> Iterator[Home]:
    """Make a home for one test, and tidy up behind it."""
    if kind in ("one agent", "JSON"):
        yield Home(kind, None)
    else:
        for backend in make(kind, request):
            yield Home(kind, backend)


class Conversation:
    """Calls of one session, each held to the laws of a call, and together to those of a reply that pauses.

    Args:
        script: what the model says, call by call.
        desk: whose tools there are.
        home: where the session lives between two calls.
        options: of the agent; `toolkit` in the place of the desk's tools.
    """

    def __init__(
        self, *script: Any, desk: Desk | None = None, home: Home | None = None, **options: Any
    ) -> None:
        self.desk = desk or Desk()
        self.model = ScriptedModel(*script)
        self.records: list[CallRecord] = []
        self._joins = True
        self._home = home or Home("one agent", None)
        self._options: dict[str, Any] = {"permission": "default", "toolkit": [self.desk], **options}
        self._agent: ReActAgent | None = None

    @property
    def agent(self) -> ReActAgent:
        """The agent of the newest call, or of the next one."""
        self._agent = self._agent or self._move()
        return self._agent

    @property
    def state(self) -> AgentState:
        """What the agent remembers of the session."""
        return self.agent.get_agent_state(CTX)

    def call(self, input: CallInput = None, **options: Any) -> CallRecord:
        """Make a call, and check the laws; `options` change the agent's from here on."""
        return asyncio.run(self._checked(self._moved(options), input))

    def left(self, input: CallInput = None, *, after: int | type[ev.AgentEvent]) -> CallRecord:
        """Make a call and dispose it after so many events, or the first of that class."""
        return asyncio.run(self._left(self._moved({}), input, after))

    def reply(self, input: CallInput = None) -> AssistantMessage:
        """Make a call for its message alone."""
        return self._moved({}).reply(input, CTX).run()

    def _move(self) -> ReActAgent:
        def make_agent(**more: Any) -> ReActAgent:
            return ReActAgent("Friday", model=self.model, **self._options, **more)

        return self._home.moved_in(make_agent, self._agent)

    def _moved(self, options: dict[str, Any]) -> ReActAgent:
        if options:
            self._options |= options
            assert self._home.kind != "one agent" or self._agent is None, "one agent cannot change"
        self._agent = self._move()
        return self._agent

    async def _checked(self, agent: ReActAgent, input: CallInput) -> CallRecord:
        before = await agent.update_state(lambda state: state, CTX)  # so that the checks know what is stored
        record = await acheck_call(agent, input, CTX)
        await self._join(record, before, agent.get_agent_state(CTX))
        return record

    async def _left(
        self, agent: ReActAgent, input: CallInput, after: int | type[ev.AgentEvent]
    ) -> CallRecord:
        before = await agent.update_state(lambda state: state, CTX)
        tasks = asyncio.all_tasks()
        events: list[ev.AgentEvent] = []
        left = asyncio.Event()

        def take(event: ev.AgentEvent) -> None:
            events.append(event)
            if len(events) == after or type(event) is after:
                subscription.dispose()
                left.set()

        subscription = SerialDisposable()
        subscription.disposable = agent.call(input, CTX).subscribe(take, on_completed=left.set)
        await asyncio.wait_for(left.wait(), 10)
        while asyncio.all_tasks() - tasks:
            await asyncio.sleep(0.001)
        # What waited for a write is stored, and was not streamed.
        self._joins = self._joins and self._home.backend is None
        seed = before.checkpoint if reply_id(events) == before.reply_id else None
        message = await rx.from_iterable(events).pipe(to_msg(seed=seed))
        record = CallRecord(tuple(events), None, message)
        await self._join(record, before, agent.get_agent_state(CTX))
        return record

    async def _join(self, record: CallRecord, before: AgentState, after: AgentState) -> None:
        """Check that the streams of one reply, one after the other, fold to what is stored."""
        self.records.append(record)
        if not record.events or not self._joins:
            return
        stored = next(msg for msg in after.context if msg.id == reply_id(record.events))
        same = [one for one in self.records if one.events and reply_id(one.events) == stored.id]
        joined = rx.from_iterable([event for one in same for event in one.events])
        assert await joined.pipe(to_msg()) == stored, "L4: the joined streams"
        assert await joined.pipe(to_msgs(), ops.last()) == stored, "L4: a long-lived stream"
        sent = joined.pipe(ops.map(lambda event: wire.loads_event(wire.dumps_event(event))))
        assert await sent.pipe(to_msg()) == stored, "L4: the joined streams, read from JSON"
        paused = next((msg for msg in before.context if msg.id == stored.id), None)
        if paused is not None and isinstance(same[-2].events[-1], ev.AgentEndEvent):
            resumed = rx.from_iterable(record.events).pipe(to_msg(seed=paused))
            assert await resumed == stored, "L4: from the paused message"


def reply_id(events: Any) -> str:
    """The reply of a call."""
    first = events[0]
    assert isinstance(first, ev.AgentStartEvent)
    return first.reply_id


def only(record: CallRecord, kind: type[T]) -> T:
    """The only event of a class."""
    (event,) = every(record, kind)
    return event


def every(record: CallRecord, kind: type[T]) -> list[T]:
    """The events of a class."""
    return [event for event in record.events if isinstance(event, kind)]


def asked(record: CallRecord) -> list[ToolUseBlock]:
    """The calls that a call has asked about, before it paused."""
    confirm = only(record, ev.RequireUserConfirmEvent)
    assert ended(record) is GenerateReason.PERMISSION_ASKING
    assert all(call.state is ToolCallState.ASKING for call in confirm.tool_calls)
    return list(confirm.tool_calls)


def handed_out(record: CallRecord) -> list[ToolUseBlock]:
    """The calls that a call has handed out, before it paused."""
    request = only(record, ev.RequireExternalExecutionEvent)
    assert ended(record) is GenerateReason.TOOL_SUSPENDED
    assert all(call.state is ToolCallState.SUBMITTED for call in request.tool_calls)
    return list(request.tool_calls)


def ended(record: CallRecord) -> GenerateReason | None:
    """Why a call has ended."""
    end = record.events[-1]
    assert isinstance(end, ev.AgentEndEvent)
    return end.generate_reason


def answered(record: CallRecord, *confirmed: bool, rules: Any = None) -> ConfirmResults:
    """Answers to all questions of a call; one `bool` for all, or one for each."""
    calls = asked(record)
    said = confirmed * len(calls) if len(confirmed) == 1 else confirmed
    return ConfirmResults([ev.ConfirmResult(yes, call, rules) for yes, call in zip(said, calls, strict=True)])


def edited(call: ToolUseBlock, **changes: Any) -> ConfirmResults:
    """Yes, but with another call."""
    return ConfirmResults(ev.ConfirmResult(True, evolve(call, **changes)))


def outcome(call: ToolUseBlock, text: str = "done") -> ToolResultBlock:
    """What has come of a call outside."""
    return ToolResultBlock(call.id, call.name, text)


def outcomes(*calls: ToolUseBlock) -> ExternalResults:
    """What has come of calls outside."""
    return ExternalResults([outcome(call) for call in calls])


def results(record: CallRecord | AssistantMessage | None) -> list[tuple[str, str, str]]:
    """The results in a message, in order: tool, state, text."""
    message = record.message if isinstance(record, CallRecord) else record
    assert message is not None
    blocks = message.get_content_blocks(ToolResultBlock)
    return [(block.name, block.state.value, block.text_content) for block in blocks]


def states(record: CallRecord) -> list[tuple[str, str]]:
    """The calls in a message, in order: tool, state."""
    assert record.message is not None
    return [(call.name, call.state.value) for call in record.message.get_content_blocks(ToolUseBlock)]


def allow(tool: str, content: str | None = None) -> PermissionRule:
    return PermissionRule(tool, content, PermissionBehavior.ALLOW)


def deny(tool: str, content: str | None = None) -> PermissionRule:
    return PermissionRule(tool, content, PermissionBehavior.DENY)


def ask(tool: str, content: str | None = None) -> PermissionRule:
    return PermissionRule(tool, content, PermissionBehavior.ASK)


def text_of(record: CallRecord) -> str:
    """The text that a call has streamed."""
    texts: list[str] = []
    rx.from_iterable(record.events).pipe(agent_ops.text()).subscribe(texts.append)
    return "".join(texts)
