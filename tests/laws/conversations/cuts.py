"""What may happen in the middle of a call."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final, Protocol

from agentscope_rx import event as ev
from agentscope_rx.agent import ReActAgent, RuntimeContext
from agentscope_rx.event import AgentEvent
from agentscope_rx.message import UserMessage

__all__ = ["PATIENCE", "BoomError", "Cut", "Interrupt", "random_cuts"]

PATIENCE: Final = 1_000.0
"""Virtual seconds after which something hangs."""


class BoomError(Exception):
    """What a subscriber raises."""


class Talk(Protocol):
    """A session in which something happens."""

    agent: ReActAgent
    ctx: RuntimeContext
    mark: str
    r: Random
    interrupts: int

    @property
    def is_harmed(self) -> bool: ...


def nothing() -> None:
    """There is nobody to leave."""


class Cut:
    """Something that happens to a call in its middle: after so many events (int), or seconds (float)."""

    def __init__(self, place: int | float) -> None:
        self.place = place

    @property
    def is_timed(self) -> bool:
        """Whether it happens after a time."""
        return isinstance(self.place, float)

    def is_at(self, count: int) -> bool:
        """Return whether it happens after so many events."""
        return not self.is_timed and self.place == count

    def do(self, session: Talk, leave: Callable[[], None] = nothing) -> None:
        """Let it happen."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place})"


class Dispose(Cut):
    """The subscriber goes."""

    def do(self, session: Talk, leave: Callable[[], None] = nothing) -> None:
        leave()


class Raise(Cut):
    """The subscriber raises; where that cannot be, it goes."""

    def do(self, session: Talk, leave: Callable[[], None] = nothing) -> None:
        leave()
        if not self.is_timed and self.place:
            raise BoomError


class Stop(Cut):
    """Somebody lets the call finish its step."""

    def do(self, session: Talk, leave: Callable[[], None] = nothing) -> None:
        session.agent.request_stop(session.ctx, f"{session.mark} says so")


class Interrupt(Cut):
    """The user interrupts, with a word or without.

    Attributes:
        turn: the how many-th it is in its session; 0 if it did not come to it.
        msgs: what is said.
        events: what the interrupt has said about itself.
        error: what it has failed with, where a hook may do anything.
    """

    def __init__(self, place: int | float) -> None:
        super().__init__(place)
        self.turn = 0
        self.events: list[AgentEvent | None] = []
        self.error: Exception | None = None
        self.msgs: list[UserMessage] = []
        self._ended: asyncio.Future[None] | None = None

    def do(self, session: Talk, leave: Callable[[], None] = nothing) -> None:
        loop = asyncio.get_running_loop()
        self.msgs = [UserMessage(f"{session.mark} interrupts")] if session.r.random() < 0.5 else []
        ended = self._ended = loop.create_future()

        def end(error: Exception) -> None:
            if session.is_harmed:
                self.error = error
                ended.set_result(None)
            else:
                ended.set_exception(error)

        session.interrupts += 1
        self.turn = session.interrupts
        session.agent.interrupt(session.ctx, self.msgs or None).subscribe(
            self.events.append, end, lambda: ended.set_result(None)
        )

    async def over(self) -> None:
        """Wait until it has taken effect."""
        if self._ended is not None:
            await asyncio.wait_for(self._ended, PATIENCE)

    @property
    def closing(self) -> list[AgentEvent]:
        """The events of a reply that was paused, and that the interrupt has closed."""
        events = [event for event in self.events if event is not None]
        return events if events and isinstance(events[0], ev.AgentStartEvent) else []


def random_cuts(r: Random) -> tuple[Cut, ...]:
    """Return what is to happen to a call: more often than not, something."""
    if r.random() < 0.45:
        return ()
    count = 1 if r.random() < 0.85 else 2
    kinds: list[type[Cut]] = [Dispose, Dispose, Raise, Interrupt, Interrupt, Stop]
    return tuple(r.choice(kinds)(_place(r)) for _ in range(count))


def _place(r: Random) -> int | float:
    return r.randrange(0, 40) if r.random() < 0.7 else r.choice([0.0, 0.002, 0.011, 0.03, 0.06])
