"""What the sessions of one conversation have in common: what the tools have done, and what went wrong."""

import asyncio
import threading
from collections import Counter, defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from random import Random
from typing import Any

from agentscope_rx.agent import ReActAgent, RuntimeContext
from agentscope_rx.event import AgentEvent
from tests.laws.conversations.virtual_time import VirtualLoop

__all__ = ["MARKS", "World", "mark_of"]

MARKS = ("anna", "bert", "cleo")
"""One for each session of a conversation; all that a session says has its own, and no other."""


class World:
    """What happens beside the events of one conversation.

    A call of a tool has a key, which begins with the mark of its session; no two calls have the same.

    Attributes:
        seed: makes all that is random.
        random: for what belongs to no session.
        wrong: what must not have happened.
        runs: how often the tool of a key was started.
        settled: keys whose calls have a final result.
        inner: what came out of the loop, inside `on_agent`, by mark: of the call that runs.
        agents: whom the session of a mark talks to.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.wrong: list[str] = []
        self.runs: Counter[str] = Counter()
        self.settled: set[str] = set()
        self.inner: defaultdict[str, list[AgentEvent]] = defaultdict(list)
        self.agents: dict[str, ReActAgent] = {}
        self._loop = asyncio.get_running_loop()
        self._working: defaultdict[str, set[str]] = defaultdict(set)
        self._alone: dict[str, str] = {}
        self._keys: Counter[str] = Counter()
        self._asked: Counter[str] = Counter()

    def new_key(self, mark: str) -> str:
        """Return the key of another call."""
        self._keys[mark] += 1
        return f"{mark}.{self._keys[mark]}"

    def dice(self, mark: str) -> Random:
        """Return what is random in the next answer of a session's model."""
        self._asked[mark] += 1
        return Random(f"{self.seed} {mark} {self._asked[mark]}")

    @contextmanager
    def work(self, ctx: RuntimeContext, key: str, *, alone: bool = False) -> Generator[None]:
        """Note that the tool of a call is at work."""
        mark = mark_of(ctx)
        is_thread = threading.current_thread() is not threading.main_thread()  # which cannot be stopped
        working = set[str]() if is_thread else self._working[mark]
        self.runs[key] += 1
        if not key.startswith(f"{mark}."):
            self.wrong.append(f"the call {key} runs in the session of {mark}")
        if key in self.settled:
            self.wrong.append(f"the call {key} runs again, although it has a result")
        if key in working:
            self.wrong.append(f"the call {key} runs twice at once")
        if mark in self._alone or (alone and working):
            self.wrong.append(f"the call {key} runs beside {working}, not all of which may run beside others")
        working.add(key)
        if alone:
            self._alone[mark] = key
        try:
            yield
        finally:
            working.discard(key)
            if alone:
                self._alone.pop(mark, None)

    def at_work(self, mark: str) -> set[str]:
        """Return the keys whose tools are at work in a session."""
        return set(self._working[mark])

    def sleep(self, seconds: float) -> None:
        """Let the thread of a tool wait."""
        assert isinstance(self._loop, VirtualLoop)
        self._loop.sleep(seconds)


def mark_of(value: Any) -> str:
    """Return the mark that a context, or the text of a system prompt, has."""
    text = str(value.session_id if isinstance(value, RuntimeContext) else value)
    return next(mark for mark in MARKS if mark in text)
