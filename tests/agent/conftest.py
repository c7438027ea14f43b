"""Homes of sessions, as fixtures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agent.asking import HOMES, Home, homes


@pytest.fixture(params=HOMES)
def home(request: pytest.FixtureRequest) -> Iterator[Home]:
    """Each home of a session in turn: the test runs in all of them."""
    yield from homes(request.param, request)
