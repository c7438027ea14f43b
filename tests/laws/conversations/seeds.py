"""Conversations, one after the other."""

import gc
import random
import sys
import warnings
from collections.abc import Iterable
from typing import Any

from agentscope_rx.errors import MiddlewareProtocolWarning
from tests.laws.conversations.converse import converse
from tests.laws.conversations.virtual_time import run

__all__ = ["play"]


def play(seeds: Iterable[int]) -> int:
    """Play the conversations of the seeds; return how many they were.

    Warnings are errors, and so is what goes wrong where nobody can catch it.

    Errors: those of the first one that goes wrong, with its seed as a note.
    """
    lost: list[Any] = []
    count = 0
    before, sys.unraisablehook = sys.unraisablehook, lost.append
    chance = random.getstate()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MiddlewareProtocolWarning)
        try:
            for seed in seeds:
                try:
                    run(converse(seed))
                    assert lost == [], f"raised where nobody could catch it: {lost}"
                except Exception as error:
                    error.add_note(f"seed {seed}: python -m tests.laws.conversations {seed}")
                    raise
                count += 1
            gc.collect()
            assert lost == [], f"raised where nobody could catch it, in one of {count} seeds: {lost}"
        finally:
            sys.unraisablehook = before
            random.setstate(chance)
    return count
