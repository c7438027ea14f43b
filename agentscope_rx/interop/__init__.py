"""The boundary between streams and asyncio; `interop.asyncio` holds what users call."""

from agentscope_rx.interop._errors import (
    as_error as as_error,
    goes_on as goes_on,
    message_of as message_of,
    outside as outside,
    words_of as words_of,
)
from agentscope_rx.interop._on_loop import on_loop as on_loop
from agentscope_rx.interop._scheduler import CallScheduler as CallScheduler, occupied as occupied
from agentscope_rx.interop._shield import report as report, shield as shield
from agentscope_rx.interop.asyncio import (
    EventReader as EventReader,
    from_async_iterable as from_async_iterable,
    from_coroutine as from_coroutine,
    to_async_iterable as to_async_iterable,
)

__all__ = [
    "CallScheduler",
    "EventReader",
    "as_error",
    "from_async_iterable",
    "from_coroutine",
    "goes_on",
    "message_of",
    "occupied",
    "on_loop",
    "outside",
    "report",
    "shield",
    "to_async_iterable",
    "words_of",
]
