"""Operators on streams of events.

which events?     of_type, map_type, by_source, with_source, text
what do they say? to_msg, reduce_with, scan_with; ReplyFold is the fold without Rx
fewer of them?    merge is the rule
is all well?      well_formed, retry_before_first_event
"""

from agentscope_rx.operators._by_source import by_source as by_source
from agentscope_rx.operators._fold import ReplyFold as ReplyFold
from agentscope_rx.operators._fold_with import reduce_with as reduce_with, scan_with as scan_with
from agentscope_rx.operators._map_type import map_type as map_type
from agentscope_rx.operators._merge import merge as merge
from agentscope_rx.operators._of_type import of_type as of_type
from agentscope_rx.operators._retry_before_first_event import (
    retry_before_first_event as retry_before_first_event,
)
from agentscope_rx.operators._text import text as text
from agentscope_rx.operators._to_msg import to_msg as to_msg
from agentscope_rx.operators._well_formed import well_formed as well_formed
from agentscope_rx.operators._with_source import with_source as with_source

__all__ = [
    "ReplyFold",
    "by_source",
    "map_type",
    "merge",
    "of_type",
    "reduce_with",
    "retry_before_first_event",
    "scan_with",
    "text",
    "to_msg",
    "well_formed",
    "with_source",
]
