"""What an agent may be made of: each argument taken in its usual form, or refused with a remedy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import Attribute

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.middleware import MiddlewareBase, in_order
from agentscope_rx.permission import PermissionContextState, PermissionMode
from agentscope_rx.store import ConflictPolicy
from agentscope_rx.tool import Toolkit

__all__ = [
    "a_model",
    "a_model_or_none",
    "a_name",
    "a_prompt",
    "a_store",
    "as_conflict_policy",
    "as_middlewares",
    "as_permission",
    "as_toolkit",
    "not_negative",
    "positive",
    "positive_or_none",
]


def as_toolkit(tools: Toolkit | Iterable[Any] | None) -> Toolkit:
    """Take tools as a toolkit."""
    if tools is None:
        return Toolkit()
    if isinstance(tools, Toolkit):
        return tools
    if isinstance(tools, str) or not isinstance(tools, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise ConfigurationError(f"toolkit is {tools!r}; give a Toolkit, or a list of tools, as [weather]")
    return Toolkit(*tools)


def as_middlewares(middlewares: Iterable[MiddlewareBase]) -> tuple[MiddlewareBase, ...]:
    """Take middlewares, the outermost first."""
    if isinstance(middlewares, str) or not isinstance(middlewares, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise ConfigurationError(f"middlewares is {middlewares!r}; give a list, with the outermost first")
    given = tuple(middlewares)
    for middleware in given:
        if not isinstance(middleware, MiddlewareBase):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise ConfigurationError(
                f"{middleware!r} is no middleware; derive it from MiddlewareBase, "
                "or wrap a function on streams with on_reasoning(…), on_acting(…), …"
            )
    return in_order(given)


def a_name(_: Any, attribute: Attribute[Any], name: Any) -> None:
    """Refuse a name that is blank."""
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError(f"{attribute.name} is {name!r}; give a name that is not blank")


def a_prompt(_: Any, attribute: Attribute[Any], prompt: Any) -> None:
    """Refuse a prompt that is no text."""
    if not isinstance(prompt, str):
        raise ConfigurationError(f"{attribute.name} is {prompt!r}; give a str, and the model behind it")


def a_model(_: Any, attribute: Attribute[Any], model: Any) -> None:
    """Refuse what cannot be asked."""
    if not callable(getattr(model, "stream", None)):
        named = f"resolve_model({model!r})" if isinstance(model, str) else "OpenAIChatModel(…)"
        raise ConfigurationError(
            f"{attribute.name} is {model!r}; give a ChatModel, as testing.ScriptedModel(…) or model.{named}"
        )
    if isinstance(model, type):
        raise ConfigurationError(f"{attribute.name} is the class {model.__name__}; give an object of it")
    if not isinstance(getattr(model, "model_name", None), str):
        raise ConfigurationError(
            f"{attribute.name} is {model!r}, which has no name; give it a model_name, a str"
        )


def positive(_: Any, attribute: Attribute[Any], number: Any) -> None:
    """Refuse a number below 1."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ConfigurationError(f"{attribute.name} is {number!r}; give a whole number of at least 1")


def not_negative(_: Any, attribute: Attribute[Any], number: Any) -> None:
    """Refuse a number below 0."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise ConfigurationError(f"{attribute.name} is {number!r}; give a whole number, or 0 for none")


def a_model_or_none(instance: Any, attribute: Attribute[Any], model: Any) -> None:
    """Refuse what cannot be asked, but for None."""
    if model is not None:
        a_model(instance, attribute, model)


def positive_or_none(instance: Any, attribute: Attribute[Any], number: Any) -> None:
    """Refuse a number below 1, but not None."""
    if number is not None:
        positive(instance, attribute, number)


def as_permission(
    given: PermissionContextState | PermissionMode | str | None,
) -> PermissionContextState | None:
    """Take a mode as a whole permission context."""
    if given is None or isinstance(given, PermissionContextState):
        return given
    try:
        return PermissionContextState(PermissionMode(given))
    except ValueError:
        modes = ", ".join(PermissionMode)
        raise ConfigurationError(
            f"permission is {given!r}; give a PermissionContextState, or one of the modes: {modes}"
        ) from None


def a_store(_: Any, attribute: Attribute[Any], store: Any) -> None:
    """Refuse what cannot keep sessions."""
    if store is not None and not callable(getattr(store, "load", None)):
        raise ConfigurationError(
            f"{attribute.name} is {store!r}; give an AgentStateStore, as SQLiteAgentStateStore('state.db')"
        )


def as_conflict_policy(given: ConflictPolicy | str) -> ConflictPolicy:
    """Take the name of a policy as the policy."""
    try:
        return ConflictPolicy(given)
    except ValueError:
        raise ConfigurationError(f"on_conflict is {given!r}; give 'fail' or 'overwrite'") from None
