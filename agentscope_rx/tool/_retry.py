"""Trying a tool again that has failed."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any, final

from attrs import Attribute, field, frozen

from agentscope_rx._check import an_int
from agentscope_rx.errors import ConfigurationError, ToolSuspendError

__all__ = ["Retry"]

_JITTER = 0.5


def _classes(classes: type[Exception] | Iterable[type[Exception]]) -> tuple[type[Exception], ...]:
    given = (classes,) if isinstance(classes, type) else tuple(classes)
    for cls in given:
        if not isinstance(cls, type) or not issubclass(cls, Exception):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise ConfigurationError(f"{cls!r} is no class of exceptions; give some, as (ConnectionError,)")
    return given


def _at_least(limit: float) -> Any:
    def check(_: object, attribute: Attribute[Any], value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= limit:
            raise ConfigurationError(f"Retry.{attribute.name} is {value!r}; give a number ≥ {limit:g}")

    return check


@final
@frozen
class Retry:
    """How often a tool that raises is tried again: `@tool(retry=Retry(3, on=ConnectionError))`.

    Attributes:
        max_attempts: how often it is tried in all, the first time included.
        on: the exceptions after which it is tried again.
        initial_backoff: seconds before the second attempt; up to half as much is added at random.
        backoff_multiplier: by how much each pause is longer than the one before.
        max_backoff: seconds that no pause is longer than, before the random part is added.
    """

    max_attempts: int = field(default=3, validator=[an_int, _at_least(1)])
    on: tuple[type[Exception], ...] = field(default=(Exception,), converter=_classes)
    initial_backoff: float = field(default=0.5, kw_only=True, validator=_at_least(0))
    backoff_multiplier: float = field(default=2.0, kw_only=True, validator=_at_least(1))
    max_backoff: float = field(default=30.0, kw_only=True, validator=_at_least(0))

    def pause_after(self, attempt: int, error: BaseException) -> float | None:
        """Return how many seconds to wait after an attempt, the first being 1; None if it was the last."""
        final_error = not isinstance(error, self.on) or isinstance(error, MemoryError | ToolSuspendError)
        if final_error or attempt >= self.max_attempts:
            return None
        pause = self.initial_backoff
        for _ in range(attempt - 1):
            pause = min(pause * self.backoff_multiplier, self.max_backoff)
        return min(pause, self.max_backoff) * (1 + _JITTER * random.random())
