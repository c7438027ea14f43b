"""What is raised where nobody expects it, as an error of a stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NoReturn, cast

from reactivex import abc

from agentscope_rx.errors import AgentScopeError
from agentscope_rx.interop._private_loop import private_loop
from agentscope_rx.interop._scheduler import CallScheduler, running_loop

__all__ = ["as_error", "goes_on", "message_of", "outside", "words_of"]


def as_error(raised: BaseException) -> Exception:
    """Return what a stream ends with: the exception itself, or one of ours for an exit or a cancellation."""
    if isinstance(raised, Exception):
        return raised
    cancelled = isinstance(raised, asyncio.CancelledError)
    error = AgentScopeError(
        "the source gave up: something that it awaited was cancelled"
        if cancelled
        else f"the source was ended by {type(raised).__name__}"
    )
    error.__cause__ = raised
    return error


def message_of(raised: BaseException) -> str:
    """Return what an exception says; it may be a user's, and unable to."""
    try:
        return str(raised)
    except Exception as error:
        return f"(its __str__ raised {type(error).__name__})"


def words_of(raised: BaseException) -> str:
    """Return an exception in words: its class, what it says, and what a group of them holds."""
    words = f"{type(raised).__name__}: {message_of(raised)}".removesuffix(": ")
    if isinstance(raised, BaseExceptionGroup):
        held = cast("BaseExceptionGroup[BaseException]", raised).exceptions
        words += f": {'; '.join(map(words_of, held))}"
    return words


def goes_on(raised: BaseException) -> bool:
    """Whether an exit goes on where it was raised: on a loop that a program of the user's runs."""
    return isinstance(raised, (KeyboardInterrupt, SystemExit)) and not private_loop.owns(running_loop())


def outside(scheduler: abc.SchedulerBase | None) -> Callable[[BaseException], None]:
    """Return who ends the part of a call around a stage, with what that part has let escape."""
    return scheduler.escaped if isinstance(scheduler, CallScheduler) else _raise


def _raise(error: BaseException) -> NoReturn:
    raise error
