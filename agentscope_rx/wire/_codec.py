"""Bytes and JSON values, from and to events, messages and every other value."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from agentscope_rx import _json
from agentscope_rx.errors import ConfigurationError, WireError
from agentscope_rx.event import AgentEvent, UnknownEvent
from agentscope_rx.message import Msg
from agentscope_rx.wire._lane import REFUSALS, Lane
from agentscope_rx.wire._limits import DEFAULT, Limits
from agentscope_rx.wire._structure import structure
from agentscope_rx.wire._unstructure import unstructure

__all__ = ["dumps", "dumps_event", "dumps_msg", "from_dict", "loads", "loads_event", "loads_msg", "to_dict"]

T = TypeVar("T")

_lane = cache(Lane)


def dumps_event(event: AgentEvent, java: bool = False) -> bytes:
    """Write an event as JSON on one line; `java=True` writes only what Java reads.

    Errors: `WireError` with the path of what JSON cannot hold.
    """
    encode = None if java else _lane().encoders.get(type(event))
    if encode is not None:
        try:
            return encode(event)
        except REFUSALS:
            pass
    return dumps(_instance(AgentEvent, event), java)


def loads_event(text: bytes | str, strict: bool = False, limits: Limits = DEFAULT) -> AgentEvent:
    """Read an event; one of a type that this version does not know is an `UnknownEvent`.

    Errors: `WireError` with the path of what is wrong; under `strict=True` also for an unknown type.
    """
    if len(text) <= limits.short or limits.lets_through(text):
        try:
            return _lane().twin(text).event()
        except REFUSALS:
            pass
    return _known(loads(AgentEvent, text, limits), strict)


def dumps_msg(msg: Msg, java: bool = False) -> bytes:
    """Write a message as JSON on one line; `java=True` writes only what Java reads.

    Errors: `WireError` with the path of what JSON cannot hold.
    """
    return dumps(_instance(Msg, msg), java)


def loads_msg(text: bytes | str, limits: Limits = DEFAULT) -> Msg:
    """Read a message; its role says of which class it is.

    Errors: `WireError` with the path of what is wrong.
    """
    return loads(Msg, text, limits)


def dumps(value: Any, java: bool = False) -> bytes:
    """Write whatever `to_dict` takes as JSON on one line.

    Errors: `WireError` with the path of what JSON cannot hold.
    """
    try:
        return _json.dumps(to_dict(value, java), finite=True)
    except _json.JSONError as error:
        raise WireError(error.problem, error.path) from None


def loads(cls: type[T], text: bytes | str, limits: Limits = DEFAULT) -> T:
    """Read JSON text as whatever `from_dict` takes.

    Errors: `WireError` with the path of what is wrong.
    """
    shallow = limits.lets_through(text)
    try:
        value = _json.loads(text)
    except _json.JSONError as error:
        raise WireError(error.problem, error.path) from None
    if not shallow:
        limits.check_nesting(value)
    return from_dict(cls, value)


def to_dict(value: Any, java: bool = False) -> Any:
    """Turn a value into what JSON has: an event, message, block, source, usage, rule, state or enum.

    Lists, tuples and mappings of them, too, and JSON values as they are. `java=True` leaves out what Java
    does not read.

    Errors: `WireError` with the path of what JSON cannot hold.
    """
    try:
        return unstructure(value, java)
    except RecursionError:
        raise WireError(_json.TOO_DEEP) from None


def from_dict(cls: type[T], value: Any, strict: bool = False) -> T:
    """Read what `to_dict` makes.

    `cls` is a class of ours, `AgentEvent`, `Msg` or `ContentBlock` for any of them, an enum, or as
    `list[Msg]` or `dict[str, Msg]` a collection.

    Errors: `WireError` with the path of what is wrong; under `strict=True` also for an unknown event type.
    """
    try:
        return _known(structure(value, cls), strict)
    except RecursionError:
        raise WireError(_json.TOO_DEEP) from None


def _known(value: T, strict: bool) -> T:
    if strict and isinstance(value, UnknownEvent):
        raise WireError(f"unknown event type {value.raw.get('type')!r}", "$.type")
    return value


def _instance(cls: type[T], value: Any) -> T:
    if not isinstance(value, cls):
        raise ConfigurationError(f"{value!r} is no {cls.__name__}; `wire.dumps` writes other values")
    return value
