"""What every decoder does with a frame: its JSON, and values that may be anything. Pure.

Generous about form: what is missing, null or of another type than it should be reads as nothing.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from agentscope_rx._frames import Frame
from agentscope_rx._json import loads
from agentscope_rx.errors import BadModelOutputError
from agentscope_rx.model._failure import failed

__all__ = ["Json", "as_int", "as_list", "as_object", "as_str", "json_in", "object_in"]

Json: TypeAlias = dict[str, Any]

_SHOWN: Final = 300
"""Characters of what cannot be read in an error."""

_OBJECT: Any = dict
_LIST: Any = list
"""Untyped, since what type checkers make of `dict` would need a cast, which takes as long as all else."""


def json_in(frame: Frame, name: str) -> Any:
    """Return the JSON value in a frame; None if there is none, or a last one that the end has cut.

    Errors: `BadModelOutputError` for what is no JSON; `ModelResponseError` for an event `error` that holds no
        object. `name` is what they call the model.
    """
    data = frame.data
    if not data or data.isspace():
        return None
    try:
        value: Any = loads(data)
    except ValueError as error:
        if not frame.complete:
            return None  # `close` says so, unless the answer was whole before
        if frame.event == "error":
            raise failed(name, data) from None
        raise BadModelOutputError(
            f"{name} sent an event that is no JSON ({error}): {data[:_SHOWN]!r}"
        ) from error
    if frame.event == "error" and not isinstance(value, _OBJECT):
        raise failed(name, str(value))
    return value


def object_in(frame: Frame, name: str) -> Json | None:
    """Return the JSON object in a frame, as `json_in` does; None if it is another value."""
    value = json_in(frame, name)
    return value if isinstance(value, _OBJECT) else None


def as_object(value: Any) -> Json:
    """Return an object; an empty one if it is none."""
    return value if isinstance(value, _OBJECT) else {}


def as_list(value: Any) -> list[Any]:
    """Return a list; an empty one if it is none."""
    return value if isinstance(value, _LIST) else []


def as_str(value: Any) -> str:
    """Return a text; an empty one if it is none."""
    return value if isinstance(value, str) else ""


def as_int(value: Any) -> int | None:
    """Return a whole number, also from a text of digits; None if it is none."""
    if type(value) is int:
        return value
    try:
        return None if value is None or isinstance(value, bool) else int(value)
    except (TypeError, ValueError, OverflowError):
        return None
