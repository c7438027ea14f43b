"""What values look like when they are printed: what they hold, and nothing else."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from attrs import fields

__all__ = ["Brief", "Name"]


class Brief:
    """Prints attrs classes, and those derived from them, without the fields that hold nothing by default.

    Positional fields come first, so that an event begins with what it says and ends with its id and time.
    """

    __slots__ = ()

    @classmethod
    def __attrs_init_subclass__(cls) -> None:
        cls.__repr__ = Brief.__repr__  # in the place of the one that attrs has made

    def __repr__(self) -> str:
        shown = (field for field in fields(type(self)) if field.repr and not _is_empty(field, self))
        texts = (_text(field, self) for field in sorted(shown, key=lambda field: field.kw_only))
        return f"{type(self).__qualname__}({', '.join(texts)})"


def _is_empty(field: Any, owner: object) -> bool:
    value = getattr(owner, field.name)
    return not value and value == field.default


def _text(field: Any, owner: object) -> str:
    value = getattr(owner, field.name)
    return f"{field.name}={field.repr(value) if callable(field.repr) else repr(value)}"


class Name(StrEnum):
    """A closed vocabulary of the wire; a member prints as it is written in Python: `MsgRole.USER`."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"
