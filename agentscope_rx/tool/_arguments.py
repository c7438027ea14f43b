"""From what a model wrote to what a function takes: conversion, validation, and where it is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, Final, cast

import msgspec

from agentscope_rx._json import JSONError, loads, loads_object, step
from agentscope_rx.errors import ToolArgumentsError
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.tool._schema import Parameter, Signature, is_pydantic

__all__ = ["bind", "given", "readable", "thaw"]

_AT: Final = re.compile(r"^(?P<problem>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)


class _MisfitError(Exception):
    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem


def bind(signature: Signature, arguments: Mapping[str, Any], inject: Callable[[type], Any]) -> dict[str, Any]:
    """Turn a call's arguments into what the function is called with; nothing in it is the message's own.

    1. A value that fits its type is taken as it is, a copy of it.
    2. Else it is read generously where only one reading is possible: `"3"` and `3.0` for 3, `"true"` for
       true, `"null"` for null where null may be; the JSON text of an object or list for that.
    3. What is missing has its default; what is unknown is an error, since it is most likely misspelt.

    Errors: `ToolArgumentsError` with every problem and its path.
    """
    problems: list[_MisfitError] = []
    values: dict[str, Any] = {}
    for parameter in signature.parameters:
        name = parameter.name
        if parameter.injected is not None:
            values[name] = inject(parameter.injected)
        elif name in arguments:
            try:
                values[name] = _read(parameter, thaw(arguments[name]))
            except _MisfitError as problem:
                problems.append(problem)
        elif parameter.required:
            problems.append(_MisfitError(f"${step(name)}", "is missing"))
    names = [p.name for p in signature.arguments]
    for name in arguments.keys() - names if signature.open else ():
        values.setdefault(name, thaw(arguments[name]))
    for name in () if signature.open else arguments:
        if name not in names:
            known = f"the parameters are: {', '.join(names)}" if names else "there are no parameters"
            problems.append(_MisfitError(f"${step(name)}", f"is unknown; {known}"))
    if problems:
        text = "; ".join(f"{p.path}: {p.problem}" for p in problems)
        raise ToolArgumentsError(text, path=problems[0].path)
    return values


def given(call: ToolUseBlock) -> dict[str, Any]:
    """Return the arguments of a call as the model gave them."""
    return dict(call.input) or loads_object(call.content or "") or {}


def readable(signature: Signature, call: ToolUseBlock) -> dict[str, Any] | None:
    """Return what a call's function would get, as JSON, to judge it by; None if the arguments do not fit.

    What is read generously is here as it was read: a list for the text of one. What has become an object is
    here as the model gave it. Defaults are here, as far as JSON can hold them.
    """
    if call.input_error:
        return None
    arguments = given(call)
    try:
        bound = bind(signature, arguments, lambda _: None)
    except MemoryError:
        raise
    except Exception:  # a user's class may raise anything when it is made of arguments
        return None
    values = {p.name: thaw(p.default) for p in signature.arguments if p.default is not None}
    values |= {name: _plain(bound[name], value) for name, value in arguments.items()}
    return values


def thaw(value: Any) -> Any:
    """Copy a JSON value, so that changing the copy leaves the original alone."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in cast("list[Any]", value)]
    return value


def _read(parameter: Parameter, value: Any) -> Any:
    convert = _by_pydantic if is_pydantic(parameter.type) else _by_msgspec
    path = f"${step(parameter.name)}"
    try:
        return convert(parameter.type, value, path)
    except _MisfitError:
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            with suppress(_MisfitError, JSONError):
                return convert(parameter.type, loads(value), path)
        raise


def _by_msgspec(hint: Any, value: Any, path: str) -> Any:
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        with suppress(msgspec.ValidationError):
            return msgspec.convert(value, hint, strict=False)
        match = _AT.match(str(error))
        assert match is not None
        problem = match["problem"].replace("`", "")
        raise _MisfitError(path + (match["path"] or ""), problem[:1].lower() + problem[1:]) from None


def _by_pydantic(hint: Any, value: Any, path: str) -> Any:
    pydantic = import_module("pydantic")
    try:
        return pydantic.TypeAdapter(hint).validate_python(value)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        raise _MisfitError(path + "".join(map(step, first["loc"])), first["msg"]) from None


def _plain(bound: Any, value: Any) -> Any:
    """Return what a JSON value was read as; itself, if it has become something else."""
    if type(bound) in (str, int, float, bool, type(None)):
        return bound
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        with suppress(JSONError):
            return loads(value)
    return thaw(value)
