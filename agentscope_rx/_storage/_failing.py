"""What the operating system, or a library, complains about as an error of ours."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from agentscope_rx.errors import AgentScopeError

__all__ = ["failing"]


@contextmanager
def failing(error: type[AgentScopeError], sentence: str, *kinds: type[Exception]) -> Generator[None]:
    """Turn what the operating system, or a library by these kinds, complains about into an error of ours."""
    try:
        yield
    except (OSError, *kinds) as reason:
        raise error(f"{sentence}: {type(reason).__name__}: {reason}") from reason
