"""Fixtures that many tests share, and names of tests that are the same in every process."""

import signal
from collections.abc import Generator

import pytest

from agentscope_rx.identity import deterministic
from tests.aimock import aimock as aimock
from tests.redis_server import redis_server as redis_server

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As in the background of a shell; programs that tests start would inherit it and hear no Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let values that tests are made of, and named after, have the same ids in each process that collects."""
    with deterministic():
        return (yield)
