"""The fold of a reply's events to its message: pure, without Rx, step by step.

    own events   `_own`        those of the reply, each once, none behind its end
    → key        `*_steps`     a block's kind and `block_id`; a call's `tool_call_id`; or the message itself
    → group      `FoldState`   `text`, `thinking`, `data`: an open block each; `calls`: a `CallGroup` each
    → reduce     `*_steps`     the group with one event more; its `block()` is what it has become
    → message    `ReplyFold`   the blocks in order of opening, and what is said about the message as a whole

It is the chain of `examples/03_message_by_hand.py` (`own_events`, `key_of`, the groups with their `add` and
`blocks`, `message_of`) as one stage: a table of steps by event class, each of which finds its group by its
key. `ReplyFold.apply` is where to begin to read.
"""

from agentscope_rx.operators._fold._checkpoint import Seed as Seed, check_selection as check_selection
from agentscope_rx.operators._fold._ids import Ids as Ids
from agentscope_rx.operators._fold._reply import ReplyFold as ReplyFold
from agentscope_rx.operators._fold._state import Scope as Scope

__all__ = ["Ids", "ReplyFold", "Scope", "Seed", "check_selection"]
