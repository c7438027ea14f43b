"""Parameters that a call fills in: by their type, and unseen by the model."""

from __future__ import annotations

import logging
import sys
from enum import Enum, auto
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, final, get_args, get_origin

from attrs import frozen

from agentscope_rx._typed_json import schema_of_type
from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError, ToolError
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.state import AgentState, SessionState
from agentscope_rx.tool._emitter import ToolEmitter

__all__ = ["UNSET", "Injected", "Injection", "Surroundings", "injection"]

_log = logging.getLogger("agentscope_rx")

_BY_THE_CALL: Final = (RuntimeContext, ToolEmitter, ToolUseBlock, AgentState, SessionState)
"""What every call has of itself, though JSON might hold it."""


_MADE_AT_RUN_TIME: Final = 1 << 9
"""The flag of classes that a `class` statement has made (Python's Py_TPFLAGS_HEAPTYPE)."""


class _Unset(Enum):
    UNSET = auto()


UNSET: Final = _Unset.UNSET
"""In the place of a value that there is not; None is one."""


@final
class Injected:
    """Marks a parameter that the call fills in, where its type alone would not say so.

        @tool
        def find(query: str, db: Annotated[sqlite3.Connection, Injected]) -> list[str]: ...

    It is needed for types that a model could fill in as well, as dataclasses, and for those of the standard
    library.
    """


@final
@frozen
class Injection:
    """What a parameter gets from the call.

    Attributes:
        type: by which it is found.
        optional: whether None will do.
    """

    type: type[Any]
    optional: bool = False


def injection(hint: Any, parameter: str, tool: str) -> Injection | None:
    """Decide whether the call fills a parameter in: at registration, by the type hint alone.

    1. What a call has of itself is filled in by it, and what is marked with `Injected`.
    2. So is a class, alone or with None, that no JSON value can be read as; but for the classes of the
       standard library, where it is most likely a mistake.
    3. Everything else is the model's.

    Errors: `ConfigurationError` for a mark on what is not one class, and for a protocol that objects cannot
        be checked against.
    """
    classes, optional, marked = _parts(hint)
    cls = classes[0] if len(classes) == 1 else None
    if cls in _BY_THE_CALL:
        return Injection(cls, optional)
    name = f"parameter {parameter!r} of tool {tool!r}"
    if not isinstance(cls, type) or cls in (Any, object):  # Any is a class
        if marked:
            raise ConfigurationError(f"{name} is Injected as {hint!r}; give one class, or one and None")
        return None
    if not marked and (_is_of_python(cls) or _fits_json(hint, name)):
        return None
    if getattr(cls, "_is_protocol", False) and not getattr(cls, "_is_runtime_protocol", False):
        raise ConfigurationError(
            f"{name} is filled in with an object of {cls.__qualname__}, against which no object can be "
            "checked: write @runtime_checkable above that protocol"
        )
    return Injection(cls, optional)


def _parts(hint: Any) -> tuple[list[Any], bool, bool]:
    """Return the types that a hint is a union of, whether None is one, and whether it is marked."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *notes = get_args(hint)
        classes, optional, marked = _parts(inner)
        return classes, optional, marked or Injected in notes
    if origin in (Union, UnionType):
        found = [_parts(part) for part in get_args(hint)]
        return (
            [cls for classes, _, _ in found for cls in classes],
            any(optional for _, optional, _ in found),
            any(marked for _, _, marked in found),
        )
    return ([], True, False) if hint is NoneType else ([origin or hint], False, False)


def _is_of_python(cls: type) -> bool:
    if cls.__module__ == "builtins":  # as a class does, too, that `exec` has made without a `__name__`
        return not cls.__flags__ & _MADE_AT_RUN_TIME
    return cls.__module__.partition(".")[0] in sys.stdlib_module_names


def _fits_json(hint: Any, name: str) -> bool:
    try:
        schema_of_type(hint)
    except TypeError:
        return False
    except NameError as error:
        raise ConfigurationError(
            f"{name} is of type {hint!r}, a type hint of which cannot be resolved: {error}. Import it before "
            "the tool; or if the call is to fill the parameter in, write Annotated[…, Injected]"
        ) from error
    return True


@final
@frozen
class Surroundings:
    """What a call has that its tool may want.

    Attributes:
        objects: the toolkit's own; what `ctx` has comes before them.
    """

    call: ToolUseBlock
    ctx: RuntimeContext
    emitter: ToolEmitter
    objects: tuple[Any, ...] = ()

    def get(self, cls: type[Any]) -> Any:
        """Return the object of a type; None if there is none."""
        if cls is RuntimeContext:
            return self.ctx
        if cls is ToolEmitter:
            return self.emitter
        if cls is ToolUseBlock:
            return self.call
        if cls is AgentState and (state := self.ctx.get(SessionState)) is not None:
            return state.value
        found: Any = self.ctx.get(cls)
        return RuntimeContext(objects=self.objects).get(cls) if found is None else found

    def fill(self, parameter: str, wanted: Injection, *, required: bool) -> Any:
        """Return what a parameter gets; `UNSET` leaves it to its default.

        Errors: `ToolError` names the type that is missing, and what to do.
        """
        found = self.get(wanted.type)
        if found is not None:
            return found
        if not required:
            return UNSET
        if wanted.optional:
            return None
        name = wanted.type.__qualname__
        problem = (
            f"Tool {self.call.name!r} did not run: there is no {name} for its parameter {parameter!r}. "
            f"The application must give one: RuntimeContext(objects=[{name}(…)])"
        )
        _log.warning(problem)  # the model reads it too, and can do nothing about it
        raise ToolError(problem)
