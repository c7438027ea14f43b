"""Token counts of model calls."""

from __future__ import annotations

from typing import final

from attrs import field, frozen

from agentscope_rx._check import a, an_int

__all__ = ["ChatUsage"]


@final
@frozen
class ChatUsage:
    """What one model call, or the sum of several, took.

    Attributes:
        input_tokens: tokens sent.
        output_tokens: tokens received, reasoning included.
        cached_tokens: tokens of the input that came from the provider's cache.
        time: duration in seconds.
        reasoning_tokens: tokens of the output that were reasoning (ours; 0 where the provider does not say).
    """

    input_tokens: int = field(default=0, validator=an_int)
    output_tokens: int = field(default=0, validator=an_int)
    cached_tokens: int = field(default=0, validator=an_int)
    time: float = field(default=0.0, validator=a(float, int))
    reasoning_tokens: int = field(default=0, validator=an_int)

    @property
    def total_tokens(self) -> int:
        """Tokens sent and received."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: ChatUsage) -> ChatUsage:
        return ChatUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.time + other.time,
            self.reasoning_tokens + other.reasoning_tokens,
        )
