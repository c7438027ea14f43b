"""Two thousand conversations: whatever happens in them, the laws hold.

They are random mixes of all that models, tools, hooks, users and stores do, in virtual time; see
`conversations`. A failure names its seed, and how to play that one again.
"""

from __future__ import annotations

from typing import Final

import pytest

from agentscope_rx.testing import deterministic
from tests.laws.conversations.converse import converse
from tests.laws.conversations.seeds import play
from tests.laws.conversations.virtual_time import run

ALL: Final = range(2_000)
PART: Final = 50


@pytest.mark.parametrize("first", ALL[::PART], ids=lambda first: f"{first}-{first + PART - 1}")
def test_conversations_keep_the_laws(first: int) -> None:
    assert play(range(first, first + PART)) == PART


@pytest.mark.filterwarnings("ignore::agentscope_rx.errors.MiddlewareProtocolWarning")
@pytest.mark.parametrize("seed", [3, 7, 11, 1_000])
def test_a_conversation_is_the_same_whenever_it_is_played(seed: int) -> None:
    with deterministic():
        first = run(converse(seed))
    with deterministic():
        again = run(converse(seed))

    assert first
    assert first == again
