"""One tool call, run."""

from agentscope_rx.tool._run._run import run_tool as run_tool

__all__ = ["run_tool"]
