"""All that one tool call id names: calls and their results (R8–R12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentscope_rx.event import ConfirmResult
from agentscope_rx.message import ToolCallState, ToolResultBlock, ToolResultState
from agentscope_rx.operators._fold._call import CallDraft
from agentscope_rx.operators._fold._drafts import Draft
from agentscope_rx.operators._fold._result import ResultDraft

__all__ = ["CallGroup"]


class CallGroup:
    """A tool call with its result, its questions and its answers; again, if the id comes again.

    Attributes:
        id: the tool call id.
        call: the newest call; None where only results came.
        result: the newest result.
        fragments: where a fragment of arguments goes; None if it goes nowhere.
    """

    __slots__ = ("_blocks", "call", "fragments", "id", "result")

    def __init__(self, id: str, blocks: list[Draft]) -> None:
        self.id = id
        self._blocks = blocks
        self.call: CallDraft | None = None
        self.result: ResultDraft | None = None
        self.fragments: list[str] | None = None

    @property
    def own_result(self) -> ResultDraft | None:
        """The newest result of the newest call."""
        result = self.result
        return result if result is not None and result.call is self.call else None

    @property
    def is_suspended(self) -> bool:
        """Whether the newest call waits for a result from outside, since its tool has said so."""
        result = self.own_result
        return result is not None and result.awaited and self.call is not None and not self.call.finished

    @property
    def is_torn(self) -> bool:
        """Whether the newest call has a result that has begun and not ended."""
        result = self.own_result
        return result is not None and result.torn

    def start(self, name: str, model_call: int) -> None:
        call = self.call
        if call is not None and call.model_call == model_call and (call.open or self.own_result is None):
            call.open = True
            if not call.name and not call.finished:
                call.rename(name)
        else:
            self._seal()
            call = self.call = CallDraft(self.id, name, model_call)
            self._blocks.append(call)
        self.fragments = call.chunks

    def _seal(self) -> None:
        """Let no fragment come any more."""
        self.fragments = None
        if self.call is not None:
            self.call.sealed = True

    def end(self, metadata: Mapping[str, Any], model_call: int) -> None:
        """End the arguments; fragments may follow until the result starts or the next model call does."""
        if self.call is not None and self.call.open:
            self.call.end(metadata)
            if self.own_result is not None or self.call.model_call != model_call:
                self._seal()

    def end_model_call(self) -> None:
        if self.call is not None and not self.call.open:
            self._seal()

    def start_result(self, name: str) -> None:
        result = self.own_result
        if result is None or not result.open:
            self._open_result(name)
        elif result.suspended:
            result.restart(name)

    def _open_result(self, name: str) -> ResultDraft:
        call = self.call
        result = self.result = ResultDraft(self.id, name, call)
        self._blocks.append(result)
        if call is not None and not call.open:
            self._seal()
        return result

    def end_result(self, name: str, state: ToolResultState, metadata: Mapping[str, Any]) -> None:
        result = self.result
        if result is not None and result.open:
            result.name = result.name or name
            result.end(state, metadata)
            if not result.open and result.call is not None:
                result.call.move(ToolCallState.FINISHED)

    def ask(self, state: ToolCallState) -> CallDraft | None:
        """Let the call wait for an answer; return it if it does."""
        if self.call is None or self.call.finished:
            return None
        self.call.move(state)
        return self.call

    def answer(self, answer: ConfirmResult) -> None:
        call = self.call
        if call is not None and call.state is ToolCallState.ASKING:
            call.move(ToolCallState.ALLOWED if answer.confirmed else ToolCallState.FINISHED)
            if answer.confirmed and answer.tool_call is not None:
                call.take_over(answer.tool_call)

    def take_outcome(self, outcome: ToolResultBlock) -> None:
        """Let an outcome from outside be the result, unless the call is settled."""
        call, result = self.call, self.own_result
        if call is not None and call.finished:
            return
        if result is None:
            result = self._open_result(outcome.name)
        elif not result.open:
            return
        result.become(outcome)
        if call is not None:
            call.move(ToolCallState.FINISHED)
