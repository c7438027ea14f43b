"""Tools: functions that a model can call, and how a call runs."""

from agentscope_rx.tool._emitter import Cancelled as Cancelled, ToolEmitter as ToolEmitter
from agentscope_rx.tool._external import external_tool as external_tool
from agentscope_rx.tool._group import ToolGroup as ToolGroup, ToolGroupScope as ToolGroupScope
from agentscope_rx.tool._inject import Injected as Injected
from agentscope_rx.tool._retry import Retry as Retry
from agentscope_rx.tool._run import run_tool as run_tool
from agentscope_rx.tool._schema import json_schema as json_schema
from agentscope_rx.tool._todo import TodoItem as TodoItem, TodoTools as TodoTools
from agentscope_rx.tool._tool import Tool as Tool, tool as tool
from agentscope_rx.tool._toolkit import Toolkit as Toolkit

__all__ = [
    "Cancelled",
    "Injected",
    "Retry",
    "TodoItem",
    "TodoTools",
    "Tool",
    "ToolEmitter",
    "ToolGroup",
    "ToolGroupScope",
    "Toolkit",
    "external_tool",
    "json_schema",
    "run_tool",
    "tool",
]
