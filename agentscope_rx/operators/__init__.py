"""Operators on streams of events.

    from agentscope_rx import operators as agent_ops

select      of_type, map_type, by_source, with_source, text
fold        to_msg, to_msgs, snapshots, blocks; of your own: group_reduce, reduce_with, scan_with
merge       coalesce, merge
order       flat_map_sequential, switch_if_empty, retry_before_first_event
check       well_formed
"""

from agentscope_rx.operators._blocks import blocks as blocks
from agentscope_rx.operators._by_source import by_source as by_source
from agentscope_rx.operators._coalesce import coalesce as coalesce
from agentscope_rx.operators._flat_map_sequential import flat_map_sequential as flat_map_sequential
from agentscope_rx.operators._fold import ReplyFold as ReplyFold, Scope as Scope, Seed as Seed
from agentscope_rx.operators._fold_with import reduce_with as reduce_with, scan_with as scan_with
from agentscope_rx.operators._group_reduce import group_reduce as group_reduce
from agentscope_rx.operators._map_type import map_type as map_type
from agentscope_rx.operators._merge import merge as merge
from agentscope_rx.operators._of_type import of_type as of_type
from agentscope_rx.operators._retry_before_first_event import (
    retry_before_first_event as retry_before_first_event,
)
from agentscope_rx.operators._snapshots import Snapshot as Snapshot, snapshots as snapshots
from agentscope_rx.operators._switch_if_empty import switch_if_empty as switch_if_empty
from agentscope_rx.operators._text import text as text
from agentscope_rx.operators._to_msg import to_msg as to_msg
from agentscope_rx.operators._to_msgs import to_msgs as to_msgs
from agentscope_rx.operators._well_formed import well_formed as well_formed
from agentscope_rx.operators._with_source import with_source as with_source

__all__ = [
    "ReplyFold",
    "Scope",
    "Seed",
    "Snapshot",
    "blocks",
    "by_source",
    "coalesce",
    "flat_map_sequential",
    "group_reduce",
    "map_type",
    "merge",
    "of_type",
    "reduce_with",
    "retry_before_first_event",
    "scan_with",
    "snapshots",
    "switch_if_empty",
    "text",
    "to_msg",
    "to_msgs",
    "well_formed",
    "with_source",
]
