"""One tool call, run: its events, live; and whatever goes wrong with the tool, as its result."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any, Final

from reactivex import Observable

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ToolArgumentsError, ToolError, ToolNotFoundError, ToolSuspendError
from agentscope_rx.event import AgentEvent
from agentscope_rx.interop import from_async_iterable, words_of
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.tool._arguments import bind, given
from agentscope_rx.tool._emitter import ToolEmitter
from agentscope_rx.tool._inject import UNSET, Surroundings
from agentscope_rx.tool._output import ResultWriter
from agentscope_rx.tool._run._channel import Channel, Outcome, Raised, Returned, TimedOut
from agentscope_rx.tool._run._work import Work
from agentscope_rx.tool._schema import Parameter
from agentscope_rx.tool._tool import Tool
from agentscope_rx.tool._toolkit import Toolkit

__all__ = ["run_tool"]

_SHOWN: Final = 200
"""Characters of unusable arguments that a model is shown again."""

_FATAL: Final = (asyncio.CancelledError, KeyboardInterrupt, MemoryError)
"""What is no failure of a tool, but of everything."""

_log = logging.getLogger("agentscope_rx")


def run_tool(
    call: ToolUseBlock, toolkit: Toolkit, *, reply_id: str, ctx: RuntimeContext | None = None
) -> Observable[AgentEvent]:
    """Run a tool call.

    1. `ToolResultStartEvent`, the output as it comes, `ToolResultEndEvent` with the state.
    2. What fails is a result with state `error` and a text that the model can act on: an unknown tool
       (with the names that there are), one whose group is not active, arguments that are no JSON object or
       do not fit (with the path: the tool does not run), an exception, a timeout; and an object that the
       tool needs of the call, where there is none of its type.
    3. A sync tool runs in a daemon thread of its own, with the call's context variables; it blocks neither
       the loop nor the exit. An async one is a task.
    4. A tool that raises is tried again as its `retry` says, as long as it has given nothing.
    5. A tool that raises `ToolSuspendError` ends with the state `running`, without any output of the error;
       its reason is in the metadata of the End. An external tool does not run, and ends in the same way.
    6. Disposing cancels an async tool and lets it clean up; a sync one gets `Cancelled` from its next
       `emit`, or is left to itself, and its output is dropped. So does a timeout.

    Marble:
        -S-t-t-E-|            S = ToolResultStart, t = a text delta, E = ToolResultEnd
    Shape:  cold, per subscription one run of the tool.
    Units:  a tool's timeout is in seconds, over all attempts.
    Errors: only what no tool can be blamed for: MemoryError, cancellation from outside.
    """
    return from_async_iterable(lambda: _events(call, toolkit, reply_id, ctx or RuntimeContext()))


async def _events(
    call: ToolUseBlock, toolkit: Toolkit, reply_id: str, ctx: RuntimeContext
) -> AsyncIterator[AgentEvent]:
    write = ResultWriter(call, reply_id)
    channel = Channel(asyncio.get_running_loop())
    yield write.start()
    try:
        tool = _found(call, toolkit)
        write = ResultWriter(call, reply_id, tool.max_output)
        emitter = ToolEmitter(channel.send, lambda: channel.cancelled)
        has = Surroundings(call, ctx, emitter, toolkit.objects)
        work = Work(tool, partial(_arguments, tool, has), channel)
        work.begin()
    except Exception as error:  # a user's class may raise anything when it is made of arguments
        refused = isinstance(error, ToolError) and not isinstance(error, ToolSuspendError)
        for event in write.error(str(error)) if refused else _ending(Raised(error), write):
            yield event
        return
    try:
        while True:
            piece = await channel.next()
            if isinstance(piece, Outcome):
                if work.follows(piece):
                    continue
                break
            for event in write.deltas(piece):
                yield event
    finally:
        await work.stop()
    for event in _ending(piece, write):
        yield event


def _found(call: ToolUseBlock, toolkit: Toolkit) -> Tool[..., Any]:
    """Return the tool of a call that can be run; the errors are words for the model."""
    tool = toolkit.get(call.name)
    if tool is None:
        raise ToolNotFoundError(_unknown(call.name, toolkit))
    if call.input_error:
        raw = call.content or ""
        shown = raw if len(raw) <= _SHOWN else f"{raw[:_SHOWN]}… ({len(raw)} characters)"
        raise ToolArgumentsError(
            f"The arguments of tool {call.name!r} are no JSON object, so it did not run. "
            f"Call it again with one JSON object. The arguments were: {shown}"
        )
    return tool


def _unknown(name: str, toolkit: Toolkit) -> str:
    if (why := toolkit.why_hidden(name)) is not None:
        return f"Unauthorized tool call: {why}."
    names = f"The tools are: {', '.join(toolkit.names)}." if len(toolkit) else "There are no tools."
    return f"Tool not found: {name!r}. {names}"


def _arguments(tool: Tool[..., Any], has: Surroundings) -> dict[str, Any]:
    def fill(parameter: Parameter) -> Any:
        wanted = parameter.injected
        if wanted is None or tool.external:
            return UNSET
        return has.fill(parameter.name, wanted, required=parameter.required)

    try:
        arguments = bind(tool.signature, given(has.call), fill)
    except ToolArgumentsError as error:
        raise ToolArgumentsError(
            f"Parameter validation failed for tool {tool.name!r}: {error}. "
            "Correct the arguments and call it again.",
            path=error.path,
        ) from error
    if tool.external:
        raise ToolSuspendError
    return arguments


def _ending(outcome: Outcome, write: ResultWriter) -> Iterator[AgentEvent]:
    match outcome:
        case Returned(result):
            return write.result(result)
        case TimedOut(seconds):
            return write.error(f"Tool execution failed: it took longer than {seconds:g} s")
        case Raised(ToolSuspendError(reason=reason)):
            return write.suspended(reason)
        case Raised(error):
            if isinstance(error, _FATAL):
                raise error
            _log.info("tool %s raised", write.call.name, exc_info=error)
            return write.error(f"Tool execution failed: {words_of(error)}")
