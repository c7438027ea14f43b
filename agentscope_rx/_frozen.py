"""A dictionary that does not change, for the open-ended fields of frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final, NoReturn, cast

from agentscope_rx.errors import ConfigurationError

__all__ = ["EMPTY", "FrozenDict", "freeze", "freeze_or_none", "freeze_without_nulls", "thaw"]


class FrozenDict(dict[str, Any]):
    """A `dict` without its mutators: compares, prints, pickles and encodes as one.

    Shallow: a list inside stays a list (`freeze` gives it one of its own). Two of them, or one and a `dict`,
    join with `|` to a plain `dict`.
    """

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError(
            "this mapping is frozen; copy it with dict(…) and attrs.evolve the value that holds it"
        )

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]
    __ior__ = _refuse  # type: ignore[assignment,misc]

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> FrozenDict:
        return FrozenDict(deepcopy(dict(self), memo))


EMPTY: Final = FrozenDict()


def freeze(mapping: Mapping[str, Any]) -> FrozenDict:
    """Copy a mapping, with the dicts and lists in it, into a frozen one; a frozen one stays itself."""
    if type(mapping) is FrozenDict:
        return mapping
    if not isinstance(mapping, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise ConfigurationError(f"{mapping!r} is no mapping; give a dict with names as keys")
    return FrozenDict(_copy(mapping))


CONTAINERS: Final = frozenset[type]((dict, list))


def _copy(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Copy what a JSON value may hold, however deep, and also if it holds itself."""
    result = dict(mapping)
    copies: dict[int, Any] = {}
    todo: list[Any] = [result]
    while todo:
        container = todo.pop()
        for key, member in container.items() if hasattr(container, "items") else enumerate(container):
            if type(member) in CONTAINERS:
                if id(member) not in copies:
                    copies[id(member)] = member.copy()
                    todo.append(copies[id(member)])
                container[key] = copies[id(member)]
    return result


def freeze_or_none(mapping: Mapping[str, Any] | None) -> FrozenDict | None:
    """`freeze`, where None means that there is no mapping."""
    return None if mapping is None else freeze(mapping)


def freeze_without_nulls(mapping: Mapping[str, Any]) -> FrozenDict:
    """`freeze`, without the entries that are None."""
    frozen = freeze(mapping)
    if not frozen or all(value is not None for value in frozen.values()):
        return frozen
    return FrozenDict({key: value for key, value in frozen.items() if value is not None})


def thaw(value: Any) -> Any:
    """Copy a JSON value, so that changing the copy leaves the original alone."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in cast("list[Any]", value)]
    return value
