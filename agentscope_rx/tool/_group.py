"""Groups of tools, and the tool with which a model chooses among them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, final

from attrs import Attribute, evolve, field, frozen

from agentscope_rx._check import a, a_bool, a_str
from agentscope_rx._repr import Name
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import ToolResultBlock
from agentscope_rx.state import AgentState, SessionState
from agentscope_rx.tool._collect import tools_of
from agentscope_rx.tool._tool import Tool, tool

__all__ = ["META_TOOL", "ToolGroup", "ToolGroupScope", "meta_tool_of"]

META_TOOL: Final = "reset_equipped_tools"
"""The name of the meta tool."""


class ToolGroupScope(Name):
    """Who may activate a group."""

    META = "META"
    """The model, with the meta tool; and the application."""

    EXTERNAL = "EXTERNAL"
    """The application only, with `agent.update_state`, or in a tool that has the `SessionState`."""


def _tools(given: Iterable[Any]) -> tuple[Tool[..., Any], ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise ConfigurationError(
            f"the tools of a group are {given!r}; give a list, as [search, Calculator()]"
        )
    return tuple(each for item in given for each in tools_of(item))


def _a_name(_: object, __: Attribute[Any], name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError(f"{name!r} is no name for a group of tools; give a text that is not blank")


@final
@frozen
class ToolGroup:
    """Tools that a model sees only while the group is active: `ToolGroup("math", "Sums", [add, Primes()])`.

    Which groups are active is part of each session: `state.tool_context.activated_groups`.

    Attributes:
        name: the group's name.
        description: what the tools are good for, for the model.
        tools: functions, tools, and objects with tools, as a toolkit takes them.
        active: whether a session begins with it.
        scope: who may activate it.
    """

    name: str = field(validator=_a_name)
    description: str = field(default="", validator=a_str)
    tools: tuple[Tool[..., Any], ...] = field(default=(), converter=_tools)
    active: bool = field(default=True, kw_only=True, validator=a_bool)
    scope: ToolGroupScope = field(default=ToolGroupScope.META, kw_only=True, validator=a(ToolGroupScope))


def meta_tool_of(groups: Mapping[str, ToolGroup]) -> Tool[..., Any]:
    """Make the tool that sets which groups of a session are active, from the next reasoning phase on.

    1. `to_activate` names all groups of the scope META that are to be active; the others are not any more.
    2. Groups of the scope EXTERNAL stay as they are.
    3. A name that is none of these is an error, and nothing changes.

    Errors: `ConfigurationError` if there is no group to choose.
    """
    mine = {name: group for name, group in groups.items() if group.scope is ToolGroupScope.META}
    if not mine:
        raise ConfigurationError(
            "meta_tool=True, and no group to choose: give one, as ToolGroup('math', 'Sums', [add])"
        )

    async def reset(to_activate: list[str], state: SessionState) -> ToolResultBlock | str:
        unknown = [name for name in to_activate if name not in mine]
        if unknown:
            known = ", ".join(map(repr, mine))
            return ToolResultBlock.error(
                f"There is no group {', '.join(map(repr, unknown))}, so nothing has changed. "
                f"The groups are: {known}."
            )
        state.update(lambda state: _with(state, to_activate, groups))
        return _report([mine[name] for name in mine if name in to_activate])

    schema: dict[str, Any] = {
        "type": "array",
        "items": {"type": "string", "enum": list(mine)},
        "description": "The groups that are to be active; all others are put away.",
    }
    made = tool(
        name=META_TOOL, description=_description(mine.values()), concurrency_safe=False, read_only=True
    )
    parameters = {
        "type": "object",
        "properties": {"to_activate": schema},
        "required": ["to_activate"],
        "additionalProperties": False,
    }
    return evolve(made(reset), parameters=parameters)


def _with(state: AgentState, chosen: Collection[str], groups: Mapping[str, ToolGroup]) -> AgentState:
    """Return the state with these groups of the scope META active; the others stay as they are."""
    active = state.tool_context.activated_groups
    names = tuple(
        name
        for name, group in groups.items()
        if name in (chosen if group.scope is ToolGroupScope.META else active)
    )
    return evolve(state, tool_context=evolve(state.tool_context, activated_groups=names))


def _description(groups: Iterable[ToolGroup]) -> str:
    lines = [f"- {group.name}: {group.description}".rstrip(": ") for group in groups]
    return "\n".join(
        [
            "Choose the groups of tools that you have from your next turn on. Name all that you need: those "
            "that you leave out are put away. The groups are:",
            *lines,
        ]
    )


def _report(active: Iterable[ToolGroup]) -> str:
    lines = [f"- {group.name}: {', '.join(each.name for each in group.tools)}" for group in active]
    if not lines:
        return "None of your groups is active now."
    return "\n".join(["These groups are active now, with their tools:", *lines])
