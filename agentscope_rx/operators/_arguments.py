"""What operators ask of their arguments, at the line that is wrong."""

from __future__ import annotations

from agentscope_rx.errors import ConfigurationError

__all__ = ["check_class", "check_function", "check_path"]


def check_class(operator: str, given: object) -> None:
    """Accept a class."""
    if not isinstance(given, type):
        raise ConfigurationError(f"{operator}() was given {given!r}; give a class, as TextBlockDeltaEvent")


def check_function(operator: str, given: object) -> None:
    """Accept what can be called."""
    if not callable(given):
        raise ConfigurationError(f"{operator}() was given {given!r}; give a function")


def check_path(operator: str, given: object) -> None:
    """Accept the path of a subagent."""
    if not isinstance(given, str) or not given:
        raise ConfigurationError(
            f"{operator}() was given {given!r}; give a subagent's path, as 'main/researcher'"
        )
