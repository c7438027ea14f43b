"""The agent: frozen configuration, and calls that are event streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeVar, cast, final, runtime_checkable

import reactivex as rx
from attrs import Factory, evolve, field, frozen
from reactivex import Observable, operators as ops
from reactivex.subject import ReplaySubject

from agentscope_rx._check import a, a_bool
from agentscope_rx._repr import Brief
from agentscope_rx.agent._children import Adopted, Children
from agentscope_rx.agent._config import (
    a_model,
    a_model_or_none,
    a_name,
    a_prompt,
    a_store,
    as_conflict_policy,
    as_middlewares,
    as_permission,
    as_toolkit,
    not_negative,
    positive,
    positive_or_none,
)
from agentscope_rx.agent._input import CallInput, Given, given
from agentscope_rx.agent._loop import call_events
from agentscope_rx.agent._observe import observable, observing
from agentscope_rx.agent._output import Wanted, wanted
from agentscope_rx.agent._plan import Plan, plan, resumable
from agentscope_rx.agent._run import Run
from agentscope_rx.agent._session import Sessions, Stay
from agentscope_rx.agent._spawn import SubagentDeclaration, declared, with_spawning
from agentscope_rx.agent._subagent import agent_of, agent_tool
from agentscope_rx.agent._transition import open_calls
from agentscope_rx.agent._turn import in_turn
from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError, SessionBusyError
from agentscope_rx.event import AgentEndEvent, AgentEvent
from agentscope_rx.identity import emitting, new_emitter
from agentscope_rx.interop import CallScheduler, from_coroutine, occupied, on_loop, report, shield
from agentscope_rx.message import AssistantMessage, GenerateReason, Msg
from agentscope_rx.middleware import AgentInput, MiddlewareBase, TaskReminderMiddleware
from agentscope_rx.model import ChatModel, GenerateOptions
from agentscope_rx.operators import to_msg
from agentscope_rx.permission import PermissionContextState
from agentscope_rx.state import AgentState, SessionState, ToolContextState
from agentscope_rx.store import AgentStateStore, ConflictPolicy, StateKey, StateSlot
from agentscope_rx.tool import TodoTools, Tool, Toolkit

__all__ = ["Agent", "ReActAgent"]

T = TypeVar("T")

REMEMBERED: Final = 1_000
"""Idle sessions whose state an agent with a store remembers."""


@runtime_checkable
class Agent(Protocol):
    """What can be called: an event stream for an input."""

    @property
    def name(self) -> str:
        """The agent's name."""
        ...

    def call(self, input: CallInput = None, ctx: RuntimeContext | None = None) -> Observable[AgentEvent]:
        """Return the event stream of a call."""
        ...


def _sessions_of(agent: ReActAgent) -> Sessions:
    def fresh(ctx: RuntimeContext) -> AgentState:
        tools = ToolContextState(activated_groups=agent.toolkit.initial_groups)
        return AgentState(session_id=ctx.session_id or "", user_id=ctx.user_id, tool_context=tools)

    return Sessions(fresh, None if agent.state_store is None else REMEMBERED)


