"""The small decisions around a request."""

from __future__ import annotations

import asyncio
import gc
import warnings

import pytest

from agentscope_rx.model._http import _proxy, _sessions, is_loopback
from tests.model.loopback import events, serving
from tests.model.openai.test_model import HELLO, ask, model_at, text_of


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://127.8.8.8/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://localhost/v1", True),
        ("http://a.localhost/v1", True),
        ("http://10.0.0.1/v1", False),
        ("https://localhost.example.com/v1", False),
        ("nonsense", False),
    ],
)
def test_loopback_is_this_machine(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


def test_the_proxy_is_the_one_of_the_environment_but_never_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert _proxy("https://api.openai.com/v1") is None

    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    assert _proxy("https://api.openai.com/v1") == "http://proxy:3128"
    assert _proxy("https://127.0.0.1/v1") is None
    assert _proxy("https://inside.example/v1") is None
    assert _proxy("http://api.openai.com/v1") is None

    monkeypatch.setenv("all_proxy", "http://any:1")
    assert _proxy("http://api.openai.com/v1") == "http://any:1"


async def once() -> str:
    async with serving(events(*HELLO)) as server:
        answer = text_of(await ask(model_at(server.url)))
        assert len(_sessions) == 1
        return answer


def test_a_session_closes_with_its_loop() -> None:
    for _ in range(2):
        assert asyncio.run(once()) == "Hello"
        assert len(_sessions) == 0


def test_a_loop_that_was_never_shut_down_is_forgotten_by_the_next() -> None:
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(once()) == "Hello"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the caller left a session open, and is told
        loop.close()
        assert len(_sessions) == 1
        assert asyncio.run(once()) == "Hello"
        gc.collect()
    assert len(_sessions) == 0
