"""Operators on streams of events."""

from agentscope_rx.operators._fold import ReplyFold as ReplyFold
from agentscope_rx.operators._fold_with import reduce_with as reduce_with, scan_with as scan_with
from agentscope_rx.operators._merge import merge as merge
from agentscope_rx.operators._to_msg import to_msg as to_msg

__all__ = ["ReplyFold", "merge", "reduce_with", "scan_with", "to_msg"]
