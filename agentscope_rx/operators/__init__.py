"""Operators on streams of events."""

from agentscope_rx.operators._merge import merge as merge

__all__ = ["merge"]
