"""The agent: frozen configuration, and calls that are event streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, cast, final, runtime_checkable

import reactivex as rx
from attrs import Attribute, evolve, field, frozen
from reactivex import Observable

from agentscope_rx._check import a
from agentscope_rx._repr import Brief
from agentscope_rx.agent._input import CallInput, messages_of, plan
from agentscope_rx.agent._loop import call_events
from agentscope_rx.agent._run import Run
from agentscope_rx.agent._session import Session, in_turn
from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError, SessionBusyError
from agentscope_rx.event import AgentEvent
from agentscope_rx.identity import emitting, new_emitter
from agentscope_rx.interop import CallScheduler, occupied, on_loop, shield
from agentscope_rx.message import AssistantMessage, Msg
from agentscope_rx.middleware import AgentInput, MiddlewareBase, in_order
from agentscope_rx.model import ChatModel, GenerateOptions
from agentscope_rx.operators import to_msg
from agentscope_rx.state import AgentState
from agentscope_rx.tool import Toolkit

__all__ = ["Agent", "ReActAgent"]


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


def _toolkit(tools: Toolkit | Iterable[Any] | None) -> Toolkit:
    if tools is None:
        return Toolkit()
    if isinstance(tools, Toolkit):
        return tools
    if isinstance(tools, str) or not isinstance(tools, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise ConfigurationError(f"toolkit is {tools!r}; give a Toolkit, or a list of tools, as [weather]")
    return Toolkit(*tools)


def _middlewares(middlewares: Iterable[MiddlewareBase]) -> tuple[MiddlewareBase, ...]:
    if isinstance(middlewares, str) or not isinstance(middlewares, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise ConfigurationError(f"middlewares is {middlewares!r}; give a list, with the outermost first")
    given = tuple(middlewares)
    for middleware in given:
        if not isinstance(middleware, MiddlewareBase):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise ConfigurationError(
                f"{middleware!r} is no middleware; derive it from MiddlewareBase, "
                "or wrap a function on streams with on_reasoning(…), on_acting(…), …"
            )
    return in_order(given)


def _named(_: Any, attribute: Attribute[Any], name: Any) -> None:
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError(f"{attribute.name} is {name!r}; give a name that is not blank")


def _a_prompt(_: Any, attribute: Attribute[Any], prompt: Any) -> None:
    if not isinstance(prompt, str):
        raise ConfigurationError(f"{attribute.name} is {prompt!r}; give a str, and the model behind it")


def _a_model(_: Any, attribute: Attribute[Any], model: Any) -> None:
    if not callable(getattr(model, "stream", None)):
        named = f"resolve_model({model!r})" if isinstance(model, str) else "OpenAIChatModel(…)"
        raise ConfigurationError(
            f"{attribute.name} is {model!r}; give a ChatModel, as testing.ScriptedModel(…) or model.{named}"
        )


def _positive(_: Any, attribute: Attribute[Any], number: Any) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ConfigurationError(f"{attribute.name} is {number!r}; give a whole number of at least 1")


def _positive_or_none(instance: Any, attribute: Attribute[Any], number: Any) -> None:
    if number is not None:
        _positive(instance, attribute, number)


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
        max_concurrent_tools: how many tools of one batch run at once; None is all.
        description: what the agent is good for, for other agents.

    Errors: `ConfigurationError` for an argument that cannot work.
    """

    name: str = field(validator=_named)
    sys_prompt: str = field(default="", validator=_a_prompt)
    model: ChatModel = field(default=cast(ChatModel, None), validator=_a_model)
    toolkit: Toolkit = field(default=None, converter=_toolkit, kw_only=True)
    middlewares: Sequence[MiddlewareBase] = field(default=(), converter=_middlewares, kw_only=True)
    max_iters: int = field(default=10, validator=_positive, kw_only=True)
    options: GenerateOptions = field(factory=GenerateOptions, validator=a(GenerateOptions), kw_only=True)
    max_concurrent_tools: int | None = field(default=None, validator=_positive_or_none, kw_only=True)
    description: str = field(default="", kw_only=True)
    _sessions: dict[tuple[str | None, str | None], Session] = field(
        factory=dict[tuple[str | None, str | None], Session], init=False, repr=False
    )

    def call(self, input: CallInput = None, ctx: RuntimeContext | None = None) -> Observable[AgentEvent]:
        """Return the event stream of a call: cold, one call for each subscription.

        1. Nothing happens before `subscribe`. Calls of one session run one after the other.
        2. AgentStart comes first and AgentEnd last, also when the call fails; a call that is refused
           (`OpenCallsError`, `SessionBusyError`) emits no event, only the error.
        3. The events fold to the message that is stored, that `AgentResultEvent` carries, and that `reply`
           gives.
        4. Disposing cancels the model and the tools, waits for their clean-up, stores what was emitted, and
           only then frees the session.
        5. In asyncio, subscribe or `await`; in a plain script end with `.run()`, which gives the last event.

        Errors: those of model and middlewares, after AgentEnd with `error`. A tool that fails is a result.
        Source: Java `ReActAgent.streamEvents`.
        """
        msgs = messages_of(input)
        bound = self._bind(ctx)
        turn = rx.defer(lambda scheduler: self._in_turn(msgs, bound, cast(CallScheduler, scheduler)))
        return shield(on_loop(turn, within=lambda: emitting(new_emitter())))

    def stream_events(
        self, input: CallInput = None, ctx: RuntimeContext | None = None
    ) -> Observable[AgentEvent]:
        """Do as `call`, under Java's name."""
        return self.call(input, ctx)

    def reply(
        self, input: CallInput = None, ctx: RuntimeContext | None = None
    ) -> Observable[AssistantMessage]:
        """Return a call's message: one item, for those who want no events. `agent.reply("hi").run()`.

        Source: Java `ReActAgent.call`.
        """
        return self.call(input, ctx).pipe(to_msg(), shield)

    def get_agent_state(self, ctx: RuntimeContext | None = None) -> AgentState:
        """Return what the agent remembers of a session."""
        return self._session(self._bind(ctx)).state

    def _bind(self, ctx: RuntimeContext | None) -> RuntimeContext:
        ctx = RuntimeContext() if ctx is None else ctx
        if not isinstance(ctx, RuntimeContext):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise ConfigurationError(
                f"ctx is {ctx!r}; give a RuntimeContext, as RuntimeContext(session_id=…)"
            )
        return ctx if ctx.session_id else evolve(ctx, session_id=self.name)

    def _session(self, ctx: RuntimeContext) -> Session:
        key = (ctx.user_id, ctx.session_id)
        state = AgentState(session_id=ctx.session_id or "", user_id=ctx.user_id)
        return self._sessions.setdefault(key, Session(state))

    def _in_turn(
        self, msgs: tuple[Msg, ...], ctx: RuntimeContext, scheduler: CallScheduler
    ) -> Observable[AgentEvent]:
        place = (id(self), ctx.user_id, ctx.session_id)
        inside = ctx.inside | occupied.get() | scheduler.inside
        if place in inside:
            raise SessionBusyError(
                f"agent {self.name!r} is called from inside its own session {ctx.session_id!r}; "
                "use another session_id, or answer from the tool itself"
            )
        ctx = evolve(ctx, inside=inside | {place})
        scheduler.inside = ctx.inside
        session = self._session(ctx)
        save: list[Callable[[], AgentState]] = []

        def body(scheduler: CallScheduler) -> Observable[AgentEvent]:
            planned = plan(session.state, msgs)
            run = Run(self, ctx, scheduler, session.state, planned)
            save.append(run.saved)
            return call_events(run, AgentInput(planned.msgs))

        def keep() -> None:
            for saved in save:
                session.state = saved()

        return in_turn(session.gate, body, keep)
