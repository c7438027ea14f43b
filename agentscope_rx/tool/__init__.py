"""Tools: functions that a model can call, and how a call runs."""

from agentscope_rx.tool._emitter import Cancelled as Cancelled, ToolEmitter as ToolEmitter
from agentscope_rx.tool._run import run_tool as run_tool
from agentscope_rx.tool._todo import TodoItem as TodoItem, TodoTools as TodoTools
from agentscope_rx.tool._tool import Tool as Tool, tool as tool
from agentscope_rx.tool._toolkit import Toolkit as Toolkit

__all__ = ["Cancelled", "TodoItem", "TodoTools", "Tool", "ToolEmitter", "Toolkit", "run_tool", "tool"]
