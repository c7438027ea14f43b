"""What may happen with the calls of a batch: run, be handed out, be asked about, or nothing. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, final

from attrs import evolve, field, frozen

from agentscope_rx.agent._loop_state import Closing
from agentscope_rx.event import (
    AgentEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
)
from agentscope_rx.message import (
    ContentBlock,
    GenerateReason,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.permission import (
    PermissionBehavior,
    PermissionContextState,
    PermissionDecision,
    PermissionRule,
    decide,
)
from agentscope_rx.tool import Tool, Toolkit

__all__ = ["Permits", "denied_step", "permits", "questions"]


@final
@frozen
class Permits:
    """The calls of a batch, by what may happen with them; each tuple in the order of the calls.

    Attributes:
        run: to run now.
        outside: allowed, but their outcome comes from outside.
        ask: to ask the human about.
        rules: by call id, the rules that would avoid the question.
        deny: not allowed.
    """

    run: tuple[ToolUseBlock, ...] = ()
    outside: tuple[ToolUseBlock, ...] = ()
    ask: tuple[ToolUseBlock, ...] = ()
    rules: Mapping[str, tuple[PermissionRule, ...]] = field(factory=dict[str, tuple[PermissionRule, ...]])
    deny: tuple[Closing, ...] = ()


def permits(
    calls: Iterable[ToolUseBlock],
    toolkit: Toolkit,
    permission: PermissionContextState,
    *,
    configured: bool,
    outside: Collection[str] = (),
    delegated: Collection[str] = (),
) -> Permits:
    """Sort the calls of a batch.

    1. Calls that are `outside` already, or `delegated` to a subagent that goes on, have been allowed.
    2. `permission.decide` says what of the others is allowed, with which arguments, and what is asked.
    3. An external tool does not run here; a call of it whose arguments do not fit does, to get its error.
    """

    def decision(call: ToolUseBlock, tool: Tool[..., Any] | None) -> PermissionDecision:
        return decide(call, tool, permission, configured=configured)

    run: list[ToolUseBlock] = []
    handed_out: list[ToolUseBlock] = []
    ask: list[ToolUseBlock] = []
    rules: dict[str, tuple[PermissionRule, ...]] = {}
    deny: list[Closing] = []
    for call in calls:
        tool = toolkit.get(call.name)
        if call.id in delegated:
            run.append(call)
            continue
        if call.id in outside:
            handed_out.append(_updated(call, decision(evolve(call, state=ToolCallState.ALLOWED), tool)))
            continue
        decided = decision(call, tool)
        match decided.behavior:
            case PermissionBehavior.DENY:
                deny.append(Closing(call.id, decided.message, ToolResultState.DENIED))
            case PermissionBehavior.ASK:
                ask.append(call)
                rules[call.id] = decided.suggested_rules or ()
            case _:
                updated = _updated(call, decided)
                (handed_out if _is_for_outside(updated, tool) else run).append(updated)
    return Permits(tuple(run), tuple(handed_out), tuple(ask), rules, tuple(deny))


def _is_for_outside(call: ToolUseBlock, tool: Tool[..., Any] | None) -> bool:
    return tool is not None and tool.external and tool.arguments(call) is not None


def _updated(call: ToolUseBlock, decision: PermissionDecision) -> ToolUseBlock:
    if decision.updated_input is None:
        return call
    return evolve(call, input=decision.updated_input, content=None)


def questions(reply_id: str, permits: Permits, outside: Iterable[ToolUseBlock]) -> Iterator[AgentEvent]:
    """Ask about what is to be asked; else name what waits for the `outside`. Humans come first."""
    if permits.ask:
        calls = [evolve(call, state=ToolCallState.ASKING) for call in permits.ask]
        yield RequireUserConfirmEvent(reply_id, calls, permits.rules)
        yield RequestStopEvent("permission asking", GenerateReason.PERMISSION_ASKING, reply_id=reply_id)
        return
    submitted = [evolve(call, state=ToolCallState.SUBMITTED) for call in outside]
    if submitted:
        yield RequireExternalExecutionEvent(reply_id, submitted)


def denied_step(content: Sequence[ContentBlock], by_rule: Collection[str]) -> tuple[ToolUseBlock, ...]:
    """Return the calls of the reply's last step, if all were denied, by the human or `by_rule`; else none.

    A human's denial finishes a call at once; the last step is all behind the results of the one before.
    """
    results: dict[str, ToolResultState] = {}
    calls: list[ToolUseBlock] = []
    for block in reversed(content):
        if isinstance(block, ToolUseBlock):
            calls.append(block)
        elif isinstance(block, ToolResultBlock):
            if calls:
                break
            results[block.id] = block.state

    def denied(call: ToolUseBlock) -> bool:
        result = results.get(call.id, ToolResultState.RUNNING)
        if result is ToolResultState.RUNNING:  # a hook may hold it back
            return call.id in by_rule or call.state is ToolCallState.FINISHED
        return result is ToolResultState.DENIED

    return tuple(reversed(calls)) if all(map(denied, calls)) else ()
