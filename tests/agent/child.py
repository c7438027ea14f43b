"""A process whose children are killed in a call: `python -m tests.agent.child KIND PLACE FOLDER EVERY`.

For every so-manieth step of a call, one child is killed there and another one goes on with what is stored.
What they saw and did is in files, since a killed process tells nobody; this one, which is not killed, prints
it as JSON, a line for each step.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from reactivex import operators as ops

from agentscope_rx import _json, event as ev
from agentscope_rx.agent import ReActAgent, RuntimeContext
from agentscope_rx.message import ToolResultBlock
from agentscope_rx.state import AgentState
from agentscope_rx.store import StateKey, Versioned
from agentscope_rx.testing import ScriptedModel, tool_call
from agentscope_rx.tool import tool
from tests.store.backends import open_store


class Fuse:
    """Kills the process at the n-th step."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Stepping:
    """A store; before and behind all that it does is a step."""

    def __init__(self, kind: str, place: str, fuse: Fuse) -> None:
        self.inner = open_store(kind, place)
        self.fuse = fuse

    async def load(self, key: StateKey) -> Versioned | None:
        self.fuse.step()
        return await self.inner.load(key)

    async def save(
        self, key: StateKey, state: AgentState, expected: str | None, *, durable: bool = True
    ) -> str:
        self.fuse.step()
        version = await self.inner.save(key, state, expected, durable=durable)
        self.fuse.step()
        return version


class Notes:
    """Lines in a file that outlive the process."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def add(self, line: str) -> None:
        with self.file.open("a") as stream:
            stream.write(f"{line}\n")

    @property
    def lines(self) -> list[str]:
        return self.file.read_text().splitlines() if self.file.exists() else []


def answer(asked: Any) -> Any:
    """Two tools side by side, then two of which each runs alone, then an answer."""
    match len(asked.results):
        case 0:
            return ["Let me ", tool_call("work", name="a"), tool_call("work", name="b")]
        case 2:
            return ["and ", tool_call("work_alone", name="c"), tool_call("work_alone", name="d")]
        case _:
            return "done"


def made(kind: str, place: str, fuse: Fuse, done: Notes) -> ReActAgent:
    async def effect(name: str) -> str:
        await asyncio.sleep(0.001)
        fuse.step()
        done.add(name)
        fuse.step()
        await asyncio.sleep(0)
        return name

    @tool
    async def work(name: str) -> str:
        """Work."""
        return await effect(name)

    @tool(concurrency_safe=False)
    async def work_alone(name: str) -> str:
        """Work."""
        return await effect(name)

    store: Any = Stepping(kind, place, fuse)
    return ReActAgent("friend", model=ScriptedModel(answer), toolkit=[work, work_alone], state_store=store)


async def called(
    input: str | None, kind: str, place: str, session: str, fuse: Fuse, seen: Notes, done: Notes
) -> None:
    """Call, and note what reaches the subscriber."""

    def see(event: ev.AgentEvent) -> None:
        match event:
            case ev.AgentStartEvent(reply_id=reply):
                seen.add(f"start {reply}")
            case ev.ToolResultEndEvent(tool_call_id=call, state=state):
                fuse.step()
                seen.add(f"{state.value} {call}")
            case ev.AgentEndEvent():
                fuse.step()
                seen.add("end")
            case _:
                pass
        fuse.step()

    ctx = RuntimeContext(session, "ann")
    await made(kind, place, fuse, done).call(input, ctx).pipe(ops.do_action(see))


async def gone_on_with(kind: str, place: str, session: str, seen: Notes, done: Notes, found: Notes) -> None:
    """Go on with what is stored, and note what that was, and what it is then."""
    left = await noted(kind, place, session, found)
    if not left["finished"]:
        input = None if left["reply"] else "go"  # of nothing nobody goes on
        await called(input, kind, place, session, Fuse(0), seen, done)
    await noted(kind, place, session, found)


async def noted(kind: str, place: str, session: str, found: Notes) -> dict[str, Any]:
    """Note what is stored: the newest reply, its text, and by call what its result says."""
    store = open_store(kind, place)
    stored = await store.load(StateKey("ann", session, "friend"))
    await store.close()
    reply = None if stored is None else stored.state.context[-1]
    results = [] if reply is None else reply.get_content_blocks(ToolResultBlock)
    value = {
        "reply": reply and reply.id,
        "text": reply and reply.text_content,
        "results": {result.id: result.text_content for result in results},
        "finished": stored is not None and stored.state.checkpoint is None,
    }
    found.add(_json.dumps(value).decode())
    return value


def forked(work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
    """Run it in a process of its own; whether it came to its end."""
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(work())
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), status
    return status == 0


def main(kind: str, place: str, folder: str, every: str) -> None:
    for number in itertools.count(1, int(every)):
        session, files = f"session-{number}", Path(folder) / f"{number}"
        seen, done, again, found = (
            Notes(files.with_suffix(f".{name}")) for name in ("seen", "done", "again", "found")
        )
        survived = forked(partial(called, "go", kind, place, session, Fuse(number), seen, done))
        assert forked(partial(gone_on_with, kind, place, session, again, done, found))
        left, stored = map(_json.loads, found.lines)
        line = {"seen": seen.lines, "left": left, "again": again.lines, "done": done.lines, "stored": stored}
        print(_json.dumps(line).decode(), flush=True)
        if survived:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
