"""Where in a value something is wrong: errors that gain their path on the way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from agentscope_rx._json import step
from agentscope_rx.errors import WireError

__all__ = ["at", "kind", "under", "unexpected"]

T = TypeVar("T")


def kind(value: Any) -> str:
    """Name the JSON type of a value, or its class if JSON has no such value."""
    match value:
        case None:
            return "null"
        case dict():
            return "object"
        case list():
            return "array"
        case _:
            return type(value).__name__


def unexpected(wanted: str, value: Any) -> WireError:
    """Return the error for a value of the wrong type."""
    return WireError(f"expected {wanted}, got {kind(value)}")


def under(key: str | int, error: WireError) -> WireError:
    """Return the error as one of the value that holds the wrong one under `key`."""
    return WireError(error.problem, f"${step(key)}{error.path[1:]}")


def at(key: str | int, function: Callable[..., T], *args: Any) -> T:
    """Call a function; an error of it lies under `key`."""
    try:
        return function(*args)
    except WireError as error:
        raise under(key, error) from None
