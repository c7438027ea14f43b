"""Middlewares of every kind, and what may not be expected any more where one is."""

from collections import deque
from collections.abc import Callable
from enum import Flag, auto
from functools import partial
from random import Random
from typing import Any, Final

import reactivex as rx
from attrs import evolve, frozen
from reactivex import Observable, operators as ops
from reactivex.disposable import CompositeDisposable

from agentscope_rx import event as ev, operators as agent_ops
from agentscope_rx.event import AgentEvent
from agentscope_rx.message import GenerateReason, ToolCallState, ToolResultBlock, ToolUseBlock
from agentscope_rx.middleware import MiddlewareBase, on_acting, on_agent, on_model_call, on_reasoning
from tests.laws.conversations.world import World, mark_of
from tests.laws.harmful import OPERATORS

__all__ = ["HARM", "HOOKS", "Hook", "Inner", "Prompt", "Spoils"]

Events = Observable[AgentEvent]


class Spoils(Flag):
    """What does not hold where a middleware is."""

    NOTHING = 0
    VIEW = auto()
    """What is seen outside is what is stored."""
    RUNS = auto()
    """A tool runs once."""
    RESULTS = auto()
    """A result is what the tool said, and there is one."""
    REASONS = auto()
    """Why a call ends says where the reply stands."""
    CHILDREN = auto()
    """What a subagent shows is what it has stored."""
    ALL = VIEW | RUNS | RESULTS | REASONS | CHILDREN


@frozen
class Hook:
    """A middleware, made with a random generator, and what it spoils."""

    make: Callable[[World, Random], MiddlewareBase]
    spoils: Spoils = Spoils.NOTHING


class Inner(MiddlewareBase):
    """Notes what comes out of the loop, inside all that `on_agent` does."""

    def __init__(self, world: World) -> None:
        self._world = world

    def on_agent(self, agent: Any, ctx: Any, input: Any, next: Any) -> Events:
        return next(input).pipe(ops.do_action(self._world.inner[mark_of(ctx)].append))


class Prompt(MiddlewareBase):
    """Says in the system prompt whose session it is."""

    def on_system_prompt(self, agent: Any, ctx: Any, prompt: str) -> Any:
        text = f"{prompt} This is the session of {mark_of(ctx)}."
        return rx.of(text) if len(text) % 2 else text


def delayed(seconds: float) -> Callable[[Events], Events]:
    """Let each event out later, and an error at once; `ops.delay` looks at the clock of the machine, too."""

    def operator(source: Events) -> Events:
        def subscribe(observer: Any, scheduler: Any = None) -> Any:
            waiting: deque[Callable[[], None]] = deque()
            timers = CompositeDisposable()

            def later(action: Callable[[], None]) -> None:
                waiting.append(action)
                timers.add(scheduler.schedule_relative(seconds, lambda *_: waiting.popleft()()))

            timers.add(
                source.subscribe(
                    lambda event: later(partial(observer.on_next, event)),
                    observer.on_error,
                    lambda: later(observer.on_completed),
                    scheduler=scheduler,
                )
            )
            return timers

        return Observable(subscribe)

    return operator


def upper(event: Any) -> AgentEvent:
    return evolve(event, delta=event.delta.upper())


def breaking(r: Random, chance: float, *, times: int = 1) -> Callable[[Events], Events]:
    """Fail at a random event, so many times in all the phases together."""
    left = [times]

    def operator(source: Events) -> Events:
        def maybe(event: AgentEvent) -> AgentEvent:
            if left[0] and r.random() < chance:
                left[0] -= 1
                raise RuntimeError("a hook is broken")
            return event

        return source.pipe(ops.map(maybe))

    return operator


def sometimes(r: Random, chance: float, operator: Callable[[Events], Events]) -> Callable[[Events], Events]:
    return lambda source: source.pipe(operator) if r.random() < chance else source


def without(*classes: type[AgentEvent]) -> Callable[[Events], Events]:
    return ops.filter(lambda event: not isinstance(event, classes))


def stop(reason: GenerateReason) -> Callable[[Events], Events]:
    return lambda source: source.pipe(ops.concat(rx.of(ev.RequestStopEvent("enough", reason))))


def stop_in_the_middle(source: Events) -> Events:
    request = ev.RequestStopEvent("enough", GenerateReason.REASONING_STOP_REQUESTED)
    return source.pipe(
        ops.map_indexed(lambda event, index: rx.of(request, event) if index == 2 else rx.of(event)),
        ops.merge_all(),
    )


def stop_when_all_are_denied(source: Events) -> Events:
    def answered(event: AgentEvent) -> Events:
        if not isinstance(event, ev.AllToolsDeniedEvent):
            return rx.of(event)
        return rx.of(event, ev.RequestStopEvent("denied", GenerateReason.ALL_TOOLS_DENIED))

    return source.pipe(ops.flat_map(answered))


