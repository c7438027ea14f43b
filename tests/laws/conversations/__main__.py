"""Play the conversations of some seeds again: `python -m tests.laws.conversations 17 1204`."""

import sys

from tests.laws.conversations.seeds import play

if __name__ == "__main__":
    play(map(int, sys.argv[1:]))
