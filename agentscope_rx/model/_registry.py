"""Models by name, as a command line or a configuration file spells them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points
from typing import Any, Final, TypeAlias, final

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model._base import ChatModel
from agentscope_rx.model._providers import BARE, PROVIDERS

__all__ = ["ENTRY_POINTS", "ModelFactory", "ModelRegistry", "resolve_model"]

ModelFactory: TypeAlias = Callable[..., ChatModel]
"""Called with a model's id, or with its name, and the settings as keywords."""

ENTRY_POINTS: Final = "agentscope_rx.models"
"""The group in which a package declares its providers: `acme = "acme.models:AcmeModel"`."""

_named: Final[dict[str, ChatModel]] = {}
_factories: Final[list[tuple[re.Pattern[str], ModelFactory]]] = []


@final
class ModelRegistry:
    """The models of this process, by id.

    ```python
    ModelRegistry.resolve("openai:gpt-4o")                  # OPENAI_API_KEY
    ModelRegistry.register("fast", OpenAIChatModel("gpt-4o-mini"))
    ModelRegistry.register_factory(r"corp-.*", lambda id, **settings: CorpModel(id, **settings))
    ```

    What an id means, the first that knows it:

    1. a name that was registered;
    2. a pattern that matches all of it, the latest first;
    3. a provider, a colon, and the model's name: those of this package (`ModelRegistry.providers()`), then
       those that installed packages declare as entry points of the group `agentscope_rx.models`;
    4. a name that says whose it is: `qwen-plus` is DashScope's.

    Nothing of a provider is imported before a model of it is resolved. A model is made anew each time; only
    one that was registered is always the same.

    Source: Java `ModelRegistry`.
    """

    @staticmethod
    def resolve(model_id: str, **settings: Any) -> ChatModel:
        """Return the model of an id.

        Args:
            model_id: as above.
            settings: for the model's class, as `base_url=`, `api_key=`, `options=`; None counts as left out.

        Errors: `ConfigurationError` for an id that nobody knows, for settings of a model that is there
            already, and for what the model's class refuses.
        """
        given = {name: value for name, value in settings.items() if value is not None}
        model = _named.get(model_id)
        if model is None:
            make = _factory(model_id) or _provider(model_id)
            return make(**given)
        if given:
            raise ConfigurationError(
                f"{model_id!r} is a model that was registered ready made: {', '.join(given)} cannot be "
                "changed; use ModelRegistry.register_factory to make it anew"
            )
        return model

    @staticmethod
    def can_resolve(model_id: str) -> bool:
        """Return whether somebody knows an id. No model is made: its key may be missing all the same."""
        known = model_id in _named or _factory(model_id) is not None
        return known or _parted(model_id)[0] in ModelRegistry.providers()

    @staticmethod
    def register(name: str, model: ChatModel) -> None:
        """Give a model a name; one that had it before loses it.

        Errors: `ConfigurationError`.
        """
        if not name or not isinstance(model, ChatModel):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise ConfigurationError(f"cannot register {model!r} as {name!r}; give a name and a ChatModel")
        _named[name] = model

    @staticmethod
    def register_factory(pattern: str, factory: ModelFactory) -> None:
        """Let a function make the models whose whole id matches a regular expression.

        It is called with the id, and the settings of `resolve` as keywords. The latest comes first.

        Errors: `ConfigurationError`.
        """
        try:
            compiled = re.compile(pattern)
        except (re.error, TypeError) as error:
            raise ConfigurationError(f"{pattern!r} is no regular expression: {error}") from error
        _factories.append((compiled, factory))

    @staticmethod
    def providers() -> tuple[str, ...]:
        """Return what may stand before the colon, installed packages included."""
        return tuple(sorted({*PROVIDERS, *(point.name for point in entry_points(group=ENTRY_POINTS))}))

    @staticmethod
    def reset() -> None:
        """Forget all that was registered."""
        _named.clear()
        _factories.clear()


def _factory(model_id: str) -> ModelFactory | None:
    for pattern, factory in reversed(_factories):
        if pattern.fullmatch(model_id):
            return partial(factory, model_id)
    return None


def _parted(model_id: str) -> tuple[str, str]:
    """Part an id into the provider and the model's name; both are empty if it has none of them."""
    provider, colon, name = model_id.partition(":")
    if not colon:
        owner = next((owner for start, owner in BARE.items() if model_id.startswith(start)), "")
        provider, name = (owner, model_id) if owner in PROVIDERS else ("", "")
    return (provider, name) if provider and name else ("", "")


def _provider(model_id: str) -> ModelFactory:
    provider, name = _parted(model_id)
    if not provider:
        raise ConfigurationError(
            f"{model_id!r} is no model; give PROVIDER:NAME, as 'openai:gpt-4o', where the provider is one of "
            f"{', '.join(ModelRegistry.providers())}; or register the name with ModelRegistry"
        )
    row = PROVIDERS.get(provider)
    if row is not None:
        return partial(row.load(), name, **row.settings)
    for point in entry_points(group=ENTRY_POINTS, name=provider):
        return partial(point.load(), name)
    raise ConfigurationError(
        f"{model_id!r} is no model that is known: there is no provider {provider!r}; give one of "
        f"{', '.join(ModelRegistry.providers())}, or register a pattern with ModelRegistry.register_factory"
    )


def resolve_model(model_id: str, *, base_url: str | None = None) -> ChatModel:
    """Return the model of an id: `resolve_model("openai:gpt-4o")`.

    Args:
        model_id: the provider, a colon, and the model's name; or a name that `ModelRegistry` knows.
        base_url: where the model is served, if not at its provider.

    Errors: `ConfigurationError` for an id that nobody knows, and for what the provider's class refuses.
    """
    return ModelRegistry.resolve(model_id, base_url=base_url)
