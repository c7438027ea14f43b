"""How long and how deep a text may be."""

from __future__ import annotations

from typing import Any, Final, final

from attrs import Attribute, Factory, field, frozen

from agentscope_rx._json import is_deeper
from agentscope_rx.errors import ConfigurationError, WireError

__all__ = ["DEFAULT", "UNLIMITED", "Limits"]


def _at_least_one(_: object, attribute: Attribute[int | None], value: int | None) -> None:
    if value is not None and value < 1:
        raise ConfigurationError(f"Limits.{attribute.name} is {value}; give a number from 1, or None")


def _short(limits: Limits) -> float:
    nesting = float("inf") if limits.nesting is None else 2 * limits.nesting
    return nesting if limits.size is None else min(nesting, limits.size)


@final
@frozen
class Limits:
    """What is refused before it is read; None is no limit.

    Attributes:
        nesting: objects and arrays inside one another.
        size: bytes (of a string: characters) of one text.
        short: texts up to this length are within both limits, whatever they hold.
    """

    nesting: int | None = field(default=200, validator=_at_least_one)
    size: int | None = field(default=16 * 1024 * 1024, validator=_at_least_one)
    short: float = field(default=Factory(_short, takes_self=True), init=False, repr=False, eq=False)

    def lets_through(self, text: bytes | str) -> bool:
        """Refuse a text that is too long; say whether it has too few brackets to be nested too deeply."""
        if self.size is not None and len(text) > self.size:
            raise WireError(f"the text is {len(text)} long; the limit is {self.size}")
        if self.nesting is None:
            return True
        if isinstance(text, str):
            return text.count("[") + text.count("{") <= self.nesting
        return text.count(b"[") + text.count(b"{") <= self.nesting

    def check_nesting(self, value: Any) -> None:
        """Refuse a parsed value that is nested too deeply."""
        if self.nesting is not None and is_deeper(value, self.nesting):
            raise WireError(f"nested deeper than {self.nesting}")


DEFAULT: Final = Limits()
"""For what comes from a network or standard input."""

UNLIMITED: Final = Limits(nesting=None, size=None)
"""For what we wrote ourselves."""
