"""Agents that a model can spawn: declared by the application, each spawned one in a session of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, final

from attrs import Attribute, evolve, field, frozen

from agentscope_rx._check import a_str_or_none
from agentscope_rx.agent._children import Children
from agentscope_rx.agent._subagent import Talk, talk
from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import SubagentExposedEvent
from agentscope_rx.message import ContentBlock, TextBlock, ToolResultBlock, ToolResultState, ToolUseBlock
from agentscope_rx.state import AgentState, SessionState, SpawnEntry
from agentscope_rx.tool import Tool, Toolkit, tool

if TYPE_CHECKING:
    from agentscope_rx.agent._agent import Agent

__all__ = ["EXPOSE_TO_USER", "SubagentDeclaration", "declared", "with_spawning"]

EXPOSE_TO_USER: Final = "agentscope.subagent.expose_to_user"
"""The attribute of a `RuntimeContext` that says for a whole call whether spawned agents are exposed."""


def _an_agent(_: object, __: Attribute[Any], agent: object) -> None:
    if not (isinstance(getattr(agent, "name", None), str) and callable(getattr(agent, "call", None))):
        raise ConfigurationError(f"{agent!r} is no agent; give one, as SubagentDeclaration(ReActAgent(…))")


def _a_choice(_: object, attribute: Attribute[Any], choice: object) -> None:
    if choice not in (True, False, None):
        raise ConfigurationError(
            f"{attribute.name} is {choice!r}; give True, False, or None: the model decides"
        )


@final
@frozen
class SubagentDeclaration:
    """An agent that the model may spawn: `SubagentDeclaration(researcher, label="Research")`.

    Attributes:
        agent: the agent; the model is told its `name` and `description`.
        label: what it is called in a UI, where the model gives no label.
        expose_to_user: whether the user can talk to those that are spawned; None leaves it to the model.
    """

    agent: Agent = field(validator=_an_agent)
    label: str | None = field(default=None, validator=a_str_or_none)
    expose_to_user: bool | None = field(default=None, validator=_a_choice)

    @property
    def name(self) -> str:
        """The agent's name, by which the model spawns it."""
        return self.agent.name


