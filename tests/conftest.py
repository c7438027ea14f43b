"""Fixtures that many tests share, and names of tests that are the same in every process."""

from collections.abc import Generator

import pytest

from agentscope_rx.identity import deterministic
from tests.aimock import aimock as aimock
from tests.redis_server import redis_server as redis_server


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let values that tests are made of, and named after, have the same ids in each process that collects."""
    with deterministic():
        return (yield)
