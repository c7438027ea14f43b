"""The boundary between streams and asyncio; `interop.asyncio` holds what users call."""

from agentscope_rx.interop._on_loop import on_loop as on_loop
from agentscope_rx.interop._scheduler import CallScheduler as CallScheduler
from agentscope_rx.interop._shield import shield as shield
from agentscope_rx.interop.asyncio import (
    EventReader as EventReader,
    from_async_iterable as from_async_iterable,
    from_coroutine as from_coroutine,
    to_async_iterable as to_async_iterable,
)

__all__ = [
    "CallScheduler",
    "EventReader",
    "from_async_iterable",
    "from_coroutine",
    "on_loop",
    "shield",
    "to_async_iterable",
]
