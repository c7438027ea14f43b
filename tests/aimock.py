"""`@copilotkit/aimock`, a simulator of providers' servers, as a fixture: real HTTP that others wrote.

```python
def test_x(aimock: AIMock) -> None:
    url = aimock(says("weather", "sunny"))  # …/v1 on this machine
```
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from tests.nodejs import find_node, without

AIMock: TypeAlias = Callable[..., str]

CLI = Path(__file__).parent / "node" / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
PATIENCE = 20.0


def says(
    user: str,
    content: str | None = None,
    *calls: dict[str, Any],
    after_tools: bool | None = None,
    after_result: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A fixture: what is answered when the newest user message holds `user`.

    `after_tools` tells the round before the tools from the one behind them; `after_result`, the one behind a
    result that holds a text.
    """
    match: dict[str, Any] = {"userMessage": user}
    match |= {} if after_tools is None else {"hasToolResult": after_tools}
    match |= {} if after_result is None else {"toolResultContains": after_result}
    response: dict[str, Any] = {} if content is None else {"content": content}
    if calls:
        response["toolCalls"] = list(calls)
    timing = {key: more.pop(key) for key in ("latency", "chunkSize", "truncateAfterChunks") if key in more}
    return {"match": match, "response": response | more, **timing}


def calls(name: str, /, id: str | None = None, **arguments: Any) -> dict[str, Any]:
    """A tool call in a fixture."""
    return {"name": name, "arguments": arguments} | ({} if id is None else {"id": id})


def journal(url: str) -> list[dict[str, Any]]:
    """The requests that a simulator got, as it understood them; any address on it will do."""
    parts = urlsplit(url)
    with urlopen(f"{parts.scheme}://{parts.netloc}/__aimock/journal", timeout=PATIENCE) as answer:
        return json.load(answer)


@pytest.fixture
def aimock(tmp_path: Path) -> Iterator[AIMock]:
    """Start simulators: called with fixtures, it returns the `base_url` of one that has them."""
    with ExitStack() as running:

        def start(*fixtures: dict[str, Any]) -> str:
            number = len(list(tmp_path.glob("aimock-*.json")))
            file, log = tmp_path / f"aimock-{number}.json", tmp_path / f"aimock-{number}.log"
            file.write_text(json.dumps({"fixtures": fixtures}), encoding="utf-8")
            output = running.enter_context(log.open("wb"))
            command = [_node(), str(CLI), "-p", "0", "-f", str(file), "--strict", "--validate-on-load"]
            process = running.enter_context(
                subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
            )
            running.callback(process.terminate)
            return f"{_address(process, log)}/v1"

        yield start


def _node() -> str:
    if not CLI.exists():
        without("@copilotkit/aimock is not installed; `npm ci --prefix tests/node` with Node 20 or newer")
    return find_node()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"listening on (http://\S+)", log.read_text(encoding="utf-8"))
        if found is not None:
            return found[1]
        time.sleep(0.02)
    pytest.fail(f"the simulator did not start: {log.read_text(encoding='utf-8')}")
