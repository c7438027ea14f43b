"""of_type: the events of one class."""

from __future__ import annotations

from typing import Any, TypeVar

from reactivex import Observable, operators as ops

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.operators._arguments import check_class
from agentscope_rx.typing import Operator

__all__ = ["of_type"]

B = TypeVar("B")


def of_type(*classes: type[B]) -> Operator[Any, B]:
    """Keep the events of one class, or of several, typed as such.

    1. `ReplyEvent`, `BlockEvent` and `ToolEvent` keep whatever belongs to a reply, a block, a tool call.
    2. It is for subscribers: a middleware that leaves events out takes them from the message as well;
       `map_type` changes some and passes the others.

    Marble:
        -S-t-t-E-|            S = AgentStart, t = a text delta, E = AgentEnd
        ---t-t---|            of_type(TextBlockDeltaEvent)
    Shape:  Observable[Any] → Observable[B], at most as many items.
    Errors: those of the source; raises `ConfigurationError` for what is no class.
    Source: Reactor's `ofType`.
    """
    if not classes:
        raise ConfigurationError("of_type() keeps nothing; give the class of the events to keep")
    for cls in classes:
        check_class("of_type", cls)

    def wanted(item: object) -> bool:
        return isinstance(item, classes)

    def operator(source: Observable[Any]) -> Observable[B]:
        return source.pipe(ops.filter(wanted))

    return operator
