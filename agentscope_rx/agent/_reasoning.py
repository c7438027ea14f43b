"""The reasoning phase, and the summary at the iteration limit: calls of the model."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any, Final, cast

import reactivex as rx
from attrs import evolve
from reactivex import Observable, operators as ops

from agentscope_rx.agent._fallback import or_else
from agentscope_rx.agent._run import Run
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import AgentEvent, ExceedMaxItersEvent, ToolEvent
from agentscope_rx.message import Msg, ToolUseBlock, UserMessage
from agentscope_rx.middleware import ModelCallInput, Phase, ReasoningInput, system_prompt, with_hook
from agentscope_rx.model import ChatResponse, ToolCallChunk, backoff, to_events
from agentscope_rx.operators import retry_before_first_event

__all__ = ["REMINDER", "reasoning", "summarizing"]

SUMMARIZE: Final = (
    "You have reached the limit of rounds for this task. Use no more tools: "
    "say what you have found out and what is still open."
)
CONCLUDE: Final = (
    "You have reached the limit of rounds for this task. Give the final response now, "
    "from what you have found out."
)
REMINDER: Final = "Your last answer was empty. Answer the user, or call a tool if you need one."


def reasoning(run: Run) -> Observable[AgentEvent]:
    """Ask the model, with all tools at hand."""

    def core(input: ReasoningInput) -> Observable[AgentEvent]:
        return _model_call(run)(
            ModelCallInput(input.messages, input.tools, input.options, model=run.agent.model)
        )

    def ask(system: str) -> Observable[AgentEvent]:
        input = ReasoningInput(run.prompt(system), run.toolkit.schemas(), run.options)
        return run.through("on_reasoning", core)(input)

    return _with_prompt(run, ask)


def summarizing(run: Run) -> Observable[AgentEvent]:
    """Say that the limit is reached, and ask the model for a last answer without tools.

    The one that takes the structured output is none in this sense. Calls of others, which a model may make
    all the same, are dropped before they become events.
    """

    def ask(system: str) -> Observable[AgentEvent]:
        tools, text = run.final_tools, SUMMARIZE if run.structured.wanted is None else CONCLUDE
        messages: tuple[Msg, ...] = (*run.prompt(system), UserMessage("system", text))
        input = ModelCallInput(messages, tools, run.options, model=run.agent.model)
        return _model_call(run, {tool.name for tool in tools})(input)

    limit = run.agent.max_iters
    return rx.concat(
        rx.of(ExceedMaxItersEvent(run.reply_id, limit, run.loop.iteration)), _with_prompt(run, ask)
    )


def _with_prompt(run: Run, ask: Phase[str]) -> Observable[AgentEvent]:
    hooks = with_hook(run.agent.middlewares, "on_system_prompt")
    if not hooks:
        return rx.defer(lambda _: ask(run.agent.sys_prompt))
    return system_prompt(hooks, run.agent, run.ctx, run.agent.sys_prompt).pipe(ops.flat_map(ask))


def _model_call(run: Run, only: Collection[str] | None = None) -> Phase[ModelCallInput]:
    """The chain around one model call, and inside it the model, asked again where that may help.

    Says so when a hook calls the model again after content. `only` are the tools whose calls may become
    events; None is all.
    """
    spoilt = False

    def begin(hook: str) -> None:
        nonlocal spoilt
        if spoilt:
            run.report(hook)(
                "the model was called again after a failure in the middle, so its text comes twice",
                "use agent_ops.retry_before_first_event(n)",
            )
        spoilt = False

    def core(input: ModelCallInput) -> Observable[AgentEvent]:
        fallback = run.agent.fallback_model
        asked = patient(input)
        if fallback is None or fallback is input.model:
            return asked
        return asked.pipe(or_else(patient(evolve(input, model=fallback))))

    def patient(input: ModelCallInput) -> Observable[AgentEvent]:
        return ask(input).pipe(retry_before_first_event(run.agent.max_retries + 1, wait=backoff))

    def ask(input: ModelCallInput) -> Observable[AgentEvent]:
        def attempt(_: object) -> Observable[AgentEvent]:
            begin("on_model_call")
            before = len(run.fold.blocks)

            def failed(error: Exception, _: object) -> Observable[AgentEvent]:
                nonlocal spoilt
                spoilt = len(run.fold.blocks) > before
                return rx.throw(error)

            events = to_events(reply_id=run.reply_id, model_name=input.model.model_name, ids=run.ids)
            responses = rx.defer(lambda _: _asked(run, input))
            if only is not None and not only:
                responses = responses.pipe(ops.map(_without_calls))
            answer = responses.pipe(events, ops.catch(failed))
            return answer.pipe(ops.filter(partial(_is_of, only))) if only else answer

        return rx.defer(attempt)

    through_hooks = run.through("on_model_call", core)

    def call(input: ModelCallInput) -> Observable[AgentEvent]:
        def whole(_: object) -> Observable[AgentEvent]:
            begin("on_reasoning")
            return through_hooks(input)

        return rx.defer(whole)

    return call


def _asked(run: Run, input: ModelCallInput) -> Observable[ChatResponse]:
    responses: Any = input.model.stream(run.closed(input.messages), input.tools, input.options)
    if not isinstance(responses, Observable):
        raise ConfigurationError(
            f"stream() of {input.model!r} returned {responses!r}; return an Observable of ChatResponse: "
            "of an async generator, interop.asyncio.from_async_iterable(lambda: …) makes one"
        )
    return cast("Observable[ChatResponse]", responses)


def _is_of(tools: Collection[str], event: AgentEvent) -> bool:
    return not isinstance(event, ToolEvent) or event.tool_call_name in tools


def _without_calls(response: ChatResponse) -> ChatResponse:
    return evolve(
        response,
        content=tuple(
            part for part in response.content if not isinstance(part, ToolCallChunk | ToolUseBlock)
        ),
    )
