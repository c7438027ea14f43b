"""A tool at work: a task on the loop, or a thread of its own; again, if it may be tried again."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from contextvars import copy_context
from functools import partial
from math import inf
from threading import Thread
from typing import Any, Final, TypeAlias, cast

from reactivex import Observable

from agentscope_rx.interop import to_async_iterable
from agentscope_rx.message import ContentBlock
from agentscope_rx.tool._emitter import Cancelled
from agentscope_rx.tool._output import as_item, as_result
from agentscope_rx.tool._run._channel import Channel, Outcome, Raised, Returned, TimedOut
from agentscope_rx.tool._tool import Tool

__all__ = ["Work"]

_GRACE: Final = 5.0
"""Seconds that a cancelled async tool has for its clean-up."""

_Convert: TypeAlias = Callable[[Any], Any]

_log = logging.getLogger("agentscope_rx")
_abandoned: set[asyncio.Task[None]] = set()


class Work:
    """One call of a tool's function, and more of them after failures, as the tool's `retry` says.

    Args:
        arguments: makes the arguments, anew for each attempt, which may change them.
    """

    def __init__(
        self, tool: Tool[..., Any], arguments: Callable[[], dict[str, Any]], channel: Channel
    ) -> None:
        self._tool = tool
        self._arguments = arguments
        self._channel = channel
        self._convert = partial(_converted, tool.converter)
        self._attempts = 0
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._timeout: asyncio.TimerHandle | None = None
        self._next_attempt: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Call the function.

        Errors: what is raised where the arguments are made.
        """
        self._attempts += 1
        function = partial(self._tool.function, **self._arguments())
        if inspect.isasyncgenfunction(function):
            self._start(partial(_streamed, function, self._channel, self._convert))
        elif inspect.iscoroutinefunction(function):
            self._start(function)
        else:
            work = partial(copy_context().run, _work_in_thread, function, self._channel, self._convert)
            Thread(target=work, name=f"tool {self._tool.name}", daemon=True).start()
        seconds = self._tool.timeout
        if self._attempts == 1 and seconds is not None and seconds != inf:
            self._timeout = self._loop.call_later(seconds, self._expire, seconds)

    def follows(self, outcome: Outcome) -> bool:
        """Go on with what was returned, if that is something to wait for or to stream; or try again."""
        match outcome:
            case Returned(value) if begin := _continuation(value, self._channel, self._convert):
                if not self._channel.cancelled:
                    self._start(begin)
                elif inspect.iscoroutine(value):
                    value.close()  # the time was over before a slow reader came here: that is the next piece
                return True
            case Raised(error, is_final=False):
                return self._tries_again(error)
            case _:
                return False

    def _tries_again(self, error: BaseException) -> bool:
        retry = self._tool.retry
        if retry is None or self._channel.begun or self._channel.cancelled:
            return False
        pause = retry.pause_after(self._attempts, error)
        if pause is None:
            return False
        _log.info(
            "tool %s raised in attempt %d of %d; the next one follows in %.1f s",
            self._tool.name,
            self._attempts,
            retry.max_attempts,
            pause,
            exc_info=error,
        )
        self._next_attempt = self._loop.call_later(pause, self._begin_again)
        return True

    def _begin_again(self) -> None:
        try:
            self.begin()
        except Exception as error:  # a user's class may raise anything when it is made of arguments
            self._channel.put(Raised(error, is_final=True))

    def _start(self, begin: Callable[[], Awaitable[Any]]) -> None:
        self._task = asyncio.create_task(_work_on_loop(begin, self._channel, self._convert))

    async def stop(self) -> None:
        """End the tool, if it has not ended, and give it time to clean up."""
        if self._timeout is not None:
            self._timeout.cancel()
        self._cancel()
        task = self._task
        if task is None or task.done():
            return
        try:
            await asyncio.wait({task}, timeout=_GRACE)
        finally:
            if not task.done():
                task.cancel()
                _abandoned.add(task)
                task.add_done_callback(_abandoned.discard)

    def _expire(self, seconds: float) -> None:
        self._cancel()
        self._channel.put(TimedOut(seconds))

    def _cancel(self) -> None:
        # Once: a second cancel would hit the tool's own clean-up.
        if not self._channel.cancelled:
            self._channel.cancel()
            if self._next_attempt is not None:
                self._next_attempt.cancel()
            if self._task is not None:
                self._task.cancel()


async def _work_on_loop(begin: Callable[[], Awaitable[Any]], channel: Channel, convert: _Convert) -> None:
    try:
        value = await begin()
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and channel.cancelled:
            raise
        outcome = _raised(error, channel)
    else:
        outcome = _outcome(value, convert)
    channel.put(outcome)


def _work_in_thread(function: Callable[[], Any], channel: Channel, convert: _Convert) -> None:
    try:
        value = function()
        if inspect.isgenerator(value):
            with closing(value):
                for item in value:
                    channel.begun = True
                    channel.send(as_item(convert(item)))
            value = None
    except Cancelled:
        return
    except BaseException as error:
        outcome = _raised(error, channel)
    else:
        outcome = _outcome(value, convert)
    channel.put(outcome)


async def _streamed(function: Callable[[], AsyncIterator[Any]], channel: Channel, convert: _Convert) -> None:
    items = function()
    try:
        async for item in items:
            channel.begun = True
            await channel.send(as_item(convert(item)))
    finally:
        if aclose := getattr(items, "aclose", None):
            await aclose()


def _continuation(value: Any, channel: Channel, convert: _Convert) -> Callable[[], Awaitable[Any]] | None:
    if isinstance(value, Observable):
        stream = cast("Observable[Any]", value)
        return partial(_streamed, partial(to_async_iterable, stream), channel, convert)
    if isinstance(value, AsyncIterator):
        items = cast("AsyncIterator[Any]", value)
        return partial(_streamed, lambda: items, channel, convert)
    return (lambda: value) if inspect.isawaitable(value) else None


def _goes_on(value: Any) -> bool:
    return isinstance(value, Observable | AsyncIterator) or inspect.isawaitable(value)


def _outcome(value: Any, convert: _Convert) -> Outcome:
    """Read what was returned, here where the tool works: to write a large result takes time."""
    if _goes_on(value):
        return Returned(value)
    try:
        return Returned(as_result(convert(value)))
    except Exception as error:
        return Raised(error, is_final=True)


def _converted(converter: Callable[[Any], Any] | None, value: Any) -> Any:
    """Let the tool's converter have what is not yet what the model is to see."""
    if converter is None or value is None or isinstance(value, ContentBlock):
        return value
    return converter(value)


def _raised(error: BaseException, channel: Channel) -> Raised:
    if channel.cancelled:
        _log.info("a tool raised while it was cancelled", exc_info=error)
    return Raised(error)
