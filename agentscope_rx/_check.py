"""What constructors ask of their arguments: attrs validators and converters that raise `ConfigurationError`.

Types only, and one comparison each where the value is right: events are made by the hundred thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from reprlib import repr as short_repr
from typing import Any, TypeVar

from attrs import Attribute

from agentscope_rx.errors import ConfigurationError

__all__ = ["a", "a_bool", "a_str", "a_str_or_none", "an_int", "more_than", "tuple_of"]

T = TypeVar("T")


def _wrong(owner: object, attribute: Attribute[Any], value: object, wanted: str) -> ConfigurationError:
    return ConfigurationError(
        f"{type(owner).__name__}.{attribute.name} is {short_repr(value)}; give {wanted}"
    )


def a_str(owner: object, attribute: Attribute[Any], value: object) -> None:
    """Accept a string."""
    if type(value) is not str and not isinstance(value, str):
        raise _wrong(owner, attribute, value, "a str")


def a_str_or_none(owner: object, attribute: Attribute[Any], value: object) -> None:
    """Accept a string or None."""
    if value is not None and not isinstance(value, str):
        raise _wrong(owner, attribute, value, "a str or None")


def an_int(owner: object, attribute: Attribute[Any], value: object) -> None:
    """Accept an integer, which a bool is not."""
    if type(value) is not int:
        raise _wrong(owner, attribute, value, "an int")


def more_than(limit: int) -> Callable[[object, Attribute[Any], object], None]:
    """Accept a number above the limit."""

    def check(owner: object, attribute: Attribute[Any], value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > limit:
            raise _wrong(owner, attribute, value, f"a number over {limit}")

    return check


def a_bool(owner: object, attribute: Attribute[Any], value: object) -> None:
    """Accept True or False, and nothing that is merely like them."""
    if value is not True and value is not False:
        raise _wrong(owner, attribute, value, "True or False")


def a(*types: type[Any] | None) -> Callable[[object, Attribute[Any], object], None]:
    """Accept an instance of one of the classes; None among them accepts None."""
    classes = tuple(cls for cls in types if cls is not None)
    wanted = " or ".join("None" if cls is None else _named(cls) for cls in types)

    def check(owner: object, attribute: Attribute[Any], value: object) -> None:
        if not isinstance(value, classes) and not (value is None and None in types):
            raise _wrong(owner, attribute, value, wanted)

    return check


def _named(cls: type[Any]) -> str:
    if not issubclass(cls, Enum):
        return cls.__name__
    return f"{cls.__name__} ({', '.join(cls.__members__)})"


def tuple_of(cls: type[T], items: Iterable[T]) -> tuple[T, ...]:
    """Turn a sequence of instances of a class into a tuple; a string is no sequence here."""
    if isinstance(items, str) or not isinstance(items, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise ConfigurationError(f"{items!r} is no sequence; give a list of {cls.__name__}")
    result = tuple(items)
    for item in result:
        if not isinstance(item, cls):
            raise ConfigurationError(f"{item!r} is no {cls.__name__}; give a list of {cls.__name__}")
    return result
