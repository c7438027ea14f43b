"""Whether it is worth to ask a model again, and when. Pure but for the chance in it."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from random import random
from typing import Final

from agentscope_rx.errors import (
    ContentFilterError,
    ContextTooLongError,
    IncompleteStreamError,
    ModelConnectionError,
    ModelResponseError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitedError,
)

__all__ = ["backoff", "can_pass"]

FIRST: Final = 0.5
"""Seconds, at most, before the second attempt; each further one waits up to twice as long."""

LONGEST: Final = 30.0
"""Seconds, at most, between two attempts of our own choice."""

PATIENCE: Final = 60.0
"""Seconds that a server may ask for; whoever wants longer is not asked again."""

_USED_UP: Final = frozenset({"insufficient_quota", "exceeded_current_quota_error", "billing_error"})
"""What providers call it when money or a quota is needed, not time; the status is that of a rate limit."""

_PASSING: Final = (
    ModelConnectionError,
    ModelTimeoutError,
    IncompleteStreamError,
    ConnectionError,
    TimeoutError,
)


def can_pass(error: Exception) -> bool:
    """Return whether the same request may succeed later.

    A rate limit, a broken connection, a timeout and a failure of the server (5xx, or the same inside a
    stream) may; a quota that is used up, a request that was refused (4xx), a conversation that is too long,
    an answer that cannot be read and a mistake in the configuration come again.
    """
    if isinstance(error, ModelResponseError):
        if isinstance(error, ContextTooLongError | ContentFilterError) or _USED_UP & {error.type, error.code}:
            return False
        passing = isinstance(error, RateLimitedError | OverloadedError)
        return passing or error.status >= 500 or error.status == HTTPStatus.REQUEST_TIMEOUT
    return isinstance(error, _PASSING)


def backoff(error: Exception, failures: int, chance: Callable[[], float] = random) -> float | None:
    """Return the seconds to wait after a failure of a model call, or None if it would not help.

    `on_model_call(agent_ops.retry_before_first_event(3, wait=backoff))`; `max_retries=` of an agent does it.

    1. The time doubles with the failures, up to half a minute; half of it is left to chance, so that calls
       which failed together do not come back together.
    2. A server that says how long it wants to be left alone (`ModelResponseError.retry_after`) is left alone
       for that long and a little more; for over a minute, nobody waits.
    3. What cannot pass (`can_pass`) is not waited for.

    Args:
        error: the last failure.
        failures: how many there were.
        chance: a number from 0 to 1.
    """
    if not can_pass(error):
        return None
    seconds = min(LONGEST, FIRST * 2.0 ** min(failures - 1, 30)) * (1 + chance()) / 2
    if not isinstance(error, ModelResponseError) or error.retry_after is None:
        return seconds
    asked = error.retry_after
    return None if asked > PATIENCE else asked + min(seconds, asked / 4)
