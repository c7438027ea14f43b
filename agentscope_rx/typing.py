"""The shapes of functions that agentscope_rx passes around: the glossary of its type hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from reactivex import Observable

__all__ = ["Fold", "Key", "Operator", "Predicate"]

A = TypeVar("A")
B = TypeVar("B")
K = TypeVar("K")
S = TypeVar("S")

Operator: TypeAlias = Callable[[Observable[A]], Observable[B]]
"""A function from a stream to a stream: what `pipe` takes and what an operator factory returns."""

Predicate: TypeAlias = Callable[[A], bool]
"""A question about one item."""

Key: TypeAlias = Callable[[A], K]
"""The group that an item belongs to."""

Fold: TypeAlias = Callable[[S, A], S]
"""The next state from a state and an item."""
