"""One call while it runs: what its phases share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final, TypeVar

from attrs import evolve
from reactivex import Observable

from agentscope_rx.agent._guard import guard
from agentscope_rx.agent._input import Plan
from agentscope_rx.agent._loop_state import LoopState
from agentscope_rx.agent._mending import Report
from agentscope_rx.agent._transition import MEANINGFUL, apply, open_calls, resume
from agentscope_rx.context import RuntimeContext
from agentscope_rx.event import AgentEvent, AgentStartEvent
from agentscope_rx.interop import CallScheduler
from agentscope_rx.message import (
    AssistantMessage,
    GenerateReason,
    Msg,
    SystemMessage,
    ToolUseBlock,
)
from agentscope_rx.middleware import Phase, chain, with_hook
from agentscope_rx.model import ReplyIds
from agentscope_rx.operators import ReplyFold
from agentscope_rx.state import AgentState
from agentscope_rx.typing import Operator

if TYPE_CHECKING:
    from agentscope_rx.agent._agent import ReActAgent

__all__ = ["Run"]

InputT = TypeVar("InputT")

_NOTED: Final = MEANINGFUL | {AgentStartEvent}


class Run:
    """One call: its reply as far as it has come, and the way through the middlewares.

    The message is the fold of the events that have passed `record`, and so is the loop's state.
    """

    def __init__(
        self,
        agent: ReActAgent,
        ctx: RuntimeContext,
        scheduler: CallScheduler,
        state: AgentState,
        plan: Plan,
    ) -> None:
        self.agent = agent
        self.ctx = ctx
        self.scheduler = scheduler
        self.reply_id = plan.reply_id
        self.history = plan.history
        self._state = state
        self._reports: dict[str, Report] = {}
        self.is_running = False
        self._begun = False
        if plan.resumed is None:
            self.fold = ReplyFold(plan.reply_id)
            self.ids = ReplyIds()
            self.loop = LoopState(agent.max_iters)
        else:
            self.fold = ReplyFold(plan.reply_id, seed=state.checkpoint)
            self.ids = _taken(plan.resumed)
            self.loop = resume(plan.resumed, agent.max_iters, plan.iteration)

    def start(self) -> AgentStartEvent:
        """Return the event that begins the call."""
        return AgentStartEvent(session_id=self.ctx.session_id, reply_id=self.reply_id, name=self.agent.name)

    def record(self, event: AgentEvent) -> None:
        """Take an event into the message and into the loop's state, which knows no more than the message."""
        if not self.fold.apply(event) or type(event) not in _NOTED:
            return
        self.loop = apply(self.loop, event)
        if isinstance(event, AgentStartEvent):
            self._begun = True

    def begin(self, msgs: Iterable[Msg]) -> None:
        """Take the input into the history and begin; or begin again, if `next` is subscribed once more."""
        self.is_running = True
        known = {msg.id for msg in self.history}
        self.history = (*self.history, *(msg for msg in msgs if msg.id not in known))
        if self._begun:
            self.loop = resume(self.message(), self.agent.max_iters, self.loop.iteration)

    def end(self) -> None:
        """Note that nothing of the call runs any more."""
        self.is_running = False

    def message(self) -> AssistantMessage:
        """Return the reply as far as it has come."""
        return self.fold.message()

    def result(self, reason: GenerateReason) -> AssistantMessage:
        """Return the message that the reply is when it ends for `reason`."""
        return evolve(self.message(), generate_reason=reason)

    def prompt(self, system: str) -> tuple[Msg, ...]:
        """Return what the model is to see: system message, history, and the reply so far."""
        reply = self.message()
        return (
            *((SystemMessage("system", system),) if system.strip() else ()),
            *self.history,
            *((reply,) if reply.content else ()),
        )

    def calls(self, ids: Collection[str]) -> tuple[ToolUseBlock, ...]:
        """Return the newest tool calls of those ids, in the order of the ids."""
        newest: dict[str, ToolUseBlock] = {}
        if not ids:
            return ()
        for block in reversed(self.fold.content()):
            if isinstance(block, ToolUseBlock) and block.id in ids:
                newest.setdefault(block.id, block)
                if len(newest) == len(ids):
                    break
        return tuple(newest[id] for id in ids if id in newest)

    def open_calls(self) -> tuple[ToolUseBlock, ...]:
        """Return the tool calls that have no final result."""
        return open_calls(self.message())

    def has_hook(self, hook: str) -> bool:
        """Return whether a middleware wraps that part of the call."""
        return bool(with_hook(self.agent.middlewares, hook))

    def through(
        self, hook: str, core: Phase[InputT], tidy: Operator[AgentEvent, AgentEvent] | None = None
    ) -> Phase[InputT]:
        """Wrap `core` in the hooks of the middlewares, `tidy` and the guard; if there are none, leave it."""
        middlewares = with_hook(self.agent.middlewares, hook)
        if not middlewares:
            return core

        def at_home(input: InputT) -> Observable[AgentEvent]:
            return self.scheduler.home(core(input))

        phase = chain(middlewares, hook, self.agent, self.ctx, at_home)
        put_right = guard(self.reply_id, self.report(hook), frame=hook == "on_agent")

        def guarded(input: InputT) -> Observable[AgentEvent]:
            events = phase(input)
            return put_right(events if tidy is None else tidy(events))

        return guarded

    def report(self, hook: str) -> Report:
        """Return how it is told what was put right in a hook."""
        if hook not in self._reports:
            self._reports[hook] = Report(hook, with_hook(self.agent.middlewares, hook))
        return self._reports[hook]

    def saved(self) -> AgentState:
        """Return the session's state as the call leaves it, or has it so far."""
        if not self._begun:
            return self._state
        finished = self.fold.finished and not self.loop.has_open_calls
        return evolve(
            self._state,
            context=(*self.history, self.message()),
            reply_id=self.reply_id,
            cur_iter=self.loop.iteration,
            checkpoint=None if finished else self.fold.checkpoint(),
        )


def _taken(message: AssistantMessage) -> ReplyIds:
    """The ids that a resumed reply has given to its blocks and calls."""
    blocks = Counter(block.type for block in message.content)
    return ReplyIds(blocks, (call.id for call in message.get_content_blocks(ToolUseBlock)))