@final
@frozen(eq=False)
class ReActAgent(Brief):
    """An agent that reasons and acts in turns until it has an answer.

    One object serves any number of sessions at once; what it remembers of each is in `get_agent_state`.

    Attributes:
        name: the agent's name, the sender of its messages.
        sys_prompt: the system prompt; blank means none.
        model: what reasons; there must be one.
        toolkit: what it can do: a `Toolkit`, or the tools themselves.
        middlewares: wrapped around its phases, the first outermost.
        max_iters: how many reasoning phases a reply may have before it must sum up.
        options: how the model is to answer.
        max_retries: how often a model that fails is asked again, before it has said anything, and only where
            that can help (`model.backoff`).
        fallback_model: what is asked where `model` fails all the same before it has said anything.
        enable_task_list: give it `TodoTools` and the `TaskReminderMiddleware`.
        max_concurrent_tools: how many tools of one batch run at once; None is all.
        description: what the agent is good for, for other agents.
        permission: what the tools may do unasked: a `PermissionContextState`, or only its mode. None: tools
            run unless their own check objects.
        state_store: where sessions are kept; None is in this object only.
        subagents: agents that the model may spawn, with `agent_spawn`, and talk to, with `agent_send`.
        on_conflict: what to do if somebody else has saved a session meanwhile: `fail` or `overwrite`.

    Errors: `ConfigurationError` for an argument that cannot work.
    """

    name: str = field(validator=a_name)
    sys_prompt: str = field(default="", validator=a_prompt)
    model: ChatModel = field(default=cast(ChatModel, None), validator=a_model)
    toolkit: Toolkit = field(default=None, converter=as_toolkit, kw_only=True)
    middlewares: Sequence[MiddlewareBase] = field(default=(), converter=as_middlewares, kw_only=True)
    max_iters: int = field(default=10, validator=positive, kw_only=True)
    options: GenerateOptions = field(factory=GenerateOptions, validator=a(GenerateOptions), kw_only=True)
    max_retries: int = field(default=3, validator=not_negative, kw_only=True, repr=False)
    fallback_model: ChatModel | None = field(default=None, validator=a_model_or_none, kw_only=True)
    enable_task_list: bool = field(default=False, validator=a_bool, kw_only=True)
    max_concurrent_tools: int | None = field(default=None, validator=positive_or_none, kw_only=True)
    description: str = field(default="", kw_only=True)
    permission: PermissionContextState | None = field(default=None, converter=as_permission, kw_only=True)
    state_store: AgentStateStore | None = field(default=None, validator=a_store, kw_only=True)
    on_conflict: ConflictPolicy = field(
        default=ConflictPolicy.FAIL, converter=as_conflict_policy, kw_only=True, repr=False
    )
    subagents: Sequence[Agent | SubagentDeclaration] = field(
        default=(), converter=declared, kw_only=True, repr=False
    )
    _adopted: Adopted = field(factory=Adopted, init=False, repr=False)
    _sessions: Sessions = field(default=Factory(_sessions_of, takes_self=True), init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "toolkit", with_spawning(self.toolkit, declared(self.subagents)))
        if not self.enable_task_list:
            return
        if "todo_write" not in self.toolkit:
            object.__setattr__(self, "toolkit", self.toolkit.with_tools(TodoTools()))
        if not any(isinstance(each, TaskReminderMiddleware) for each in self.middlewares):
            reminded = as_middlewares([*self.middlewares, TaskReminderMiddleware()])
            object.__setattr__(self, "middlewares", reminded)

    def call(
        self, input: CallInput = None, ctx: RuntimeContext | None = None, output: Any = None
    ) -> Observable[AgentEvent]:
        """Return the event stream of a call: cold, one call for each subscription.

        1. Nothing happens before `subscribe`. Calls of one session run one after the other.
        2. AgentStart comes first and AgentEnd last, also when the call fails; a call that is refused
           (`OpenCallsError`, `SessionBusyError`) emits no event, only the error.
        3. The events fold to the message that is stored, that `AgentResultEvent` carries, and that `reply`
           gives.
        4. Disposing cancels the model and the tools, waits for their clean-up, stores what was emitted, and
           only then frees the session.
        5. `output` is what the reply is to be beside text: a dataclass, an attrs class, a TypedDict or
           another type that JSON can be read as, a pydantic model, or a JSON schema as a dict. The message's
           `structured_output` is such a value. It comes as the text of the answer, where a model can be held
           to a schema, else by a tool `generate_response`; what does not fit can be put right once. Who goes
           on with a paused or stopped reply gives `output` again.
        6. In asyncio, subscribe or `await`; in a plain script end with `.run()`, which gives the last event.

        Errors: those of model and middlewares, and `StructuredOutputError`, after AgentEnd with `error`. A
            tool that fails is a result.
        Source: Java `ReActAgent.streamEvents`.
        """
        return self._cold(self._bind(ctx), partial(self._work, given(input), self._wanted(output)))

    def stream_events(
        self, input: CallInput = None, ctx: RuntimeContext | None = None, output: Any = None
    ) -> Observable[AgentEvent]:
        """Do as `call`, under Java's name."""
        return self.call(input, ctx, output)

    def reply(
        self, input: CallInput = None, ctx: RuntimeContext | None = None, output: Any = None
    ) -> Observable[AssistantMessage]:
        """Return a call's message: one item, for those who want no events. `agent.reply("hi").run()`.

        Of a reply that goes on it is the whole message, what came before the pause included, as it is stored:
        there an `on_agent` hook has changed nothing. What must not be seen is dropped in an inner hook.

        Source: Java `ReActAgent.call`.
        """
        folded = self._cold(self._bind(ctx), partial(self._fold, given(input), self._wanted(output)))
        return folded.pipe(ops.take_last(1), shield)  # when the call is stored, and not if that fails

    def get_agent_state(self, ctx: RuntimeContext | None = None) -> AgentState:
        """Return what the agent remembers of a session; with a `state_store`, as this process last saw it.

        Before the first call of this process that is nothing; `observe([], ctx)` reads what is stored.
        """
        return self._sessions.get(self._bind(ctx)).state

    def update_state(
        self, change: Callable[[AgentState], AgentState], ctx: RuntimeContext | None = None
    ) -> Observable[AgentState]:
        """Change what the agent remembers of a session, between its calls; one item, the state afterwards.

            agent.update_state(lambda state: evolve(state, summary="…"), ctx).run()

        Cold; it waits for its turn in the session, loads, changes and saves.

        Errors: what `change` raises; `StateError`.
        """
        bound = self._bind(ctx)

        def work(stay: Stay, _: RuntimeContext, __: CallScheduler) -> Observable[AgentState]:
            return rx.of(stay.state.update(change))

        return self._cold(bound, work)

    def observe(
        self, msgs: str | Msg | Sequence[Msg], ctx: RuntimeContext | None = None
    ) -> Observable[AgentState]:
        """Take messages into a session without a call; one item, the state afterwards.

            await agent.observe(UserMessage("ann", "I am late"), ctx)

        Cold, as all that an agent does: subscribe, `await` or `.run()` it.

        1. It waits for its turn in the session, and is saved there.
        2. The next call sees the messages. They stand behind a reply that is paused; that goes on under its
           id, and sees them, too.
        3. A message that the session has already is not taken twice.

        Errors: `ConfigurationError` for answers and outcomes, which go to `call`; `SessionBusyError`,
            `StateError`.
        Source: Java `ReActAgent.observe`.
        """
        return self.update_state(observing(observable(msgs)), ctx)

    def interrupt(
        self, ctx: RuntimeContext | None = None, msg: str | Msg | Sequence[Msg] | None = None
    ) -> Observable[AgentEvent | None]:
        """End what the session does, at once.

        1. It takes effect without a subscription; nothing is emitted on the caller's stack.
        2. A running call is cut: the model and the tools are cancelled, what is open ends, open tool calls
           get a result `interrupted`, and `msg` stands behind the reply in the context.
        3. A paused reply is gone on with, only to close its calls.
        4. The stream ends when the session is at rest, with the AgentEnd; with None if there was nothing to
           interrupt. Of a paused reply it has all events, from the AgentStart on.

        Errors: `StateError`; to the event loop's exception handler, if nobody has subscribed.
            `ConfigurationError` for answers.
        Source: Java `ReActAgent.interrupt`.
        """
        said = given(msg)
        if said.answers is not None:
            raise ConfigurationError(f"interrupt got {msg!r}, which answers a reply; give answers to call(…)")
        bound = self._bind(ctx)
        ended: ReplaySubject[AgentEvent | None] = ReplaySubject()

        def begin(_: object) -> Observable[None]:
            self._interrupt(bound, said.msgs, ended)
            return rx.empty()

        if self._sessions.get(bound).inside is None:
            on_loop(rx.defer(begin)).subscribe()  # behind the calls that this thread has subscribed to before
        else:
            begin(None)
        return shield(on_loop(ended))

    def request_stop(
        self,
        ctx: RuntimeContext | None = None,
        reason: str | None = None,
        *,
        generate_reason: GenerateReason = GenerateReason.MIDDLEWARE_STOP_REQUESTED,
    ) -> bool:
        """Let the session's running call finish its step, then stop; return whether one is running.

        A `RequestStopEvent` comes into its stream: the phase in flight ends, its results are stored, and the
        call ends with `generate_reason`. `call(None)` goes on from there.
        """
        stay = self._sessions.get(self._bind(ctx)).inside

        def stop(run: Run | None) -> None:
            if run is not None:
                run.stop(reason, generate_reason)

        return stay is not None and _soon(stay, lambda: stay.with_run(stop))

    def subagent(self, name: str) -> ReActAgent:
        """Return the agent that works for this one under a name, as it does so, to talk to it directly.

            exposed: SubagentExposedEvent
            researcher = agent.subagent(exposed.agent_id)
            researcher.call("And since 2020?", RuntimeContext(session_id=exposed.session_id))

        One without a state store has this agent's. All that can be done with a session can be done with
        that of a subagent: call, interrupt, look at what it remembers.

        Errors: `ConfigurationError` if there is none of that name, or if it is no `ReActAgent`.
        """
        agents = {each.name: each.agent for each in declared(self.subagents)}
        every_tool = self.toolkit.view(group.name for group in self.toolkit.groups)
        agents = {each.name: each for each in map(agent_of, every_tool) if each is not None} | agents
        agent = self._adopt(agents[name]) if name in agents else None
        if not isinstance(agent, ReActAgent):
            known = ", ".join(map(repr, agents)) or "there are none"
            problem = "is no ReActAgent" if name in agents else f"is none of the subagents: {known}"
            raise ConfigurationError(f"{name!r} {problem}")
        return agent

    def as_tools(self) -> Iterable[Tool[..., Any]]:
        """Give the tools that the agent is in a toolkit: see `agent_tool`."""
        return (agent_tool(self),)

    def _adopt(self, agent: Agent) -> Agent:
        if self.state_store is None or not isinstance(agent, ReActAgent) or agent.state_store is not None:
            return agent
        store, policy = self.state_store, self.on_conflict
        return self._adopted.get(agent, lambda: evolve(agent, state_store=store, on_conflict=policy))

    def _interrupt(
        self, ctx: RuntimeContext, msgs: tuple[Msg, ...], ended: ReplaySubject[AgentEvent | None]
    ) -> None:
        session = self._sessions.get(ctx)
        stay = session.inside

        def land() -> None:
            if stay is None or session.inside is not stay:  # another call runs by now, or none
                self._interrupt(ctx, msgs, ended)
            else:
                stay.with_run(cut)

        def cut(run: Run | None) -> None:
            if run is None:  # it was no call, or one that was refused
                self._interrupt(ctx, msgs, ended)
            else:
                run.over.pipe(ops.flat_map(closed)).subscribe(ended.on_next, failed, ended.on_completed)
                run.interrupt(msgs)

        def closed(last: AgentEvent | None) -> Observable[AgentEvent | None]:
            if isinstance(last, AgentEndEvent) and last.generate_reason is GenerateReason.INTERRUPTED:
                return rx.of(last)
            return close((), last)  # it came too late to cut the loop, which may have left calls open

        def close(
            msgs: tuple[Msg, ...], otherwise: AgentEvent | None = None
        ) -> Observable[AgentEvent | None]:
            closing = self._cold(ctx, partial(self._close, msgs), first=True)
            return closing.pipe(ops.default_if_empty(otherwise))

        def failed(error: Exception) -> None:
            if not ended.observers:
                report("an interrupt failed that nobody waits for", error)
            ended.on_error(error)

        if stay is None or not _soon(stay, land):
            close(msgs).subscribe(ended.on_next, failed, ended.on_completed)

    def _close(
        self, msgs: tuple[Msg, ...], stay: Stay, ctx: RuntimeContext, scheduler: CallScheduler
    ) -> Observable[AgentEvent]:
        unfinished = resumable(stay.state.value)
        if unfinished is None or not open_calls(unfinished):
            if msgs:
                stay.state.update(lambda state: evolve(state, context=(*state.context, *msgs)))
            return rx.empty()
        run = self._run(stay, ctx, scheduler, plan(stay.state.value, Given()))
        run.interrupt(msgs)
        return call_events(run, AgentInput())

    def _wanted(self, output: Any) -> Wanted | None:
        return wanted(output, self.model, self.toolkit, self.fallback_model)

    def _work(
        self,
        given: Given,
        asked: Wanted | None,
        stay: Stay,
        ctx: RuntimeContext,
        scheduler: CallScheduler,
    ) -> Observable[AgentEvent]:
        planned = plan(stay.state.value, given)
        run = self._run(stay, ctx, scheduler, planned, asked)
        return call_events(run, AgentInput(planned.msgs))

    def _fold(
        self,
        given: Given,
        asked: Wanted | None,
        stay: Stay,
        ctx: RuntimeContext,
        scheduler: CallScheduler,
    ) -> Observable[AssistantMessage]:
        before = stay.state.value
        events = self._work(given, asked, stay, ctx, scheduler)
        goes_on = stay.reply_id == before.reply_id
        return events.pipe(to_msg(seed=before.checkpoint if goes_on else None))

    def _run(
        self,
        stay: Stay,
        ctx: RuntimeContext,
        scheduler: CallScheduler,
        planned: Plan,
        asked: Wanted | None = None,
    ) -> Run:
        children = Children(scheduler, planned, ctx.get(Children), self._adopt)
        own = (stay.state, self, children)
        others = (
            item for item in ctx.objects if not isinstance(item, SessionState | Children) and item is not self
        )
        ctx = evolve(ctx, objects=(*own, *others))
        run = Run(self, ctx, scheduler, stay.state, planned, children, stay.slot, asked)
        stay.begin(run)
        return run

    def _cold(
        self,
        ctx: RuntimeContext,
        work: Callable[[Stay, RuntimeContext, CallScheduler], Observable[T]],
        *,
        first: bool = False,
    ) -> Observable[T]:
        """A stream that does some work in the session, when its turn has come, or before all who wait."""
        turn = rx.defer(lambda scheduler: self._in_turn(ctx, cast(CallScheduler, scheduler), work, first))
        return shield(on_loop(turn, within=lambda: emitting(new_emitter())))

    def _bind(self, ctx: RuntimeContext | None) -> RuntimeContext:
        ctx = RuntimeContext() if ctx is None else ctx
        if not isinstance(ctx, RuntimeContext):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            aim = "" if isinstance(ctx, str) else "; what the reply is to be goes to output=…"
            raise ConfigurationError(
                f"ctx is {ctx!r}; give a RuntimeContext, as RuntimeContext(session_id=…){aim}"
            )
        return ctx if ctx.session_id else evolve(ctx, session_id=self.name)

    def _in_turn(
        self,
        ctx: RuntimeContext,
        scheduler: CallScheduler,
        work: Callable[[Stay, RuntimeContext, CallScheduler], Observable[T]],
        first: bool,
    ) -> Observable[T]:
        place = (id(self), ctx.user_id, ctx.session_id)
        inside = ctx.inside | occupied.get() | scheduler.inside
        if place in inside:
            raise SessionBusyError(
                f"agent {self.name!r} is called from inside its own session {ctx.session_id!r}; "
                "use another session_id, or answer from the tool itself"
            )
        ctx = evolve(ctx, inside=inside | {place})
        scheduler.inside = ctx.inside
        session = self._sessions.get(ctx)
        store = self.state_store
        slot = None
        if store is not None:
            slot = StateSlot(store, StateKey(ctx.user_id, ctx.session_id or "", self.name), self.on_conflict)
        stay = Stay(session, slot, scheduler.loop)

        def body(scheduler: CallScheduler) -> Observable[T]:
            stay.enter()
            if slot is None:
                return work(stay, ctx, scheduler)
            return from_coroutine(lambda: stay.load(self._sessions.fresh(ctx))).pipe(
                ops.flat_map(lambda _: work(stay, ctx, scheduler))
            )

        return in_turn(session.gate, body, stay, first=first)


def _soon(stay: Stay, action: Callable[[], object]) -> bool:
    """Do something on the loop of a stay, never on the caller's stack; False if that loop is closed."""
    try:
        stay.loop.call_soon_threadsafe(action)
    except RuntimeError:
        return False
    return True
