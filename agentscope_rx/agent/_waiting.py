"""What a paused subagent waits for, as the call that it works for keeps it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self, cast, final

from attrs import frozen

from agentscope_rx.event import (
    AgentEvent,
    ExternalExecutionResultEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    ToolResultEndEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.message import (
    AssistantMessage,
    GenerateReason,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
)

__all__ = ["Question", "Questions", "Waiting", "about", "is_over", "waits_of"]

_NAME: Final = "subagent_name"
_SESSION: Final = "subagent_session_id"
_REPLY: Final = "subagent_reply_id"
_WAITS: Final = "subagent_waits"
_LAST: Final = frozenset(
    {
        GenerateReason.MODEL_STOP,
        GenerateReason.STRUCTURED_OUTPUT,
        GenerateReason.MAX_ITERATIONS,
        GenerateReason.INTERRUPTED,
    }
)


@final
@frozen
class Question:
    """Calls of one reply that wait for the same kind of answer.

    Attributes:
        reply_id: the reply, of the subagent or of one below it.
        state: `asking`, for the human, or `submitted`, for an outcome from outside.
        calls: the ids of the calls.
    """

    reply_id: str
    state: ToolCallState
    calls: tuple[str, ...]


@final
@frozen
class Waiting:
    """A subagent that has paused, or was stopped.

    Attributes:
        session_id: its session.
        reason: why it does not go on.
        questions: what it has asked, it or one below it.
    """

    session_id: str
    reason: GenerateReason
    questions: tuple[Question, ...] = ()

    def metadata(self) -> Mapping[str, Any]:
        """Return what the result of the call keeps of it, as JSON."""
        questions = [
            {"reply_id": each.reply_id, "state": each.state.value, "calls": list(each.calls)}
            for each in self.questions
        ]
        return {_WAITS: {"reason": self.reason.value, "questions": questions}}

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Self | None:
        """Read the metadata of a result; None if no subagent waits there."""
        waits = metadata.get(_WAITS)
        if not isinstance(waits, Mapping):
            return None
        try:
            held = cast("Mapping[str, Any]", waits)
            asked = cast("Sequence[Mapping[str, Any]]", held["questions"])
            questions = tuple(
                Question(each["reply_id"], ToolCallState(each["state"]), tuple(each["calls"]))
                for each in asked
            )
            return cls(metadata[_SESSION], GenerateReason(held["reason"]), questions)
        except (KeyError, TypeError, ValueError):  # somebody else's
            return None


def is_over(reason: GenerateReason | None) -> bool:
    """Return whether nobody is expected to go on with a reply that has ended for that reason."""
    return reason is None or reason in _LAST


def about(name: str, session_id: str, reply_id: str) -> Mapping[str, Any]:
    """Return what the result of a call says of the subagent that worked for it."""
    return {_NAME: name, _SESSION: session_id, _REPLY: reply_id}


def waits_of(message: AssistantMessage) -> dict[str, Waiting]:
    """Return the subagents of a reply that have paused, by the call that each works for."""
    found: dict[str, Waiting] = {}
    for result in message.get_content_blocks(ToolResultBlock):
        waiting = Waiting.of(result.metadata) if result.state is ToolResultState.RUNNING else None
        if waiting is not None:
            found[result.id] = waiting
    return found


class Questions:
    """The questions in a stream of events, of a reply and of those below it, that nobody has answered."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, ToolCallState], dict[str, None]] = {}

    def take(self, event: AgentEvent) -> None:
        """Take the next event."""
        match event:
            case RequireUserConfirmEvent():
                self._ask(event.reply_id, ToolCallState.ASKING, [call.id for call in event.tool_calls])
            case RequireExternalExecutionEvent():
                self._ask(event.reply_id, ToolCallState.SUBMITTED, [call.id for call in event.tool_calls])
            case UserConfirmResultEvent():
                calls = [answer.tool_call for answer in event.confirm_results]
                self._settle(event.reply_id, [call.id for call in calls if call is not None])
            case ExternalExecutionResultEvent():
                self._settle(event.reply_id, [result.id for result in event.tool_results])
            case ToolResultEndEvent() if event.state is not ToolResultState.RUNNING:
                self._settle(event.reply_id, [event.tool_call_id])
            case _:
                pass

    def _ask(self, reply_id: str, state: ToolCallState, calls: Iterable[str]) -> None:
        self._open[reply_id, state] = dict.fromkeys(calls)

    def _settle(self, reply_id: str, calls: Iterable[str]) -> None:
        for state in (ToolCallState.ASKING, ToolCallState.SUBMITTED):
            for call in calls:
                self._open.get((reply_id, state), {}).pop(call, None)

    def open(self) -> tuple[Question, ...]:
        """Return them, in the order in which they were asked first."""
        return tuple(
            Question(reply_id, state, tuple(calls))
            for (reply_id, state), calls in self._open.items()
            if calls
        )
