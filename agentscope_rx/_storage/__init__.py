"""What the stores of sessions and the logs of events are made of: names, threads, SQLite and Redis."""

from agentscope_rx._storage._failing import failing as failing
from agentscope_rx._storage._names import (
    decode as decode,
    encode as encode,
    encode_user as encode_user,
    is_shortened as is_shortened,
    joined as joined,
    shorten as shorten,
)
from agentscope_rx._storage._redis import connect as connect
from agentscope_rx._storage._sqlite import Database as Database
from agentscope_rx._storage._threads import Threads as Threads

__all__ = [
    "Database",
    "Threads",
    "connect",
    "decode",
    "encode",
    "encode_user",
    "failing",
    "is_shortened",
    "joined",
    "shorten",
]
