"""What a model's name says about it: pure.

The API has one form for all models, but not every model takes everything in it.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = ["Known", "known"]

_NAME: Final = re.compile(
    r"claude-(?!instant|v?[12])(?:[a-z]+-)?(?:(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?)?"
)


class Known(NamedTuple):
    """What a model takes.

    Attributes:
        max_tokens: a limit to ask for where nobody said one: what it surely can write.
        budget: whether it takes a number of tokens to think.
        adaptive: whether it can find out by itself how much to think.
        schema: whether it can be held to a JSON schema.
    """

    max_tokens: int
    budget: bool
    adaptive: bool
    schema: bool


_OTHER: Final = Known(8192, budget=True, adaptive=False, schema=False)
"""A model of somebody else's that a server offers by this API."""


def known(model: str) -> Known:
    """Return what is known of a model: `known("claude-sonnet-4-5")`."""
    name = _NAME.search(model)
    if name is None:
        return _OTHER
    version = _version(name[1], name[2])
    return Known(
        max_tokens=4096 if version < (3, 5) else 8192 if version < (4, 0) else 32_000,
        budget=version < (4, 7),
        adaptive=version >= (4, 6),
        schema=version >= (4, 5),
    )


def _version(major: str | None, minor: str | None) -> tuple[int, int]:
    """A version; a name without one is that of a preview of what comes."""
    return (99 if major is None else int(major), int(minor or 0))
