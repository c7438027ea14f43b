"""What only the store of files does."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentscope_rx import wire
from agentscope_rx.errors import StateConflictError, StateLoadError, StateSaveError
from agentscope_rx.state import AgentState
from agentscope_rx.store import ABSENT, JsonFileAgentStateStore, StateKey
from tests.store.backends import ANN, a_state
from tests.store.test_store_contract import ODD_NAMES
from tests.wire.goldens import java_text, lines


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "down"


@pytest.fixture
def store(root: Path) -> Iterator[JsonFileAgentStateStore]:
    store = JsonFileAgentStateStore(root, timeout=0.05)
    yield store
    asyncio.run(store.close())


@pytest.mark.asyncio
async def test_a_file_is_where_people_look_for_it(store: JsonFileAgentStateStore, root: Path) -> None:
    version = await store.save(ANN, a_state(ANN, 5), ABSENT)
    file = root / "u-ann" / "monday+friend.json"
    document = json.loads(file.read_text(encoding="utf-8"))

    assert document == wire.to_dict(a_state(ANN, 5)) | {"agent_name": "friend", "version": version}
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.asyncio
async def test_no_name_leaves_the_directory_or_is_too_long(
    store: JsonFileAgentStateStore, root: Path, tmp_path: Path
) -> None:
    for name in ODD_NAMES:
        await store.save(StateKey(name, name, name), AgentState(name, name), ABSENT, durable=False)
    files = [path for path in root.rglob("*") if path.is_file() and ".locks" not in path.parts]

    assert len(files) == len(ODD_NAMES)
    assert {len(file.relative_to(root).parts) for file in files} == {2}
    assert max(len(os.fsencode(part)) for file in files for part in file.relative_to(root).parts) < 143
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]


@pytest.mark.asyncio
async def test_nobody_else_may_read_what_is_said(store: JsonFileAgentStateStore, root: Path) -> None:
    await store.save(ANN, a_state(), ABSENT)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (root, *root.rglob("*"))}

    assert {mode & 0o077 for mode in modes.values()} == {0}


@pytest.mark.asyncio
@pytest.mark.parametrize("line", lines("agentstate"), ids=lambda line: json.loads(line)["name"])
async def test_a_file_that_java_wrote_is_read_and_saved_over(
    store: JsonFileAgentStateStore, root: Path, line: str
) -> None:
    state = wire.loads(AgentState, java_text(line))
    key = StateKey(state.user_id, state.session_id, "friend")
    await store.save(key, state, ABSENT)
    (file,) = root.rglob("*.json")
    file.write_text(java_text(line), encoding="utf-8", errors="surrogatepass")

    stored = await store.load(key)
    assert stored is not None
    assert stored.state == state
    with pytest.raises(StateConflictError):
        await store.save(key, state, "another")
    await store.save(key, state, stored.version)
    with pytest.raises(StateConflictError):
        await store.save(key, state, stored.version)


@pytest.mark.asyncio
async def test_a_file_of_another_agent_is_an_error(store: JsonFileAgentStateStore, root: Path) -> None:
    await store.save(ANN, a_state(), ABSENT)
    (root / "u-ann" / "monday+friend.json").rename(root / "u-ann" / "monday+foe.json")

    with pytest.raises(StateLoadError, match="it is the state of agent 'friend'"):
        await store.load(StateKey("ann", "monday", "foe"))


@pytest.mark.asyncio
async def test_a_long_name_that_cannot_be_read_is_an_error_of_the_list(
    store: JsonFileAgentStateStore, root: Path
) -> None:
    key = StateKey("ann", "s" * 100, "friend")
    await store.save(key, a_state(key), ABSENT)
    (file,) = root.rglob("*.json")
    for damaged, complaint in ((b"", "not JSON"), (b"{}", "does not say of which session")):
        file.write_bytes(damaged)
        with pytest.raises(StateLoadError, match=complaint):
            await store.list_sessions("ann")


@pytest.mark.asyncio
async def test_files_of_others_are_no_sessions(store: JsonFileAgentStateStore, root: Path) -> None:
    await store.save(ANN, a_state(), ABSENT)
    for name in ("notes.json", "monday+friend.tmp", "a+b.json~", ".DS_Store"):
        (root / "u-ann" / name).write_text("{}")

    assert await store.list_sessions("ann") == (ANN,)


@pytest.mark.asyncio
async def test_what_a_killed_process_left_is_written_over(store: JsonFileAgentStateStore, root: Path) -> None:
    await store.save(ANN, a_state(ANN, 1), ABSENT)
    (root / "u-ann" / "monday+friend.tmp").write_bytes(b"x" * 100_000)
    await store.save(ANN, a_state(ANN, 2), None)

    assert [path.name for path in (root / "u-ann").iterdir()] == ["monday+friend.json"]


@pytest.mark.asyncio
async def test_a_lock_that_nobody_releases_is_an_error(store: JsonFileAgentStateStore, root: Path) -> None:
    version = await store.save(ANN, a_state(ANN, 1), ABSENT)
    (lock,) = (root / ".locks").iterdir()
    with lock.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StateSaveError, match="could not be saved: TimeoutError: another process holds"):
            await store.save(ANN, a_state(ANN, 2), version)
        assert await store.load(ANN) is not None
    await store.save(ANN, a_state(ANN, 2), version)


@pytest.mark.asyncio
async def test_what_the_system_refuses_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    store = JsonFileAgentStateStore(tmp_path / "file")

    for use in (store.load(ANN), store.list_sessions("ann")):
        with pytest.raises(StateLoadError, match=r"could not be (loaded|listed): NotADirectoryError"):
            await use
    for save in (store.save(ANN, a_state(), ABSENT), store.save(ANN, a_state(), None)):
        with pytest.raises(StateSaveError, match=r"could not be saved: \w+Error"):
            await save
    await store.close()


@pytest.mark.asyncio
@pytest.mark.parametrize(("durable", "synced"), [(True, ["file", "folder"]), (False, ["file"])])
async def test_the_file_is_synced_always_and_the_directory_if_durable(
    store: JsonFileAgentStateStore, monkeypatch: pytest.MonkeyPatch, durable: bool, synced: list[str]
) -> None:
    await store.save(ANN, a_state(), ABSENT)
    calls: list[str] = []
    sync = os.fsync

    def watched(descriptor: int) -> None:
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    await store.save(ANN, a_state(), None, durable=durable)

    assert calls == synced


@pytest.mark.asyncio
async def test_a_disk_that_is_full_leaves_the_state_before(
    store: JsonFileAgentStateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = await store.save(ANN, a_state(ANN, 1), ABSENT)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StateSaveError, match="No space left on device"):
            await store.save(ANN, a_state(ANN, 2), version)

    await store.save(ANN, a_state(ANN, 3), version)
