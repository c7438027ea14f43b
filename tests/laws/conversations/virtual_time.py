"""An event loop whose time passes only when there is nothing left to do: hours take no time, and every run of
a program is the same."""

import asyncio
import selectors
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

__all__ = ["VirtualLoop", "run", "tool_threads"]

T = TypeVar("T")

_TURN: Final = 0.0005
"""Real seconds after which it is asked again whether the threads of the tools sleep."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that jumps to its next timer when nothing is ready.

    Threads of tools run to their end, or until they `sleep`, between two turns of the loop.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._sleeping: dict[threading.Thread, threading.Event] = {}
        super().__init__(_Selector(self))

    def time(self) -> float:
        """Return the virtual time, in seconds."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let the thread of a tool wait, in virtual time."""
        over = threading.Event()
        me = threading.current_thread()

        def wake() -> None:
            self._sleeping.pop(me, None)
            over.set()

        try:
            self.call_soon_threadsafe(self.call_later, seconds, wake)
        except RuntimeError:  # it is closed
            return
        self._sleeping[me] = over
        over.wait()

    def close(self) -> None:
        """Close the loop; threads of tools sleep no longer."""
        super().close()
        for over in self._sleeping.values():
            over.set()

    def settle(self) -> None:
        """Wait until each thread of a tool sleeps or has ended."""
        while awake := [thread for thread in tool_threads() if thread not in self._sleeping]:
            awake[0].join(_TURN)


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        """Return what is ready; if nothing is, let the time pass."""
        self._loop.settle()
        ready = super().select(0)
        if not ready and timeout is None:
            raise AssertionError("the loop waits, and nothing is left that could wake it")
        if not ready and timeout is not None and timeout > 0:
            self._loop.now += timeout
        return ready


def tool_threads() -> list[threading.Thread]:
    """Return the threads in which tools run."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("tool ")]


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
