"""A real redis-server on this machine, as a fixture, and one that tests may kill."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PATIENCE = 20.0


class RedisServer:
    """A server that keeps what it acknowledged, also if it is killed; it listens on a free port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, or again with what it has on the disk; a port that was free a moment ago may not be."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.port = self.port or _free_port()
            if self._started(deadline):
                return
            self.kill()
            self.port = 0
        log = self._folder / "redis.log"
        pytest.fail(f"redis-server did not start: {log.read_text(encoding='utf-8') if log.exists() else ''}")

    def kill(self) -> None:
        """Kill it, as `kill -9` does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _started(self, deadline: float) -> bool:
        settings = f"""
            bind 127.0.0.1
            port {self.port}
            dir {self._folder}
            logfile {self._folder / "redis.log"}
            save ""
            appendonly yes
            appendfsync always
        """
        command = [server_command(), "-"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
        )
        assert self._process.stdin is not None
        with self._process.stdin as stdin:
            stdin.write(settings.encode())
        while time.monotonic() < deadline and self._process.poll() is None:
            if _answers(self.port):
                return True
            time.sleep(0.01)
        return False


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1.0) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16) == b"+PONG\r\n"
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def server_command() -> str:
    """Where redis-server is; a test that needs it skips, or under CI fails, where it is not."""
    command = shutil.which("redis-server")
    if command is not None:
        return command
    reason = "there is no redis-server; apt-get install redis-server, or what your system has for it"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One server for all tests; each has keys of its own."""
    server_command()
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    try:
        yield server
    finally:
        server.kill()
