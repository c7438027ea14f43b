"""reduce_with and scan_with: folds whose seed is made anew for each subscription."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import reactivex
from reactivex import Observable, operators as ops

from agentscope_rx.operators._arguments import check_function
from agentscope_rx.typing import Fold, Operator

__all__ = ["reduce_with", "scan_with"]

A = TypeVar("A")
S = TypeVar("S")


def reduce_with(seed: Callable[[], S], fold: Fold[S, A]) -> Operator[A, S]:
    """Fold all items into one state, which starts as `seed()` for each subscription.

    1. `seed` is called when somebody subscribes, so that a mutable state is never shared.
    2. `fold(state, item)` gives the next state; it may change the state in place and return it.
    3. When the source completes, the state is emitted; of an empty source, the seed.

    Marble:
        -1-2-3-|
        -------(6,|)          reduce_with(lambda: 0, add)
    Shape:  Observable[A] → Observable[S], one item.
    Errors: those of the source; what `seed` or `fold` raises. Raises `ConfigurationError` for what is no
        function, as a seed itself.
    Source: Reactor's `reduceWith`.
    """

    check_function("reduce_with", seed)
    check_function("reduce_with", fold)

    def operator(source: Observable[A]) -> Observable[S]:
        return reactivex.defer(lambda _: source.pipe(ops.reduce(fold, seed())))

    return operator


def scan_with(seed: Callable[[], S], fold: Fold[S, A]) -> Operator[A, S]:
    """Emit the state after each item; it starts as `seed()` for each subscription.

    As `reduce_with`, item by item. The seed itself is not emitted (as `ops.scan`, unlike Reactor).

    Marble:
        -1-2-3-|
        -1-3-6-|              scan_with(lambda: 0, add)
    Shape:  Observable[A] → Observable[S], as many items.
    Errors: those of the source; what `seed` or `fold` raises. Raises `ConfigurationError` for what is no
        function, as a seed itself.
    Source: Reactor's `scanWith`.
    """

    check_function("scan_with", seed)
    check_function("scan_with", fold)

    def operator(source: Observable[A]) -> Observable[S]:
        return reactivex.defer(lambda _: source.pipe(ops.scan(fold, seed())))

    return operator
