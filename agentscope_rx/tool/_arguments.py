"""From what a model wrote to what a function takes: conversion, validation, and where it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from types import NoneType
from typing import Any, Final

from agentscope_rx._frozen import thaw
from agentscope_rx._json import JSONError, loads, loads_object, step
from agentscope_rx._json_schema import misfits
from agentscope_rx._typed_json import MisfitError, read_as
from agentscope_rx.errors import ToolArgumentsError
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.tool._inject import UNSET
from agentscope_rx.tool._schema import Parameter, Signature, as_json

__all__ = ["bind", "fixed", "given", "readable"]

_JSON: Final = frozenset[type]((str, int, float, bool, NoneType, list, dict))


def bind(
    signature: Signature, arguments: Mapping[str, Any], inject: Callable[[Parameter], Any]
) -> dict[str, Any]:
    """Turn a call's arguments into what the function is called with; nothing in it is the message's own.

    1. A value that fits its type is taken as it is, a copy of it.
    2. Else it is read generously where only one reading is possible: `"3"` and `3.0` for 3, `"true"` for
       true, `"null"` for null where null may be; the JSON text of an object or list for that.
    3. What is missing has its default; what is unknown is an error, since it is most likely misspelt.
    4. What the application has fixed stays so, whatever the model says.
    5. A tool that was made of a JSON schema has its arguments checked against it, and gets them as they are.
    6. What the call fills in is what `inject` gives; `UNSET` leaves it to its default.

    Errors: `ToolArgumentsError` with every problem and its path; those of `inject`.
    """
    problems: list[tuple[str, str]] = []
    values: dict[str, Any] = {}
    for parameter in signature.parameters:
        name = parameter.name
        if parameter.preset is not UNSET:
            values[name] = fixed(parameter)
        elif parameter.injected is not None:
            if (found := inject(parameter)) is not UNSET:
                values[name] = found
        elif name in arguments:
            try:
                values[name] = read_as(parameter.type, thaw(arguments[name]), f"${step(name)}")
            except MisfitError as misfit:
                problems += misfit.problems
        elif parameter.required:
            problems.append((f"${step(name)}", "is missing"))
    names = [p.name for p in signature.arguments]
    taken = {p.name for p in signature.parameters if signature.open or p.injected is None}
    for name in arguments:
        if name in taken:
            continue
        if signature.open:
            values[name] = thaw(arguments[name])
        else:
            known = f"the parameters are: {', '.join(names)}" if names else "there are no parameters"
            problems.append((f"${step(name)}", f"is unknown; {known}"))
    if signature.schema is not None and not problems:
        problems += misfits(signature.schema, values)
    if problems:
        misfit = MisfitError(*problems)
        raise ToolArgumentsError(misfit.text, path=misfit.path)
    return values


def fixed(parameter: Parameter) -> Any:
    """Return what a parameter is fixed to: JSON values read anew as its type, anything else as it is.

    Errors: `MisfitError` for a JSON value that does not fit.
    """
    if type(parameter.preset) not in _JSON:
        return parameter.preset
    return read_as(parameter.type, thaw(parameter.preset), f"${step(parameter.name)}")


def given(call: ToolUseBlock) -> dict[str, Any]:
    """Return the arguments of a call as the model gave them."""
    return dict(call.input) or loads_object(call.content or "") or {}


def readable(signature: Signature, call: ToolUseBlock) -> dict[str, Any] | None:
    """Return what a call's function would get, as JSON, to judge it by; None if the arguments do not fit.

    What is read generously is here as it was read: a list for the text of one. What has become an object is
    here as the model gave it. Defaults, and what the application has fixed, are here as far as JSON can hold
    them.
    """
    if call.input_error:
        return None
    arguments = given(call)
    try:
        bound = bind(signature, arguments, lambda _: UNSET)
    except MemoryError:
        raise
    except Exception:  # a user's class may raise anything when it is made of arguments
        return None
    named = {parameter.name for parameter in signature.parameters}
    values = {name: thaw(value) for name, value in arguments.items() if name not in named}
    for parameter in signature.judged:
        name, is_fixed = parameter.name, parameter.preset is not UNSET
        if name in arguments and not is_fixed:
            values[name] = _plain(bound[name], arguments[name])
        else:
            known = as_json(parameter.preset) if is_fixed else parameter.default
            values |= {} if known is None else {name: thaw(known)}
    return values


def _plain(bound: Any, value: Any) -> Any:
    """Return what a JSON value was read as; itself, if it has become something else."""
    if type(bound) in (str, int, float, bool, type(None)):
        return bound
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        with suppress(JSONError):
            return loads(value)
    return thaw(value)
