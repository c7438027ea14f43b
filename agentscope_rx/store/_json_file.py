"""Sessions as JSON files that anyone can read."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from agentscope_rx._storage import (
    Threads,
    decode,
    encode,
    encode_user,
    failing,
    is_shortened,
    shorten,
)
from agentscope_rx.errors import ConfigurationError, StateError, StateLoadError, StateSaveError
from agentscope_rx.state import AgentState
from agentscope_rx.store._document import damaged, parse_document, read_document, write_document
from agentscope_rx.store._store import ABSENT, StateKey, Versioned, check_version, new_version

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None

__all__ = ["JsonFileAgentStateStore"]

_THREADS: Final = 4
_LOCKS: Final = 64
"""Lock files: sessions share them, so that there is none for each, and none has to be deleted."""


class JsonFileAgentStateStore:
    """Keeps each state in a file of its own, `<root>/<user>/<session>+<agent>.json`.

    1. The file is Java's `AgentState`, with `checkpoint`, `agent_name` and `version` added. One without a
       version, which Java or a person wrote, has that of its content.
    2. A save writes a file beside it, syncs it to the disk, and puts it in the place of the old one: whoever
       reads finds the one or the other. `durable` syncs the directory as well.
    3. Compare and set hold between processes of one machine, by locks on files; of network file systems, only
       of those that have such locks.

    Names are encoded so that no two are the same file and none leaves the directory, also where upper and
    lower case are the same; of long ones, a beginning and a hash. For POSIX systems.
    """

    def __init__(self, root: str | os.PathLike[str], *, timeout: float = 30.0) -> None:
        """Keep states below `root`, which is made when it is needed.

        `timeout` is how many seconds a save waits for one of another process.
        """
        if fcntl is None:  # pragma: no cover - Windows
            raise ConfigurationError("this system has no locks on files; use SQLiteAgentStateStore")
        self._root = Path(root).absolute()
        self._timeout = timeout
        self._threads = Threads(_THREADS, "agentscope-rx-json-file", StateError, "store")

    async def load(self, key: StateKey) -> Versioned | None:
        """Return what is stored, if anything is."""
        with failing(StateLoadError, f"{key} could not be loaded"):
            return await self._threads.run(self._load, key)

    async def save(
        self, key: StateKey, state: AgentState, expected: str | None, *, durable: bool = True
    ) -> str:
        """Store a state, if `expected` is the version that is stored."""
        with failing(StateSaveError, f"{key} could not be saved"):
            return await self._threads.run(self._save, key, state, expected, durable)

    async def delete(self, key: StateKey) -> bool:
        """Remove what is stored; say whether there was anything."""
        with failing(StateSaveError, f"{key} could not be deleted"):
            return await self._threads.run(self._delete, key)

    async def list_sessions(self, user_id: str | None) -> tuple[StateKey, ...]:
        """Return what is stored of a user."""
        with failing(StateLoadError, f"sessions of user {user_id!r} could not be listed"):
            return await self._threads.run(self._list, user_id)

    async def close(self) -> None:
        """Wait for what has begun, and end the threads."""
        await self._threads.close()

    def _file(self, key: StateKey) -> Path:
        user, session, agent = encode_user(key.user_id), encode(key.session_id), encode(key.agent_name)
        return self._root / shorten(user) / f"{shorten(session)}+{shorten(agent)}.json"

    def _load(self, key: StateKey) -> Versioned | None:
        try:
            text = self._file(key).read_bytes()
        except FileNotFoundError:
            return None
        members = parse_document(key, text)
        agent_name = members.get("agent_name", key.agent_name)
        if agent_name != key.agent_name:
            raise damaged(key, f"it is the state of agent {agent_name!r}")
        return Versioned(read_document(key, members), _version_of(members, text))

    def _save(self, key: StateKey, state: AgentState, expected: str | None, durable: bool) -> str:
        version = new_version()
        document = write_document(key, state, agent_name=key.agent_name, version=version)
        file = self._file(key)
        self._make_folder(file.parent)
        with self._locked(file):
            check_version(key, expected, _stored_version(key, file))
            _replace(file, document)
            if durable:
                _sync(file.parent)
        return version

    def _delete(self, key: StateKey) -> bool:
        file = self._file(key)
        if not file.parent.is_dir():
            return False
        with self._locked(file):
            try:
                file.unlink()
            except FileNotFoundError:
                return False
            _sync(file.parent)
        return True

    def _list(self, user_id: str | None) -> tuple[StateKey, ...]:
        try:
            files = list((self._root / shorten(encode_user(user_id))).iterdir())
        except FileNotFoundError:
            return ()
        keys = (_key_of(user_id, file) for file in files if fnmatchcase(file.name, "*+*.json"))
        return tuple(sorted(key for key in keys if key is not None))

    def _make_folder(self, folder: Path) -> None:
        for part in (self._root, folder):
            try:
                part.mkdir(mode=0o700, parents=True)
            except FileExistsError:
                continue
            _sync(part.parent)

    @contextmanager
    def _locked(self, file: Path) -> Generator[None]:
        number = crc32(os.fsencode(file.relative_to(self._root))) % _LOCKS
        locks = self._root / ".locks"
        self._make_folder(locks)
        lock = os.open(locks / f"{number:02x}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _lock(lock, time.monotonic() + self._timeout)
            yield
        finally:
            os.close(lock)


def _lock(lock: int, deadline: float) -> None:
    assert fcntl is not None
    pause = 0.0005
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError("another process holds the lock") from None
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


def _stored_version(key: StateKey, file: Path) -> str:
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return ABSENT
    try:
        return _version_of(parse_document(key, text), text)
    except StateLoadError:
        return _version_of({}, text)


def _version_of(members: dict[str, Any], text: bytes) -> str:
    version = members.get("version")
    return version if isinstance(version, str) and version else f"sha256:{sha256(text).hexdigest()}"


def _replace(file: Path, document: bytes) -> None:
    # One name for all, since only who holds the lock writes: what a killed process leaves is written over.
    new = file.with_suffix(".tmp")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(document)
        stream.flush()
        os.fsync(descriptor)
    new.replace(file)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _key_of(user_id: str | None, file: Path) -> StateKey | None:
    """Return whose state a file holds; None if it was deleted just now."""
    session, _, agent = file.stem.partition("+")
    if not is_shortened(file.stem):
        return StateKey(user_id, decode(session), decode(agent))
    key = StateKey(user_id, f"{session}…", f"{agent}…")
    try:
        members = parse_document(key, file.read_bytes())
    except FileNotFoundError:
        return None
    match members.get("session_id"), members.get("agent_name"):
        case str(session_id), str(agent_name):
            return StateKey(user_id, session_id, agent_name)
        case _:
            raise damaged(key, f"{file} does not say of which session and agent it is")
