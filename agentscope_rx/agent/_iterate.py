"""Streams one after the other, made as they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import reactivex as rx
from reactivex import Observable

__all__ = ["iterate"]

T = TypeVar("T")


def iterate(steps: Callable[[], Iterator[Observable[T]]]) -> Observable[T]:
    """Subscribe to the streams of a generator, each when the one before has completed.

    1. The generator is made anew for each subscription and pulled only when the next stream is due, so a
       step sees all that the steps before have streamed.
    2. No recursion, however many steps there are, and however they complete.
    3. Disposing ends the step that runs; no further one is made.

    Errors: those of the steps, and what the generator raises.
    """
    return rx.defer(lambda _: rx.concat_with_iterable(steps()))
