"""A follower against a writer, with every step of the one between every two of the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement
from typing import Any, Final

import pytest

from agentscope_rx.log import START, Logged, StreamKey
from agentscope_rx.log._follow import Follower
from agentscope_rx.log._records import make_cursor, number_of
from agentscope_rx.log._tail import Tail

KEY: Final = StreamKey("ann", "monday")
RECORDS: Final = tuple(Logged(make_cursor(70 + number, number), b"{}") for number in (1, 2, 3, 4))


class World:
    """A log of which nothing happens by itself: before each step of the follower, some of the writer's."""

    def __init__(self, steps: Sequence[Callable[[World], None]], places: Sequence[int]) -> None:
        self.written = 0
        self.tail: Stepping | None = None
        self._steps = list(steps)
        self._places = list(places)
        self._now = 0

    def step(self) -> None:
        """The follower is about to do something."""
        self._now += 1
        while self._places and self._places[0] <= self._now:
            self._places.pop(0)
            self.go_on()

    def go_on(self) -> bool:
        """Let the writer do one thing."""
        if self._steps:
            self._steps.pop(0)(self)
            return True
        return False

    async def subscribe(self) -> Tail:
        self.step()
        self.tail = Stepping(self)
        self.step()
        return self.tail

    async def read(self, _: StreamKey, after: str, limit: int) -> tuple[Logged, ...]:
        self.step()
        await asyncio.sleep(0)
        self.step()
        found = RECORDS[number_of(after) : self.written][:limit]
        self.step()
        await asyncio.sleep(0)
        self.step()
        return found


class Stepping(Tail):
    """A tail that lets the writer in before and behind whatever the follower does with it."""

    def __init__(self, world: World) -> None:
        super().__init__(is_ready=True)
        self._world = world
        self.was_looked_at = False

    def after(self, cursor: str, limit: int) -> Any:
        self._world.step()
        found = super().after(cursor, limit)
        self._world.step()
        return found

    async def changed(self, mark: int) -> None:
        self._world.step()
        await super().changed(mark)
        self._world.step()


def write(number: int) -> Callable[[World], None]:
    def step(world: World) -> None:
        assert world.written == number - 1
        world.written = number

    return step


def tell(*numbers: int) -> Callable[[World], None]:
    """What was written is told to whoever follows by then."""

    def step(world: World) -> None:
        if world.tail is not None:
            world.tail.offer([RECORDS[number - 1] for number in numbers])

    return step


def look(world: World) -> None:
    """Somebody finds out what the last event is, of which nobody tells."""
    if world.tail is not None:
        world.tail.was_looked_at = True
        world.tail.clear(RECORDS[world.written - 1].cursor)


def look_at_the_new(world: World) -> None:
    if world.tail is not None and not world.tail.was_looked_at:
        look(world)


ORDERS: Final = {
    "each is told at once": (write(1), tell(1), write(2), tell(2), write(3), tell(3)),
    "two are told at once": (write(1), write(2), tell(1, 2), write(3), tell(3)),
    "all are told late": (write(1), write(2), write(3), tell(1), tell(2), tell(3)),
    "some are told again": (write(1), tell(1), write(2), tell(1, 2), write(3), tell(2, 3)),
    "others write, too": (write(1), look, write(2), tell(2), write(3), look),
    "others write behind what is told late": (
        *(write(1), write(2), write(3), look),
        *(tell(1), tell(2), look_at_the_new),
    ),
}


def distributions(steps: int) -> Iterator[tuple[int, ...]]:
    """Every way to put the writer's steps before the first of the follower's."""
    return combinations_with_replacement(range(1, 11), steps)


@pytest.mark.parametrize("after", [START, RECORDS[0].cursor])
@pytest.mark.parametrize("order", ORDERS)
def test_whatever_the_writer_does_between_two_steps_each_event_comes_once(order: str, after: str) -> None:
    async def run() -> int:
        steps = ORDERS[order]
        ran = 0
        for places in distributions(len(steps)):
            if after and places[0] > 1:
                continue  # the event that was read before was written before
            world = World(steps, places)
            got = await follow(world, after)
            assert got == list(RECORDS[number_of(after) : 3]), places
            ran += 1
        return ran

    assert asyncio.run(run()) > 100


async def follow(world: World, after: str) -> list[Logged]:
    got: list[Any] = []
    pages = Follower(world.subscribe, world.read, KEY, after, 2)

    async def work() -> None:
        async for page in pages:
            got.extend(page)

    task = asyncio.ensure_future(work())
    idle = 0
    while idle < 2:
        for _ in range(8):
            await asyncio.sleep(0)
        idle = 0 if world.go_on() else idle + 1
    await pages.aclose()
    await task
    return got
