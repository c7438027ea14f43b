"""The tools of an agent, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model import ToolSchema
from agentscope_rx.tool._tool import Tool, tool

__all__ = ["Toolkit"]


class Toolkit:
    """The tools that an agent has: `Toolkit(search, Calculator())`.

    A tool, a function (which becomes one), or an object, of which all `@tool` methods are taken, inherited
    ones too. It never changes, so that any number of sessions can share it; `with_tools` makes a larger one.

    Errors: `ConfigurationError` for a name that comes twice, and for what is no tool.
    """

    def __init__(self, *tools: Tool[..., Any] | Callable[..., Any] | object) -> None:
        self._tools: dict[str, Tool[..., Any]] = {}
        for given in tools:
            for each in _tools_of(given):
                if each.name in self._tools:
                    raise ConfigurationError(
                        f"two tools are named {each.name!r}: give one of them another, as in "
                        f"@tool(name='other_{each.name}')"
                    )
                self._tools[each.name] = each

    def with_tools(self, *tools: Tool[..., Any] | Callable[..., Any] | object) -> Toolkit:
        """Return a toolkit of these tools and more."""
        return Toolkit(*self._tools.values(), *tools)

    def get(self, name: str) -> Tool[..., Any] | None:
        """Return the tool of that name, or None."""
        return self._tools.get(name)

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Return the tools as the model sees them, in the order in which they were given."""
        return tuple(each.schema for each in self._tools.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in the order in which they were given."""
        return tuple(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"Toolkit({', '.join(self._tools)})"


def _tools_of(given: object) -> list[Tool[..., Any]]:
    if isinstance(given, Tool):
        return [_unless_unbound(cast("Tool[..., Any]", given))]
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
