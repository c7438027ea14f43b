"""A whole conversation, from its seed."""

import asyncio
import random
from typing import Any

from tests.laws.conversations.agents import Maker
from tests.laws.conversations.cuts import BoomError
from tests.laws.conversations.session import Session
from tests.laws.conversations.virtual_time import tool_threads
from tests.laws.conversations.world import MARKS, World

__all__ = ["converse"]


async def converse(seed: int) -> str:
    """Play the conversation of a seed: one to three sessions of one agent, side by side; return its log.

    Errors: `AssertionError` where something is not as it should be.
    """
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    random.seed(seed)  # the pauses between attempts are random, too
    world = World(seed)
    maker = Maker.of(world)
    marks = MARKS[: world.random.choice([1, 1, 1, 2, 2, 3])]
    shared = maker.agent(world.random)
    sessions = [
        Session.begin(world, mark, [each for each in marks if each != mark], maker, shared) for mark in marks
    ]
    await asyncio.gather(*[session.play() for session in sessions])

    logs = "\n".join(line for session in sessions for line in session.log)
    assert world.wrong == [], f"{world.wrong}\n{logs}"
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"L5: tasks stay behind: {left}"
    while tool_threads():  # those that were left: they end when they next emit
        await asyncio.sleep(0.01)
    strange = [context for context in reported if not isinstance(context.get("exception"), BoomError)]
    assert strange == [], f"reported to the loop: {strange}\n{logs}"
    return logs
