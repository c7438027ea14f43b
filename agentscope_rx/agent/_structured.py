"""The structured output of one call, from what has come so far."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, final

from attrs import evolve

from agentscope_rx._frozen import EMPTY
from agentscope_rx.agent._loop_state import LoopState, Output, Step
from agentscope_rx.agent._output import Wanted, output_so_far
from agentscope_rx.errors import StructuredOutputError
from agentscope_rx.event import AgentEvent, ModelCallStartEvent, ToolResultEndEvent
from agentscope_rx.message import STRUCTURED_OUTPUT, AssistantMessage, TextBlock
from agentscope_rx.operators import ReplyFold
from agentscope_rx.output import GENERATE_RESPONSE

__all__ = ["Structured"]


@final
class Structured:
    """Finds the structured output in a reply: in the result of the tool that takes it, or in the text.

    Attributes:
        wanted: what the call asks for; None if it asks for none.
    """

    def __init__(self, wanted: Wanted | None, fold: ReplyFold) -> None:
        self.wanted = wanted
        self._fold = fold
        self._value: Any = None
        self._begin = 0

    def begin(self) -> None:
        """Note that a new answer begins."""
        self._begin = len(self._fold.blocks)

    def take(self, event: AgentEvent) -> None:
        """Note what an event of the reply says, which the fold has taken."""
        if isinstance(event, ModelCallStartEvent):
            self.begin()
        elif isinstance(event, ToolResultEndEvent) and event.tool_call_name == GENERATE_RESPONSE:
            self._value = event.metadata.get(STRUCTURED_OUTPUT, self._value)

    def so_far(self, message: AssistantMessage | None) -> Output | None:
        """Return how it stands with the output of a reply that goes on, or begins; None if there is none."""
        if message is None:
            return None if self.wanted is None else Output()
        output, self._value = output_so_far(message, self.wanted and self.wanted.spec)
        return output

    def look(self, loop: LoopState) -> LoopState:
        """Return the state of the loop that knows whether an answer that has ended is the output."""
        output = loop.output
        if self.wanted is None or self.wanted.tool is not None or output is None or not loop.is_answered:
            return loop
        with suppress(StructuredOutputError):
            self._value = self.wanted.spec.parse(self._answer())
            return evolve(loop, output=evolve(output, given=True))
        return loop

    def hint(self) -> str:
        """Return what a model is told whose answer ended without the output."""
        assert self.wanted is not None
        return self.wanted.hint(self._problem())

    def failure(self, loop: LoopState) -> StructuredOutputError:
        """Return what to say when the output did not come."""
        assert self.wanted is not None
        problem = self._problem()
        late = loop.last in (Step.SUMMARIZED, Step.CONCLUDED)
        return StructuredOutputError(
            f"the model gave no {self.wanted.spec.name!r} that fits"
            f"{' before the limit of rounds' if late else ''}: {problem}",
            path=problem.path,
        )

    def finished(self, message: AssistantMessage, loop: LoopState) -> AssistantMessage:
        """Return a message that ends, with the output, if that was given."""
        metadata = self.metadata(loop)
        if not metadata:
            return message
        return evolve(
            message,
            metadata={**message.metadata, **metadata},
            output_type=self.wanted and self.wanted.spec.type,
        )

    def metadata(self, loop: LoopState) -> Mapping[str, Any]:
        """Return the output as metadata; nothing while there is none or a call is open, and if it is null."""
        given = loop.output is not None and loop.output.given and not loop.open_calls
        return {STRUCTURED_OUTPUT: self._value} if given and self._value is not None else EMPTY

    def _problem(self) -> StructuredOutputError:
        assert self.wanted is not None
        return self.wanted.problem(self._fold.message(), self._answer())

    def _answer(self) -> str:
        blocks = self._fold.content()[self._begin :]
        return "".join(block.text for block in blocks if isinstance(block, TextBlock))