def declared(subagents: Iterable[Agent | SubagentDeclaration]) -> tuple[SubagentDeclaration, ...]:
    """Read what was declared.

    Errors: `ConfigurationError` for what is no agent, and for a name that comes twice.
    """
    if isinstance(subagents, str) or not isinstance(subagents, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise ConfigurationError(f"subagents is {subagents!r}; give a list of agents, as [researcher]")
    found = tuple(
        each if isinstance(each, SubagentDeclaration) else SubagentDeclaration(each) for each in subagents
    )
    names = [each.name for each in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigurationError(f"two subagents are named {twice!r}: rename one")
    return found


def with_spawning(toolkit: Toolkit, subagents: Iterable[SubagentDeclaration]) -> Toolkit:
    """Return a toolkit with the tools that spawn the declared agents and talk to them; once.

    Errors: `ConfigurationError` if other tools have their names.
    """
    spawning = _Spawning({each.name: each for each in subagents})
    known = toolkit.get("agent_spawn")
    if not spawning.agents or (known is not None and getattr(known.function, "__self__", None) == spawning):
        return toolkit
    return toolkit.with_tools(*spawning.tools())


@frozen
class _Spawning:
    """The tools about declared agents, by name."""

    agents: Mapping[str, SubagentDeclaration] = field(hash=False)

    def tools(self) -> Iterable[Tool[..., Any]]:
        """Make the tools."""
        spawn = tool(name="agent_spawn", description=self._description())(self.spawn)
        parameters: Any = spawn.parameters
        properties = {
            **parameters["properties"],
            "agent_id": {**parameters["properties"]["agent_id"], "enum": list(self.agents)},
        }
        yield evolve(spawn, parameters={**parameters, "properties": properties})
        yield tool(name="agent_send")(self.send)

    def _description(self) -> str:
        lines = [
            f"- {name}: {getattr(each.agent, 'description', '')}".rstrip(": ")
            for name, each in self.agents.items()
        ]
        return "\n".join(
            [
                "Spawn an agent that works on a task by itself, and wait for its answer. It sees nothing "
                "of this conversation. The result begins with its agent_key, by which agent_send finds it "
                "again. The agents are:",
                *lines,
            ]
        )

    async def spawn(
        self,
        agent_id: str,
        call: ToolUseBlock,
        ctx: RuntimeContext,
        children: Children,
        session: SessionState,
        task: str = "",
        label: str | None = None,
        expose_to_user: bool | None = None,
    ) -> ToolResultBlock:
        """Spawn an agent.

        Args:
            agent_id: The agent to spawn.
            task: What it is to do, with all that it must know. Left out, it only waits to be talked to.
            label: A name for it, by which agent_send finds it as well.
            expose_to_user: Whether the user can talk to it directly.
        """
        declaration = self.agents.get(agent_id)
        if declaration is None:
            names = ", ".join(self.agents)
            return ToolResultBlock.error(f"There is no agent {agent_id!r}. The agents are: {names}.")
        this = await Talk.of(declaration.agent, call, ctx, children)
        key = f"agent:{agent_id}:{this.session_id.removeprefix(f'{ctx.session_id}/{agent_id}/')}"
        entry = SpawnEntry(key, agent_id, this.session_id, label or None, children.depth + 1)
        known = session.value.tool_context.spawn_registry
        if label and any(each.label == label and each.key != key for each in known.values()):
            return ToolResultBlock.error(f"The label {label!r} is in use: take another.")
        if key not in known:
            session.update(lambda state: _registered(state, key, entry))
            if _exposed(ctx, declaration, expose_to_user):
                shown = label or declaration.label
                children.emit(call.id, SubagentExposedEvent(key, agent_id, this.session_id, shown))
        if not task:
            return _under(key, agent_id, ToolResultBlock.text("It waits to be talked to."))
        return _under(key, agent_id, await talk(this, task))

    async def send(
        self,
        agent_key: str,
        message: str,
        call: ToolUseBlock,
        ctx: RuntimeContext,
        children: Children,
        session: SessionState,
    ) -> ToolResultBlock:
        """Say more to an agent that was spawned, and wait for its answer. It remembers what was said before.

        Args:
            agent_key: The agent_key that agent_spawn has given, or the label.
            message: What it is told.
        """
        known = session.value.tool_context.spawn_registry
        entry = known.get(agent_key) or next((e for e in known.values() if e.label == agent_key), None)
        if entry is None:
            names = ", ".join(f"{key} ({e.label})" if e.label else key for key, e in known.items())
            there = f"Those that there are: {names}." if known else "There are none: use agent_spawn."
            return ToolResultBlock.error(f"No agent {agent_key!r} was spawned. {there}")
        declaration = self.agents.get(entry.agent_id or "")
        if declaration is None or not entry.session_id:
            return ToolResultBlock.error(f"Agent {entry.agent_id!r} is not there any more.")
        this = Talk.at(entry.session_id, declaration.agent, call, ctx, children)
        return _under(entry.key or agent_key, declaration.name, await talk(this, message))


def _registered(state: AgentState, key: str, entry: SpawnEntry) -> AgentState:
    tools = state.tool_context
    registry = {**tools.spawn_registry, key: entry}
    return evolve(state, tool_context=evolve(tools, spawn_registry=registry))


def _exposed(ctx: RuntimeContext, declaration: SubagentDeclaration, wanted: bool | None) -> bool:
    """The application decides, for the call, else with the declaration; else the model does."""
    choices = (ctx.attributes.get(EXPOSE_TO_USER), declaration.expose_to_user, wanted)
    choice = next((choice for choice in choices if choice is not None), False)
    return choice is True or str(choice).lower() == "true"


def _under(key: str, agent_id: str, result: ToolResultBlock) -> ToolResultBlock:
    """Put above a result who has come to it."""
    if result.state is ToolResultState.RUNNING:
        return result
    head = TextBlock(f"agent_key: {key}\nagent_id: {agent_id}\n\n")
    output: tuple[ContentBlock, ...] = (head, *result.output)
    return evolve(result, output=output)
