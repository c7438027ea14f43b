"""The agents of a conversation: one configuration, and other hooks each time that one is made."""

from random import Random
from typing import Any, Final

from attrs import define, field

from agentscope_rx.agent import ReActAgent
from agentscope_rx.permission import PermissionContextState, PermissionMode, PermissionRule
from agentscope_rx.store import AgentStateStore, InMemoryAgentStateStore
from agentscope_rx.tool import Toolkit
from tests.laws.conversations.hooks import HARM, HOOKS, Hook, Inner, Prompt, Spoils
from tests.laws.conversations.script import model
from tests.laws.conversations.stores import JsonStore
from tests.laws.conversations.tools import HELPFUL, TOOLKIT
from tests.laws.conversations.world import World

__all__ = ["Maker"]

PERMISSIONS: Final = [
    *[None] * 6,
    *PermissionMode,
    PermissionContextState(
        deny_rules={"quick": [PermissionRule("quick")]}, allow_rules={"slow": [PermissionRule("slow")]}
    ),
    PermissionContextState(PermissionMode.BYPASS, ask_rules={"tidy": [PermissionRule("tidy")]}),
]


@define
class Maker:
    """Makes the agents of a conversation.

    Attributes:
        harm: how likely it is that an agent has a hook that may do anything.
        changes_hooks: whether an agent that takes over has other hooks.
    """

    world: World = field(repr=False)
    store: AgentStateStore | None = field(repr=lambda store: type(store).__name__)
    permission: Any
    max_iters: int
    delay: float
    native: bool
    harm: float
    changes_hooks: bool
    first: tuple[str, ...] | None = None
    toolkit: Toolkit = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        helper = ReActAgent(
            "helper", model=self._model("of the helper"), toolkit=HELPFUL, middlewares=[Prompt()], max_iters=2
        )
        self.toolkit = TOOLKIT.with_tools(helper)

    @classmethod
    def of(cls, world: World) -> "Maker":
        r = world.random
        stores = [None, None, InMemoryAgentStateStore(), JsonStore(r.choice([0.0, 0.004]))]
        return cls(
            world,
            r.choice(stores),
            r.choice(PERMISSIONS),
            max_iters=r.choice([1, 2, 3, 5]),
            delay=r.choice([0.0, 0.0, 0.002]),
            native=r.random() < 0.5,
            harm=r.choice([0.0, 0.0, 0.0, 0.5]),
            changes_hooks=r.random() < 0.5,
        )

    def agent(self, r: Random, plain: bool = False) -> tuple[ReActAgent, Spoils]:
        """Make an agent; return it with what its hooks spoil. A `plain` one has none."""
        names = () if plain else self._hooks(r)
        spoils = Spoils.NOTHING
        for name in names:
            spoils |= _hook(name).spoils
        hooks = [_hook(name).make(self.world, r) for name in names]
        inner = [Inner(self.world)] if Spoils.VIEW in spoils else []
        agent = ReActAgent(
            "Friday",
            "Be brief.",
            model=self._model(),
            fallback_model=self._model("second") if r.random() < 0.3 else None,
            max_retries=r.choice([0, 1]),
            toolkit=self.toolkit,
            middlewares=[Prompt(), *hooks, *inner],
            max_iters=self.max_iters,
            max_concurrent_tools=r.choice([None, None, 1, 2]),
            permission=self.permission,
            state_store=self.store,
        )
        return agent, spoils

    def _hooks(self, r: Random) -> tuple[str, ...]:
        names = tuple(r.sample(list(HOOKS), r.choice([0, 0, 1, 1, 2, 3])))
        if r.random() < self.harm:
            names = (*names[1:], r.choice(list(HARM)))
        if self.changes_hooks:
            return names
        self.first = names if self.first is None else self.first
        return self.first

    def _model(self, name: str = "scripted") -> Any:
        return model(self.world, delay=self.delay, native=self.native, name=name)


def _hook(name: str) -> Hook:
    return HOOKS[name] if name in HOOKS else HARM[name]
