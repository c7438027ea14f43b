"""The fold of a reply's events to its message: pure, without Rx, step by step."""

from agentscope_rx.operators._fold._checkpoint import Seed as Seed, check_selection as check_selection
from agentscope_rx.operators._fold._ids import Ids as Ids
from agentscope_rx.operators._fold._reply import ReplyFold as ReplyFold
from agentscope_rx.operators._fold._state import Scope as Scope

__all__ = ["Ids", "ReplyFold", "Scope", "Seed", "check_selection"]
