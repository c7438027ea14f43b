"""A real redis-server on this machine, as a fixture, and one that tests may kill."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
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


class CutsAnswers:
    """Between client and server; the first answer to a script never arrives."""

    def __init__(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._server = port
        self.cut = 0
        self._over = False
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        relays: list[threading.Thread] = []
        while not self._over:
            client, _ = self._listener.accept()
            relays.append(threading.Thread(target=self._relay, args=(client,)))
            relays[-1].start()
        for relay in relays:
            relay.join()

    def _relay(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self._server)) as server:
            while request := client.recv(1 << 20):
                server.sendall(request)
                answer = server.recv(1 << 20)
                if b"EVALSHA" in request and not self.cut and not answer.startswith(b"-NOSCRIPT"):
                    self.cut += 1
                    break
                client.sendall(answer)

    def close(self) -> None:
        self._over = True
        socket.create_connection(("127.0.0.1", self.port)).close()
        self._thread.join()
        self._listener.close()


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
