"""Why a reply ended (R18)."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, Final

from agentscope_rx.message import GenerateReason, ToolCallState

__all__ = ["Reasons"]

ASKED: Final = {
    GenerateReason.PERMISSION_ASKING: ToolCallState.ASKING,
    GenerateReason.TOOL_SUSPENDED: ToolCallState.SUBMITTED,
}
"""Reasons that an answer withdraws, and the state of the calls that wait for it."""


class Reasons:
    """The stop signals since the reply started, and what its end has said."""

    __slots__ = ("_answered", "_otherwise", "_said", "_stops")

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """The reply starts, or starts again: nothing has stopped it."""
        self._stops: list[tuple[GenerateReason, bool]] = []
        self._answered: dict[GenerateReason, int] = {}
        self._said: GenerateReason | None = None
        self._otherwise: GenerateReason | None = None

    def stop(self, reason: GenerateReason) -> None:
        self._stops.append((reason, False))

    def ask(self, reason: GenerateReason) -> None:
        """A question stops the reply, as long as a call waits for the answer."""
        self._stops.append((reason, True))

    def answer(self, reason: GenerateReason) -> None:
        """Signals so far that say the same as a question count only as long as a call waits."""
        self._answered[reason] = len(self._stops)

    def end(self, reason: GenerateReason | None, *, failed: bool) -> None:
        if reason is not None:
            self._said = reason
        elif failed:
            self._stops.clear()
        else:
            self._otherwise = GenerateReason.MODEL_STOP

    def copy(self) -> Reasons:
        """Return reasons that grow apart from these."""
        twin = Reasons()
        twin._stops, twin._answered = self._stops.copy(), self._answered.copy()
        twin._said, twin._otherwise = self._said, self._otherwise
        return twin

    def save(self) -> dict[str, Any]:
        """Return the reasons as JSON."""
        return {
            "stops": [[reason.value, asked] for reason, asked in self._stops],
            "answered": {reason.value: count for reason, count in self._answered.items()},
            "said": self._said and self._said.value,
            "otherwise": self._otherwise and self._otherwise.value,
        }

    @classmethod
    def load(cls, saved: Mapping[str, Any]) -> Reasons:
        """Return the reasons that were saved."""
        reasons = cls()
        reasons._stops = [(GenerateReason(reason), asked) for reason, asked in saved["stops"]]
        reasons._answered = {GenerateReason(key): count for key, count in saved["answered"].items()}
        reasons._said = GenerateReason(saved["said"]) if saved["said"] else None
        reasons._otherwise = GenerateReason(saved["otherwise"]) if saved["otherwise"] else None
        return reasons

    def current(self, waiting: Set[ToolCallState]) -> GenerateReason | None:
        """Return the reason as of now; `waiting` are the states of the calls that wait."""
        if self._said is not None:
            return self._said
        for index in reversed(range(len(self._stops))):
            reason, asked = self._stops[index]
            open_question = asked or index < self._answered.get(reason, 0)
            if not open_question or ASKED[reason] in waiting:
                return reason
        return self._otherwise
