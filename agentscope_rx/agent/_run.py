"""One call while it runs: what its phases share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import reactivex as rx
from attrs import evolve
from reactivex import Observable
from reactivex.subject import AsyncSubject, Subject

from agentscope_rx.agent._answers import accepted_rules
from agentscope_rx.agent._children import Children
from agentscope_rx.agent._closing import afresh, closing
from agentscope_rx.agent._guard import guard
from agentscope_rx.agent._input import ConfirmResults
from agentscope_rx.agent._loop_state import Closing, LoopState
from agentscope_rx.agent._mending import Report
from agentscope_rx.agent._output import Wanted
from agentscope_rx.agent._plan import Plan
from agentscope_rx.agent._prompt import PromptCloser
from agentscope_rx.agent._structured import Structured
from agentscope_rx.agent._transition import MEANINGFUL, apply, resume
from agentscope_rx.context import RuntimeContext
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    ExternalExecutionResultEvent,
    HintBlockEvent,
    RequestStopEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.interop import CallScheduler
from agentscope_rx.message import (
    AssistantMessage,
    GenerateReason,
    Msg,
    SystemMessage,
    ToolResultBlock,
    ToolUseBlock,
)
from agentscope_rx.middleware import Phase, chain, with_hook
from agentscope_rx.model import GenerateOptions, ReplyIds, ToolSchema
from agentscope_rx.operators import ReplyFold
from agentscope_rx.permission import PermissionContextState, accept_rules, merged
from agentscope_rx.state import AgentState, SessionState
from agentscope_rx.store import StateSlot
from agentscope_rx.tool import Toolkit
from agentscope_rx.typing import Operator

if TYPE_CHECKING:
    from agentscope_rx.agent._agent import ReActAgent

__all__ = ["Run"]

InputT = TypeVar("InputT")

_NOTED: Final = MEANINGFUL | {AgentStartEvent, AgentEndEvent}


class Run:
    """One call: its reply as far as it has come, and the way through the middlewares.

    The message is the fold of the events that have passed `record`, and so is the loop's state.

    Attributes:
        later: messages that stand behind the reply: they came while it was paused, or with an interrupt.
        cut: emits when the call is to end at once.
        interrupted: whether it was told to.
        has_begun: whether AgentStart has come.
        is_again: whether something of the call has been left, and begins once more.
        is_running: whether the loop runs; with a slow `on_agent` hook it may not have begun.
        quiet: completes when all that the loop has streamed is out, and stored where there is a store.
        torn: tool calls whose result was begun by an earlier call of the agent, which was left.
        closed: makes of a prompt one in which each tool call has its result.
        last: the AgentEnd, when it has come.
        structured: the structured output.
        children: the subagents that work for it.
        over: emits `last` when the session is free again.
    """

    def __init__(
        self,
        agent: ReActAgent,
        ctx: RuntimeContext,
        scheduler: CallScheduler,
        session: SessionState,
        plan: Plan,
        children: Children,
        slot: StateSlot | None = None,
        wanted: Wanted | None = None,
    ) -> None:
        self.agent = agent
        self.ctx = ctx
        self.scheduler = scheduler
        self.session = session
        self.reply_id = plan.reply_id
        self.history = plan.history
        self.later = plan.later
        self.cut: Subject[None] = Subject()
        self.interrupted = False
        self.last: AgentEndEvent | None = None
        self.over: AsyncSubject[AgentEvent | None] = AsyncSubject()
        self.is_again = False
        self.is_running = False
        self.quiet: Observable[AgentEvent] = rx.empty()
        self.torn: set[str] = set()
        self._inject: Callable[[AgentEvent], None] | None = None
        self._stops: list[RequestStopEvent] = []
        self.closed = PromptCloser()
        self.children = children
        self._plan = plan
        self._answers = self._answer()
        self._reports: dict[str, Report] = {}
        self.has_begun = False
        seed = None if plan.resumed is None else session.value.checkpoint
        self.fold = ReplyFold(plan.reply_id, seed=seed)
        self.structured = Structured(wanted, self.fold)
        if plan.resumed is None:
            self.ids = ReplyIds()
            self.loop = LoopState(agent.max_iters, output=self.structured.so_far(None))
        else:
            self.ids = _taken(plan.resumed)
            self.loop = self._resumed(plan.iteration)
        self._slot = slot
        self._written, self._durable = self._version(self.fold), True

    @property
    def toolkit(self) -> Toolkit:
        """The tools that the session has now."""
        toolkit = self.agent.toolkit.view(self.session.value.tool_context.activated_groups)
        wanted = self.structured.wanted
        return toolkit if wanted is None else wanted.toolkit(toolkit)

    @property
    def final_tools(self) -> tuple[ToolSchema, ...]:
        """The tools that are left at the limit of rounds: the one that takes the structured output."""
        wanted = self.structured.wanted
        return () if wanted is None or wanted.tool is None else (wanted.tool.schema,)

    @property
    def options(self) -> GenerateOptions:
        """How the model is to answer."""
        options, wanted = self.agent.options, self.structured.wanted
        return options if wanted is None else wanted.options(options)

    @property
    def permission(self) -> PermissionContextState:
        """What is allowed: by the application, and by what the session has accepted."""
        return merged(
            self.agent.permission or PermissionContextState(), self.session.value.permission_context
        )

    def start(self) -> AgentStartEvent:
        """Return the event that begins the call."""
        return AgentStartEvent(session_id=self.ctx.session_id, reply_id=self.reply_id, name=self.agent.name)

    def opening(self) -> Iterator[AgentEvent]:
        """Give the event that begins the call, and the answers that it brings: these once."""
        yield self.start()
        # `yield from` would end them with an attempt that is cut off.
        for event in self._answers:  # noqa: UP028
            yield event
        yield from self._stops
        self._stops.clear()

    def _answer(self) -> Iterator[AgentEvent]:
        if not self._plan.answered:
            return
        answers = self._plan.answers
        if isinstance(answers, ConfirmResults):
            yield UserConfirmResultEvent(self.reply_id, answers.results)
        elif answers is not None:
            yield ExternalExecutionResultEvent(self.reply_id, answers.results)
        for msg in self._plan.msgs:
            if msg.text_content:
                yield self.hint(msg.name or "user", msg.text_content)

    def hint(self, source: str, text: str) -> HintBlockEvent:
        """Return a hint to the model as an event of the reply."""
        return HintBlockEvent(self.reply_id, self.ids.block("hint"), source, text)

    def record(self, event: AgentEvent) -> None:
        """Take an event into the message and into the loop's state, which knows no more than the message."""
        if not self.fold.apply(event) or type(event) not in _NOTED:
            return
        self.loop = apply(self.loop, event)
        self.structured.take(event)
        if isinstance(event, AgentStartEvent):
            self.has_begun = True
        elif isinstance(event, AgentEndEvent):
            self.last = event
        elif isinstance(event, UserConfirmResultEvent):
            self._accept(event)

    def _accept(self, event: UserConfirmResultEvent) -> None:
        rules = accepted_rules(event.confirm_results)
        if not rules:
            return

        def accepting(state: AgentState) -> AgentState:
            return evolve(state, permission_context=accept_rules(state.permission_context, rules))

        self.session.update(accepting)

    def begin(
        self,
        msgs: Iterable[Msg],
        inject: Callable[[AgentEvent], None],
        quiet: Observable[AgentEvent],
    ) -> None:
        """Take the input into the history and begin; or begin again, if `next` is subscribed once more.

        `inject` takes an event into the stream of the loop.
        """
        self.is_running = True
        self._inject, self.quiet = inject, quiet
        if not self._plan.answered:
            known = {msg.id for msg in self.history}
            self.history = (*self.history, *(msg for msg in msgs if msg.id not in known))
        if self.has_begun:
            self.is_again = True
            self.loop = self._resumed(self.loop.iteration)

    def end(self) -> None:
        """Note that nothing of the call runs any more."""
        self.is_running = False
        self._inject = None

    def stop(self, reason: str | None, generate_reason: GenerateReason) -> None:
        """Finish the step that runs, or the first one, and end. On the call's loop only."""
        event = RequestStopEvent(reason, generate_reason, reply_id=self.reply_id)
        if not self.has_begun:
            self._stops.append(event)
        elif self._inject is not None:
            self._inject(event)

    def interrupt(self, msgs: Iterable[Msg] = ()) -> None:
        """End the call as soon as possible; the messages stand behind the reply. On the call's loop only."""
        self.later = (*self.later, *msgs)
        self.interrupted = True
        self.cut.on_next(None)

    def _resumed(self, iteration: int) -> LoopState:
        message, fold = self.message(), self.fold
        output = self.structured.so_far(message)
        self.torn = set(fold.torn)
        return resume(message, fold.suspended, self.agent.max_iters, iteration, output, fold.superseded)

    def message(self) -> AssistantMessage:
        """Return the reply as far as it has come."""
        return self.fold.message()

    def result(self, reason: GenerateReason) -> AssistantMessage:
        """Return the message that the reply is when it ends for `reason`."""
        return evolve(self.message(), generate_reason=reason)

    def prompt(self, system: str) -> tuple[Msg, ...]:
        """Return what the model is to see: system message, history, the reply so far, and what came since."""
        reply = self.message()
        return (
            *((SystemMessage("system", system),) if system.strip() else ()),
            *self.history,
            *((reply,) if reply.content else ()),
            *self.later,
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

    def closing(self, closings: Collection[Closing]) -> Iterator[AgentEvent]:
        """Give calls that do not run their result; that of a torn one stands below what it has said."""
        names = {call.id: call.name for call in self.calls([each.call for each in closings])}
        torn = self._torn_words() if self.torn else ()
        below = (evolve(c, text=f"\n{c.text}") if c.call in torn else c for c in closings)
        return closing(self.reply_id, below, names)

    def _torn_words(self) -> Collection[str]:
        """The calls whose torn result has said something."""
        results = (block for block in self.fold.content() if isinstance(block, ToolResultBlock))
        return {result.id for result in results if result.id in self.torn and result.output}

    def afresh(self, call_id: str) -> Iterator[AgentEvent]:
        """Give what lets a torn result begin afresh, once."""
        if call_id not in self.torn:
            return
        self.torn.discard(call_id)
        for call in self.calls([call_id]):
            yield from afresh(self.reply_id, call)

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

    def saved(self, ends: Sequence[AgentEvent] = ()) -> AgentState:
        """Return the session's state as the call leaves it, or has it so far; with `ends`, if they came."""
        return self._state(self._fold_with(ends))

    def _fold_with(self, ends: Sequence[AgentEvent]) -> ReplyFold:
        if not ends:
            return self.fold
        fold = self.fold.copy()
        for event in ends:
            fold.apply(event)
        return fold

    def _state(self, fold: ReplyFold) -> AgentState:
        state = self.session.value
        if not self.has_begun:
            return evolve(state, context=(*state.context, *self._said())) if self._said() else state
        finished = fold.finished and not self.loop.open_calls
        return evolve(
            state,
            context=(*self.history, fold.message(), *self.later),
            reply_id=self.reply_id,
            cur_iter=self.loop.iteration,
            checkpoint=None if finished else fold.checkpoint(),
        )

    def _said(self) -> tuple[Msg, ...]:
        """What was said with an interrupt."""
        return self.later[len(self._plan.later) :]

    @property
    def is_stored(self) -> bool:
        """Whether the session has a place in a store."""
        return self._slot is not None

    async def write(self, *, durable: bool = True, ends: Sequence[AgentEvent] = ()) -> None:
        """Write the session's state to its store, if that has changed; with `ends`, as if they had come.

        What is `durable` outlives the machine, else the process.

        Errors: `StateSaveError`, `StateConflictError`.
        """
        fold = self._fold_with(ends)
        version = self._version(fold)
        known = version == self._written and (self._durable or not durable)
        if self._slot is None or known:
            return
        await self._slot.save(self._state(fold), durable=durable)
        self._written, self._durable = version, durable

    def _version(self, fold: ReplyFold) -> tuple[object, ...]:
        """What changes whenever the state does that is saved."""
        return fold.events, fold.settled, self.session.value, self.later


def _taken(message: AssistantMessage) -> ReplyIds:
    """The ids that a resumed reply has given to its blocks and calls."""
    blocks = Counter(block.type for block in message.content)
    return ReplyIds(blocks, (call.id for call in message.get_content_blocks(ToolUseBlock)))
