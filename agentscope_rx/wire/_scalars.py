"""Hooks that read one JSON value and never guess: a string is a string, a bool is no number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any, cast

from agentscope_rx.errors import WireError
from agentscope_rx.wire._errors import at, unexpected

__all__ = ["a_bool", "a_float", "a_str", "an_int", "an_object", "an_object_without_nulls", "enum_hook"]


def a_str(value: Any, _: Any = None) -> str:
    """Read a string."""
    if not isinstance(value, str):
        raise unexpected("str", value)
    return value


def a_bool(value: Any, _: Any = None) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise unexpected("bool", value)
    return value


def an_int(value: Any, _: Any = None) -> int:
    """Read an integer of any size; `1e2` and `2.0` are integers."""
    if isinstance(value, float) and value.is_integer():
        return int(Decimal(repr(value)))
    if not isinstance(value, int) or isinstance(value, bool):
        raise unexpected("int", value)
    return value


def a_float(value: Any, _: Any = None) -> float:
    """Read a number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise unexpected("float", value)
    try:
        number = float(value)
    except OverflowError:
        raise WireError("a number is out of range") from None
    if not isfinite(number):
        raise WireError(f"{number} is no JSON number")
    return number


def an_object(value: Any, _: Any = None) -> Mapping[str, Any]:
    """Read an object."""
    if not isinstance(value, Mapping):
        raise unexpected("object", value)
    return cast("Mapping[str, Any]", value)


def an_object_without_nulls(value: Any, _: Any = None) -> Mapping[str, Any]:
    """Read an object, none of whose members is null."""

    def refuse(_: Any) -> None:
        raise WireError("expected a value, got null")

    members = an_object(value)
    for key, member in members.items():
        if member is None:
            at(key, refuse, member)
    return members


def enum_hook(cls: type[Enum]) -> Callable[[Any, Any], Enum]:
    """Return the hook that reads a member of an enum by its value, in upper or lower case."""
    members = {str(member.value).lower(): member for member in cls}

    def read(value: Any, _: Any = None) -> Enum:
        member = members.get(a_str(value).lower())
        if member is None:
            known = ", ".join(str(each.value) for each in cls)
            raise WireError(f"unknown {cls.__name__} {value!r}; known: {known}")
        return member

    return read