class _Approving(MiddlewareBase):
    """Answers every question itself, at once."""

    def on_acting(self, agent: Any, ctx: Any, input: Any, next: Any) -> Events:
        def approved(event: AgentEvent) -> Events:
            match event:
                case ev.RequireUserConfirmEvent():
                    answers = [ev.ConfirmResult(len(call.id) % 2 == 0, call) for call in event.tool_calls]
                    return rx.of(event, ev.UserConfirmResultEvent(event.reply_id, answers))
                case ev.RequestStopEvent(generate_reason=GenerateReason.PERMISSION_ASKING):
                    return rx.empty()
                case _:
                    return rx.of(event)

        return next(input).pipe(ops.map(approved), ops.merge(max_concurrent=1))


class _Asking(MiddlewareBase):
    """Asks about every call before it may run."""

    def on_acting(self, agent: Any, ctx: Any, input: Any, next: Any) -> Events:
        new = [call for call in input.tool_calls if call.state is ToolCallState.PENDING]
        if not new:
            return next(input)
        return rx.of(
            ev.RequireUserConfirmEvent("", [evolve(call, state=ToolCallState.ASKING) for call in new]),
            ev.RequestStopEvent("a hook asks", GenerateReason.PERMISSION_ASKING),
        )


class _Knowing(MiddlewareBase):
    """Has the outcome of some calls, and lets the others run."""

    def __init__(self, r: Random) -> None:
        self._r = r

    def on_acting(self, agent: Any, ctx: Any, input: Any, next: Any) -> Events:
        known = [call for call in input.tool_calls if self._r.random() < 0.3]
        rest = [call for call in input.tool_calls if call not in known]
        outcomes = [ToolResultBlock.text(f"{call.input.get('key')} known", id=call.id) for call in known]
        said = rx.of(ev.ExternalExecutionResultEvent("", outcomes)) if outcomes else rx.empty()
        return rx.concat(said, next(evolve(input, tool_calls=rest)))


class _Inventing(MiddlewareBase):
    """Answers what nobody has asked, gives outcomes of no call, and asks about none."""

    def on_acting(self, agent: Any, ctx: Any, input: Any, next: Any) -> Events:
        call = ToolUseBlock(f"{mark_of(ctx)} nobody's", "quick", {})
        return next(input).pipe(
            ops.start_with(
                ev.UserConfirmResultEvent("", [ev.ConfirmResult(True, call), ev.ConfirmResult(False, None)]),
                ev.RequireUserConfirmEvent("", [call]),
                ev.RequireExternalExecutionEvent("", []),
            )
        )


class _Skipping(MiddlewareBase):
    """Lets some calls not run, and the others in another order."""

    def __init__(self, r: Random) -> None:
        self._r = r

    def on_acting(self, agent: Any, ctx: Any, input: Any, next: Any) -> Events:
        calls = [call for call in input.tool_calls if self._r.random() < 0.7]
        self._r.shuffle(calls)
        return next(evolve(input, tool_calls=calls))


class _Twice(MiddlewareBase):
    """Acts twice; what has a result gives it again."""

    def on_acting(self, agent: Any, ctx: Any, input: Any, next: Any) -> Events:
        return rx.concat(next(input), next(input))


class _Cached(MiddlewareBase):
    """Answers instead of the model, now and then."""

    def __init__(self, r: Random) -> None:
        self._r = r

    def on_model_call(self, agent: Any, ctx: Any, input: Any, next: Any) -> Events:
        if self._r.random() < 0.6:
            return next(input)
        return rx.of(
            ev.TextBlockStartEvent("", "cached"),
            ev.TextBlockDeltaEvent("", "cached", f"{mark_of(ctx)} from the cache"),
            ev.TextBlockEndEvent("", "cached"),
        )


class _Fallback(MiddlewareBase):
    """Asks another model when the first one fails."""

    def on_model_call(self, agent: Any, ctx: Any, input: Any, next: Any) -> Events:
        again = ops.catch(lambda error, _: next(evolve(input, model=agent.model)))
        return next(input).pipe(again)


class _Injecting(MiddlewareBase):
    """Puts events of its own between."""

    def on_reasoning(self, agent: Any, ctx: Any, input: Any, next: Any) -> Events:
        hint = ev.HintBlockEvent("", f"hint {len(input.messages)}", "hook", f"{mark_of(ctx)} be brief")
        return next(input).pipe(
            ops.start_with(ev.CustomEvent("begin", {"of": mark_of(ctx)})),
            ops.concat(rx.of(ev.CustomEvent("end", {}), hint)),
        )


class _Retelling(MiddlewareBase):
    """Shows a child's events between its own."""

    def on_acting(self, agent: Any, ctx: Any, input: Any, next: Any) -> Events:
        child = [
            ev.AgentStartEvent("child", "child reply", "child", source="main/told"),
            ev.ToolCallStartEvent("child reply", "child call", "quick", source="main/told"),
            ev.ToolCallEndEvent("child reply", "child call", "quick", source="main/told"),
            ev.RequestStopEvent("of the child", reply_id="child reply", source="main/told"),
            ev.AgentEndEvent("child reply", source="main/told"),
        ]
        return next(input).pipe(ops.start_with(*child))


def _of(hook: Callable[..., MiddlewareBase], *functions: Any, spoils: Spoils = Spoils.NOTHING) -> Hook:
    return Hook(lambda world, r: hook(*functions), spoils)


