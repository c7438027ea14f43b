"""What may be given as tools: tools, functions, schemas, and objects with tools."""

from __future__ import annotations

from typing import Any, cast

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model import ToolSchema
from agentscope_rx.tool._external import external_tool
from agentscope_rx.tool._tool import Tool, tool

__all__ = ["tools_of"]


def tools_of(given: object) -> list[Tool[..., Any]]:
    """Return the tools of what was given.

    Errors: `ConfigurationError` for what is none.
    """
    if isinstance(given, Tool):
        return [_unless_unbound(cast("Tool[..., Any]", given))]
    if isinstance(given, ToolSchema):
        return [external_tool(given.name, given.description, given.parameters, strict=given.strict)]
    if isinstance(given, type):
        raise ConfigurationError(f"{given.__name__} is a class: give an object of it, {given.__name__}(…)")
    names = [
        name
        for cls in reversed(type(given).__mro__)
        for name, member in vars(cls).items()
        if isinstance(member, (Tool, staticmethod)) and isinstance(getattr(given, name, None), Tool)
    ]
    if names:
        return [getattr(given, name) for name in dict.fromkeys(names)]
    if callable(given):
        return [_unless_unbound(tool(given))]
    raise ConfigurationError(
        f"{given!r} is no tool: give a function, a @tool, or an object with @tool methods"
    )


def _unless_unbound(each: Tool[..., Any]) -> Tool[..., Any]:
    if each.signature.method:
        raise ConfigurationError(
            f"tool {each.name!r} is a method without its object: give the object, as in Toolkit(Weather())"
        )
    return each
