"""What may be given as tools: tools, functions, schemas, objects with tools, and objects that are tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, cast, runtime_checkable

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model import ToolSchema
from agentscope_rx.tool._external import external_tool
from agentscope_rx.tool._tool import Tool, tool

__all__ = ["tools_of"]


@runtime_checkable
class GivesTools(Protocol):
    """An object that is a tool, or several."""

    def as_tools(self) -> Iterable[Tool[..., Any]]:
        """Give them."""
        ...


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
    if isinstance(given, GivesTools):
        return [_unless_unbound(each) for each in given.as_tools()]
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