def _random(
    hook: Callable[..., MiddlewareBase], function: Callable[[Random], Any], spoils: Spoils = Spoils.NOTHING
) -> Hook:
    return Hook(lambda world, r: hook(function(r)), spoils)


_BROKEN: Final = Spoils.RUNS | Spoils.RESULTS | Spoils.REASONS | Spoils.CHILDREN

HOOKS: Final[dict[str, Hook]] = {
    "tap": _of(on_reasoning, ops.do_action(lambda _: None)),
    "tap acting": _of(on_acting, ops.do_action(lambda _: None)),
    "tap all": _of(on_agent, ops.do_action(lambda _: None)),
    "louder": _of(on_model_call, agent_ops.map_type(ev.TextBlockDeltaEvent, upper)),
    "louder results": _of(
        on_acting, agent_ops.map_type(ev.ToolResultTextDeltaEvent, upper), spoils=Spoils.CHILDREN
    ),
    "no thoughts": _of(on_reasoning, agent_ops.map_type(ev.ThinkingBlockDeltaEvent, lambda _: None)),
    "no results": _of(
        on_acting,
        agent_ops.map_type(ev.ToolResultTextDeltaEvent, lambda _: None),
        spoils=Spoils.RESULTS | Spoils.CHILDREN,
    ),
    "coalesced": _of(on_model_call, agent_ops.coalesce()),
    "delayed": _of(on_reasoning, delayed(0.003)),
    "delayed acting": _of(on_acting, delayed(0.003), spoils=Spoils.CHILDREN),
    "retry before the first": _of(on_model_call, agent_ops.retry_before_first_event(2)),
    "retry the model": _of(on_model_call, ops.retry(2)),
    "retry reasoning": _of(on_reasoning, ops.retry(3)),
    "retry broken acting": Hook(
        lambda world, r: on_acting(breaking(r, 0.1, times=3), ops.retry(3)), spoils=_BROKEN
    ),
    "broken acting": _random(on_acting, lambda r: breaking(r, 0.05), _BROKEN),
    "broken reasoning": _random(on_reasoning, lambda r: breaking(r, 0.03), _BROKEN),
    "broken call": _random(on_agent, lambda r: breaking(r, 0.03), Spoils.VIEW | _BROKEN),
    "timeout": _of(on_acting, ops.timeout(0.02), spoils=_BROKEN),
    "stop": _random(on_reasoning, lambda r: sometimes(r, 0.2, stop(GenerateReason.REASONING_STOP_REQUESTED))),
    "stop acting": _random(
        on_acting, lambda r: sometimes(r, 0.3, stop(GenerateReason.MIDDLEWARE_STOP_REQUESTED))
    ),
    "stop in the middle": _random(on_model_call, lambda r: sometimes(r, 0.2, stop_in_the_middle)),
    "stop when denied": _of(on_acting, stop_when_all_are_denied),
    "approve": Hook(lambda world, r: _Approving()),
    "ask": Hook(lambda world, r: _Asking()),
    "know": Hook(lambda world, r: _Knowing(r), Spoils.RESULTS),
    "invent": Hook(lambda world, r: _Inventing(), Spoils.REASONS),
    "no questions": _of(
        on_acting,
        without(ev.RequireUserConfirmEvent, ev.RequireExternalExecutionEvent),
        spoils=Spoils.REASONS,
    ),
    "no stops": _of(on_acting, without(ev.RequestStopEvent)),
    "no answers": _of(on_agent, without(ev.UserConfirmResultEvent), spoils=Spoils.VIEW),
    "skip": Hook(lambda world, r: _Skipping(r), Spoils.RESULTS),
    "twice": Hook(lambda world, r: _Twice(), Spoils.REASONS),
    "cached": Hook(lambda world, r: _Cached(r)),
    "fallback": Hook(lambda world, r: _Fallback()),
    "inject": Hook(lambda world, r: _Injecting()),
    "retell": Hook(lambda world, r: _Retelling()),
    "louder view": _of(on_agent, agent_ops.map_type(ev.TextBlockDeltaEvent, upper), spoils=Spoils.VIEW),
    "no result view": _of(on_agent, without(ev.AgentResultEvent), spoils=Spoils.VIEW),
    "no tools view": _of(on_agent, without(ev.ToolEvent), spoils=Spoils.VIEW),
    "no frame view": _of(on_agent, without(ev.AgentStartEvent, ev.AgentEndEvent), spoils=Spoils.VIEW),
    "retry the call": _of(on_agent, ops.retry(2), spoils=Spoils.VIEW | _BROKEN),
    "delayed view": _of(on_agent, delayed(0.002), spoils=Spoils.VIEW),
}


_HOOKS: Final = {f.__name__: f for f in (on_agent, on_reasoning, on_acting, on_model_call)}

HARM: Final[dict[str, Hook]] = {
    f"{hook}: {name}": _of(_HOOKS[hook], operator, spoils=Spoils.ALL)
    for hook in _HOOKS
    for name, operator in OPERATORS.items()
}
