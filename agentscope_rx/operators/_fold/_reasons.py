"""Why a reply ended (R18)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from agentscope_rx.message import GenerateReason, ToolCallState

__all__ = ["OPEN", "Reasons"]

OPEN: Final = {
    ToolCallState.ASKING: GenerateReason.PERMISSION_ASKING,
    ToolCallState.SUBMITTED: GenerateReason.TOOL_SUSPENDED,
}
"""What a call in that state waits for, as the reason of the message."""


class Reasons:
    """The stop signals of a reply, the newest last.

    A question, and a signal that says the same as one, counts until it is answered.
    """

    __slots__ = ("_answered", "_stops", "ended", "said")

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """The reply starts, or starts again: nothing has stopped it."""
        self._stops: list[tuple[GenerateReason, bool]] = []
        self._answered: dict[GenerateReason, int] = {}
        self.ended = False
        self.said: GenerateReason | None = None

    def stop(self, reason: GenerateReason, *, question: bool = False) -> None:
        self._stops.append((reason, question))

    def answer(self, reason: GenerateReason) -> None:
        self._answered[reason] = len(self._stops)

    def end(self, reason: GenerateReason | None, *, failed: bool) -> None:
        self.ended = True
        self.said = reason
        if failed and reason is None:
            self._stops.clear()
            self.ended = False

    def current(self, waits: Callable[[GenerateReason], bool]) -> GenerateReason | None:
        """Return the reason as of now; `waits` says whether a call waits for the answer to a question."""
        if self.said is not None:
            return self.said
        for index in reversed(range(len(self._stops))):
            reason, question = self._stops[index]
            withdrawn = question or index < self._answered.get(reason, 0)
            if not withdrawn or waits(reason):
                return reason
        return GenerateReason.MODEL_STOP if self.ended else None
