"""The fold of a reply's events to its message, without Rx: pure, step by step."""

from agentscope_rx.operators._fold._reply import ReplyFold as ReplyFold, Scope as Scope

__all__ = ["ReplyFold", "Scope"]
