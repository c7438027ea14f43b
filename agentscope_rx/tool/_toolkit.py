"""The tools of an agent, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any

from attrs import evolve

from agentscope_rx._check import tuple_of
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model import ToolSchema
from agentscope_rx.tool._collect import tools_of
from agentscope_rx.tool._group import META_TOOL, ToolGroup, ToolGroupScope, meta_tool_of
from agentscope_rx.tool._tool import Tool

__all__ = ["Toolkit"]


class Toolkit:
    """The tools that an agent has: `Toolkit(search, Calculator(), ToolGroup("math", "Sums", [add]))`.

    1. It takes tools, functions (which become tools), objects, of which all `@tool` methods are taken,
       inherited ones too, schemas (which become external tools), and groups of these.
    2. It shows the tools outside of groups, and those of active groups: a tool in several groups while one of
       them is active. `view` is what a session sees whose active groups are others than the initial ones.
    3. It never changes, so that any number of sessions can share it; `with_tools` makes a larger one.

    Args:
        tools: tools, and what becomes tools.
        meta_tool: whether the model may choose the active groups, with `reset_equipped_tools`.
        objects: what tools get by their type in every call; what a call itself has comes before it.
        timeout: seconds for each tool that does not say itself; `math.inf` there means no limit.
        max_output: characters of output for each tool that does not say itself; `math.inf` as well.

    Errors: `ConfigurationError` for a name that comes twice, and for what is no tool.
    """

    def __init__(
        self,
        *tools: Tool[..., Any] | ToolGroup | ToolSchema | Callable[..., Any] | object,
        meta_tool: bool = False,
        objects: Iterable[Any] = (),
        timeout: float | None = None,
        max_output: float | None = None,
    ) -> None:
        self._given = tools
        self._options: dict[str, Any] = {
            "meta_tool": meta_tool,
            "objects": tuple_of(object, objects),
            "timeout": timeout,
            "max_output": max_output,
        }
        self._all: dict[str, Tool[..., Any]] = {}
        self._homes: dict[str, tuple[str, ...]] = {}
        self._groups: dict[str, ToolGroup] = {}
        for given in tools:
            if isinstance(given, Toolkit):
                raise ConfigurationError(
                    f"{given!r} is a toolkit and no tool: give it as toolkit=…, or its tools to one Toolkit"
                )
            if isinstance(given, ToolGroup) and given.name in self._groups:
                raise ConfigurationError(f"two groups are named {given.name!r}: join them, or rename one")
            if isinstance(given, ToolGroup):
                self._groups[given.name] = given
        if meta_tool:
            self._add(meta_tool_of(self._groups), ())
        for given in tools:
            home = (given.name,) if isinstance(given, ToolGroup) else ()
            for each in given.tools if isinstance(given, ToolGroup) else tools_of(given):
                self._add(each, home)
        self._active = frozenset(self.initial_groups)
        self._shown = self._of(self._active)

    def _add(self, given: Tool[..., Any], home: tuple[str, ...]) -> None:
        defaults = {
            name: self._options[name]
            for name in ("timeout", "max_output")
            if self._options[name] is not None and getattr(given, name) is None
        }
        each = evolve(given, **defaults) if defaults else given
        known = self._all.setdefault(each.name, each)
        homes = self._homes.get(each.name)
        in_another_group = bool(homes) and bool(home) and home[0] not in homes
        if homes is not None and not (in_another_group and known == each):
            raise ConfigurationError(
                f"two tools are named {each.name!r}: give one of them another, as in "
                f"@tool(name='other_{each.name}')"
            )
        self._homes[each.name] = (*(homes or ()), *home)

    def _of(self, active: frozenset[str]) -> dict[str, Tool[..., Any]]:
        homes = self._homes
        return {
            name: each
            for name, each in self._all.items()
            if not homes[name] or not active.isdisjoint(homes[name])
        }

    def with_tools(self, *tools: Tool[..., Any] | Callable[..., Any] | object) -> Toolkit:
        """Return a toolkit of these tools and more, with the same groups active."""
        larger = Toolkit(*self._given, *tools, **self._options)
        new = [name for name in larger.initial_groups if name not in self._groups]
        return larger.view([*self._active, *new])

    def view(self, active: Iterable[str]) -> Toolkit:
        """Return the toolkit as a session sees it in which these groups are active, and no others.

        Names that are no groups of it are passed over. A call of a tool that is not shown has an error
        result that names its group.
        """
        if not self._groups:
            return self
        wanted = frozenset(active) & self._groups.keys()
        if wanted == self._active:
            return self
        view = copy(self)
        view._active = wanted
        view._shown = self._of(wanted)
        return view

    def get(self, name: str) -> Tool[..., Any] | None:
        """Return the tool of that name, or None."""
        return self._shown.get(name)

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Return the tools as the model sees them, in the order in which they were given."""
        return tuple(each.schema for each in self._shown.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in the order in which they were given."""
        return tuple(self._shown)

    @property
    def objects(self) -> tuple[Any, ...]:
        """What tools get by their type in every call."""
        return self._options["objects"]

    @property
    def groups(self) -> tuple[ToolGroup, ...]:
        """All groups, in the order in which they were given."""
        return tuple(self._groups.values())

    @property
    def initial_groups(self) -> tuple[str, ...]:
        """The names of the groups that are active at the start of a session."""
        return tuple(group.name for group in self._groups.values() if group.active)

    @property
    def active_groups(self) -> tuple[str, ...]:
        """The names of the groups that are active here."""
        return tuple(name for name in self._groups if name in self._active)

    def groups_of(self, name: str) -> tuple[str, ...]:
        """Return the names of the groups that a tool is in, shown or not."""
        return self._homes.get(name, ())

    def why_hidden(self, name: str) -> str | None:
        """Return why a tool is not shown, in words for a model; None if it is, or if there is none."""
        homes = self._homes.get(name, ())
        if not homes or name in self._shown:
            return None
        names = ", ".join(map(repr, homes))
        which = (
            f"its group {names} is not active" if len(homes) == 1 else f"none of its groups {names} is active"
        )
        words = f"{name!r} is not available: {which}"
        mine = [home for home in homes if self._groups[home].scope is ToolGroupScope.META]
        if mine and self._options["meta_tool"]:
            return f"{words}. Activate {mine[0]!r} with {META_TOOL} and call it again"
        return words

    def __contains__(self, name: object) -> bool:
        return name in self._shown

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(self._shown.values())

    def __len__(self) -> int:
        return len(self._shown)

    def __repr__(self) -> str:
        return f"Toolkit({', '.join(self._shown)})"
