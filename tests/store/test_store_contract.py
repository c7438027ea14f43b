"""What every store of sessions does, on each of them."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from agentscope_rx import wire
from agentscope_rx.errors import (
    ConfigurationError,
    StateConflictError,
    StateError,
    StateLoadError,
    StateSaveError,
)
from agentscope_rx.message import AssistantMessage, TextBlock, UserMessage
from agentscope_rx.permission import PermissionContextState, PermissionMode
from agentscope_rx.state import AgentState, SpawnEntry, Task, TaskContextState, ToolContextState
from agentscope_rx.store import ABSENT, AgentStateStore, StateKey
from tests.samples import MESSAGES, RULE
from tests.store.backends import ANN, KINDS, LASTING, Backend, a_state, count_up, make

ROOT: Final = Path(__file__).parent.parent.parent


@pytest.fixture(params=KINDS)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    yield from make(request.param, request)


@pytest.fixture(params=LASTING)
def lasting(request: pytest.FixtureRequest) -> Iterator[Backend]:
    yield from make(request.param, request)


@pytest.fixture
def store(backend: Backend) -> AgentStateStore:
    return backend.open()


async def loaded(store: AgentStateStore, key: StateKey = ANN) -> AgentState:
    stored = await store.load(key)
    assert stored is not None
    return stored.state


# What was saved is loaded.


@pytest.mark.asyncio
async def test_a_state_with_everything_is_loaded_by_another_store(backend: Backend) -> None:
    state = AgentState(
        ANN.session_id,
        ANN.user_id,
        "so far",
        MESSAGES[1:],
        "reply-1",
        7,
        True,
        PermissionContextState(PermissionMode.EXPLORE, allow_rules={"search": (RULE,)}),
        ToolContextState(activated_groups=("web",), spawn_registry={"k": SpawnEntry("k", depth=1)}),
        TaskContextState((Task("write tests"),)),
        checkpoint={"version": 1, "blocks": [{"text": "x\ud83d\u2028\x00", "big": 2**70, "none": None}]},
    )
    version = await backend.open().save(ANN, state, ABSENT)
    stored = await backend.open().load(ANN)

    assert stored is not None
    assert (stored.state, stored.version) == (state, version)
    assert stored.state.checkpoint == state.checkpoint


@pytest.mark.asyncio
async def test_a_large_state_is_loaded(store: AgentStateStore) -> None:
    messages = [AssistantMessage("friend", [TextBlock(f"{n} " + "é" * 2000)]) for n in range(1000)]
    state = a_state(ANN, 1, *messages)
    await store.save(ANN, state, ABSENT)

    assert await loaded(store) == state


@pytest.mark.asyncio
async def test_a_state_as_deep_as_the_wire_lets_through_is_loaded(store: AgentStateStore) -> None:
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"a": deep}
    state = a_state(ANN, 1, UserMessage("hi", metadata={"deep": deep}))
    await store.save(ANN, state, ABSENT)

    assert await loaded(store) == state


@pytest.mark.asyncio
async def test_what_is_not_there_is_none_and_no_error(store: AgentStateStore) -> None:
    await store.save(ANN, a_state(), ABSENT)

    assert await store.load(StateKey("ann", "tuesday", "friend")) is None
    assert await store.load(StateKey("ann", "monday", "foe")) is None
    assert await store.load(StateKey(None, "monday", "friend")) is None
    assert await store.list_sessions("bob") == ()
    assert await store.delete(StateKey("bob", "monday", "friend")) is False


@pytest.mark.asyncio
async def test_a_store_that_nobody_has_used_is_empty(store: AgentStateStore) -> None:
    assert await store.load(ANN) is None
    assert await store.delete(ANN) is False
    assert await store.list_sessions("ann") == ()


@pytest.mark.asyncio
async def test_what_was_deleted_is_gone_and_nothing_else(store: AgentStateStore) -> None:
    other = StateKey("ann", "tuesday", "friend")
    for key in (ANN, other):
        await store.save(key, a_state(key), ABSENT)

    assert await store.delete(ANN) is True
    assert await store.load(ANN) is None
    assert await store.delete(ANN) is False
    assert await store.list_sessions("ann") == (other,)
    assert await loaded(store, other) == a_state(other)


# Compare and set.


@pytest.mark.asyncio
async def test_a_save_over_another_version_is_refused_and_changes_nothing(store: AgentStateStore) -> None:
    first = await store.save(ANN, a_state(ANN, 1), ABSENT)
    second = await store.save(ANN, a_state(ANN, 2), first)

    for expected, complaint in ((first, "somebody else has saved it"), (ABSENT, "it is there already")):
        with pytest.raises(
            StateConflictError, match=f"session 'monday' of user 'ann'.*{complaint}"
        ) as caught:
            await store.save(ANN, a_state(ANN, 3), expected)
        assert (caught.value.expected, caught.value.found) == (expected, second)
    assert (await loaded(store)).cur_iter == 2


@pytest.mark.asyncio
async def test_a_save_over_what_was_deleted_is_refused(store: AgentStateStore) -> None:
    version = await store.save(ANN, a_state(), ABSENT)
    await store.delete(ANN)

    with pytest.raises(StateConflictError, match="it was deleted since") as caught:
        await store.save(ANN, a_state(), version)
    assert caught.value.found == ABSENT
    assert await store.load(ANN) is None


@pytest.mark.asyncio
async def test_a_version_never_comes_again(store: AgentStateStore) -> None:
    versions = [await store.save(ANN, a_state(), None) for _ in range(3)]
    await store.delete(ANN)
    versions.append(await store.save(ANN, a_state(), ABSENT))

    assert len({*versions, ABSENT}) == 5
    with pytest.raises(StateConflictError):
        await store.save(ANN, a_state(), versions[0])


@pytest.mark.asyncio
async def test_without_an_expected_version_anything_is_saved_over(store: AgentStateStore) -> None:
    await store.save(ANN, a_state(ANN, 1), None)
    await store.save(ANN, a_state(ANN, 2), None)

    assert (await loaded(store)).cur_iter == 2


@pytest.mark.asyncio
@pytest.mark.parametrize("durable", [True, False])
async def test_of_many_saves_of_the_same_exactly_one_wins(backend: Backend, durable: bool) -> None:
    stores = [backend.open() for _ in range(4)]
    version = await stores[0].save(ANN, a_state(), ABSENT)
    saves = (store.save(ANN, a_state(ANN, 1), version, durable=durable) for store in stores for _ in range(5))
    outcomes = await asyncio.gather(*saves, return_exceptions=True)

    assert sum(isinstance(outcome, str) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, StateConflictError) for outcome in outcomes) == 19


@pytest.mark.asyncio
async def test_tasks_that_count_lose_no_count(backend: Backend) -> None:
    stores = [backend.open(), backend.open()]
    await asyncio.gather(*(count_up(store, 3) for store in stores * 4))

    assert_counted(await loaded(stores[0]), 24)


def test_threads_that_count_lose_no_count(backend: Backend) -> None:
    store = backend.open()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            asyncio.run(count_up(store, 6))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert_counted(asyncio.run(loaded(store)), 24)


def test_processes_that_count_lose_no_count(lasting: Backend) -> None:
    command = [sys.executable, "-m", "tests.store.child", "count", lasting.kind, lasting.place]
    children = [subprocess.Popen(command, cwd=ROOT) for _ in range(3)]

    assert [child.wait(60) for child in children] == [0, 0, 0]
    assert_counted(asyncio.run(loaded(lasting.open())), 30)


def assert_counted(state: AgentState, number: int) -> None:
    assert state.cur_iter == number
    assert [msg.text_content for msg in state.context] == [f"message {n + 1}" for n in range(number)]


# Names.

ODD_NAMES: Final = (
    "",
    " ",
    ".",
    "..",
    "../../etc/passwd",
    "/",
    "a/b",
    "a\\b",
    "C:\\x",
    "con",
    "NUL",
    "nul.txt",
    ".hidden",
    "-rf",
    "ann",
    "Ann",
    "ANN",
    "u-ann",
    "anonymous",
    "__anon__",
    "None",
    "é",
    "e\u0301",
    "日本",
    "\U0001f469\u200d\U0001f467",
    "a\x00b",
    "a\nb",
    "\u202e",
    "x\ud83d",
    "a+b",
    "a+b.json",
    "a:b",
    "a~b",
    "{a}",
    "*",
    "%",
    "%41",
    "A",
    "a" * 64,
    "a" * 65,
    "a" * 5000,
    "a" * 4999 + "b",
    "É" * 300,
    "' OR 1=1 --",
)


@pytest.mark.asyncio
async def test_names_of_any_characters_are_sessions_of_their_own(store: AgentStateStore) -> None:
    keys = [
        *(StateKey("ann", name, "friend") for name in ODD_NAMES),
        *(StateKey("ann", "monday", name) for name in ODD_NAMES),
        *(StateKey(name, "monday", "friend") for name in (*ODD_NAMES, None) if name != "ann"),
        StateKey("ann", "a", "+b"),
        StateKey("ann", "a+", "b"),
    ]
    assert len(keys) == len(set(keys))
    for number, key in enumerate(keys):
        await store.save(key, a_state(key, number), ABSENT, durable=False)

    for number, key in enumerate(keys):
        assert await loaded(store, key) == a_state(key, number)
    for user in {key.user_id for key in keys}:
        mine = await store.list_sessions(user)
        assert mine == tuple(sorted(key for key in keys if key.user_id == user))
    assert [await store.delete(key) for key in keys] == [True] * len(keys)


@pytest.mark.asyncio
async def test_the_halves_of_a_character_are_the_character(store: AgentStateStore) -> None:
    halves, whole = StateKey("\ud83d\ude00", "\ud83d\ude00", "f"), StateKey("\U0001f600", "\U0001f600", "f")
    await store.save(halves, AgentState("\ud83d\ude00", "\ud83d\ude00"), ABSENT)

    assert halves == whole
    assert await store.list_sessions("\U0001f600") == (whole,)
    assert (await store.load(whole)) is not None


@pytest.mark.asyncio
async def test_a_state_of_another_session_is_refused(store: AgentStateStore) -> None:
    for state in (AgentState("tuesday", "ann"), AgentState("monday", None), AgentState("monday", "bob")):
        with pytest.raises(ConfigurationError, match="it cannot be saved as session 'monday' of user 'ann'"):
            await store.save(ANN, state, ABSENT)
    assert await store.load(ANN) is None


# Many at once, on any loop.


@pytest.mark.asyncio
async def test_sessions_at_once_hold_only_their_own(store: AgentStateStore) -> None:
    keys = [StateKey(f"user-{n % 5}", f"session-{n}", "friend") for n in range(40)]
    await asyncio.gather(*(count_up(store, 3, key) for key in keys))

    for key in keys:
        assert_counted(await loaded(store, key), 3)
        assert (await loaded(store, key)).session_id == key.session_id
    assert len(await store.list_sessions("user-0")) == 8


def test_a_store_serves_one_loop_after_the_other(store: AgentStateStore) -> None:
    for _ in range(3):
        asyncio.run(count_up(store, 2))

    assert_counted(asyncio.run(loaded(store)), 6)


@pytest.mark.asyncio
async def test_a_cancelled_save_is_whole_or_not_at_all(store: AgentStateStore) -> None:
    for number in range(1, 21):
        await store.save(ANN, a_state(ANN, 0), None)
        saving = asyncio.ensure_future(store.save(ANN, a_state(ANN, number), None))
        await asyncio.sleep(number * 0.0001)
        saving.cancel()
        await asyncio.wait([saving])
        await store.save(StateKey("ann", "other", "friend"), AgentState("other", "ann"), None)

        assert (await loaded(store)).cur_iter in (0, number)


# What cannot be written or read.


@pytest.mark.asyncio
@pytest.mark.parametrize("wrong", [object(), float("nan"), {1: 2}])
async def test_what_json_cannot_hold_is_refused_and_the_state_before_stays(
    lasting: Backend, wrong: object
) -> None:
    store = lasting.open()
    version = await store.save(ANN, a_state(ANN, 1), ABSENT)

    with pytest.raises(StateSaveError, match=r"cannot be saved: \$\.context\[0\]\.metadata\.x"):
        await store.save(ANN, a_state(ANN, 2, UserMessage("hi", metadata={"x": wrong})), version)
    assert (await loaded(store)).cur_iter == 1


DAMAGE: Final[dict[str, Callable[[bytes], bytes]]] = {
    "nothing": lambda document: b"",
    "zeros": lambda document: bytes(len(document)),
    "half": lambda document: document[: len(document) // 2],
    "twice": lambda document: document * 2,
    "null": lambda document: b"null",
    "an array": lambda document: b"[]",
    "an empty object": lambda document: b"{}",
    "a wrong type": lambda document: document.replace(b'"cur_iter":1', b'"cur_iter":"1"'),
    "another session": lambda document: document.replace(b'"monday"', b'"tuesday"'),
    "another user": lambda document: document.replace(b'"ann"', b"null"),
    "an unknown block": lambda document: document.replace(b'"type":"text"', b'"type":"newer"'),
    "no UTF-8": lambda document: document.replace(b"hello", b"h\xffllo"),
}


@pytest.mark.asyncio
@pytest.mark.parametrize("damage", DAMAGE)
async def test_damage_is_an_error_and_never_an_empty_session(lasting: Backend, damage: str) -> None:
    store = lasting.open()
    version = await store.save(ANN, a_state(ANN, 1, UserMessage("hello")), ABSENT)
    document = lasting.read(ANN)
    lasting.write(ANN, DAMAGE[damage](document))
    assert lasting.read(ANN) != document

    with pytest.raises(StateLoadError, match=r"session 'monday' of user 'ann'"):
        await store.load(ANN)
    with pytest.raises(StateConflictError):
        await store.save(ANN, a_state(), ABSENT)
    assert await store.list_sessions("ann") == (ANN,)
    with pytest.raises(StateConflictError):
        await store.save(ANN, a_state(), version[::-1])

    assert await store.delete(ANN) is True
    assert await store.load(ANN) is None
    await store.save(ANN, a_state(), ABSENT)
    lasting.write(ANN, DAMAGE[damage](document))
    await store.save(ANN, a_state(ANN, 2), None)
    assert (await loaded(store)).cur_iter == 2


@pytest.mark.asyncio
async def test_the_document_is_what_java_stores_with_ours_added(lasting: Backend) -> None:
    state = a_state(ANN, 1, *MESSAGES[2:])
    await lasting.open().save(ANN, state, ABSENT)
    document = lasting.read(ANN)

    added = {b"checkpoint": None, b"agent_name": "friend", b"version": "…"}
    members = wire.loads(dict[str, Any], document)
    java = wire.to_dict(state, java=True)
    assert list(members)[: len(java)] == list(java)
    assert {name.encode() for name in members} - {name.encode() for name in java} <= added.keys()
    lasting.write(ANN, wire.dumps(java))
    assert await loaded(lasting.open()) == wire.from_dict(AgentState, java)


# The end.


@pytest.mark.asyncio
async def test_a_closed_store_says_so_and_can_be_closed_again(store: AgentStateStore) -> None:
    await store.save(ANN, a_state(), ABSENT)
    await store.close()
    await store.close()

    for use in (
        store.load(ANN),
        store.save(ANN, a_state(), None),
        store.delete(ANN),
        store.list_sessions("ann"),
    ):
        with pytest.raises(StateError, match="the store is closed"):
            await use


@pytest.mark.asyncio
async def test_close_waits_for_what_has_begun_and_leaves_nothing_open(lasting: Backend) -> None:
    before = {*threading.enumerate()}, open_files(lasting)
    store = lasting.open()
    keys = [StateKey("ann", f"s{n}", "friend") for n in range(20)]
    saves = [asyncio.ensure_future(store.save(key, a_state(key), ABSENT)) for key in keys]
    await asyncio.sleep(0)
    await store.close()
    outcomes = await asyncio.gather(*saves, return_exceptions=True)
    lasting.opened.remove(store)
    del store
    gc.collect()

    loops_own = {thread for thread in threading.enumerate() if thread.name.startswith("asyncio")}
    assert ({*threading.enumerate()} - loops_own, open_files(lasting)) == before
    acknowledged = [key for key, outcome in zip(keys, outcomes, strict=True) if isinstance(outcome, str)]
    assert {*acknowledged} <= {*await lasting.open().list_sessions("ann")}


def open_files(backend: Backend) -> list[str]:
    """The files of this process that belong to the data, and its connections."""
    links: list[str] = []
    for file in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that has listed them
            links.append(str(file.readlink()))
    return sorted(link for link in links if link.startswith((backend.place, "socket:")))


# Killed.


@pytest.mark.parametrize("mode", ["at every line", "at any time"])
def test_a_killed_process_loses_nothing_that_was_acknowledged(lasting: Backend, mode: str) -> None:
    """`kill -9` before each line of a save, and at random moments of many saves."""
    command = [sys.executable, "-m", "tests.store.child", mode, lasting.kind, lasting.place]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)

    assert (child.returncode, child.stderr) == (0, "")
    acknowledged = dict(line.split() for line in child.stdout.splitlines())
    assert len(acknowledged) >= 10
    more = asyncio.run(kept(lasting.open(), {name: int(count) for name, count in acknowledged.items()}))
    assert set(more) <= {0, 1}, "what was under way may be there, nothing else"
    assert mode == "at any time" or set(more) == {0, 1}, "some are killed before it is written, some behind"


async def kept(store: AgentStateStore, acknowledged: dict[str, int]) -> list[int]:
    """By how many saves more than acknowledged the sessions are ahead; each can be saved again."""
    keys = {name: StateKey("ann", name, "friend") for name in acknowledged}
    more: list[int] = []
    for name, count in acknowledged.items():
        stored = await store.load(keys[name])
        found = ABSENT if stored is None else stored.version
        more.append((0 if stored is None else stored.state.cur_iter) - count)
        await store.save(keys[name], a_state(keys[name], 99), found)
    assert await store.list_sessions("ann") == tuple(sorted(keys.values()))
    return more
